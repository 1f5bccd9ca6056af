#include "understudy/tests/model/execution.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "understudy/actors/check.h"
#include "understudy/tests/model/memory.h"

namespace understudy::model {
namespace {

using Kind = Operation::Kind;

Execution* current = nullptr;

absl::string_view NameOfOrder(std::memory_order order) {
  switch (order) {
    case std::memory_order_relaxed:
      return "relaxed";
    case std::memory_order_consume:
      return "consume";
    case std::memory_order_acquire:
      return "acquire";
    case std::memory_order_release:
      return "release";
    case std::memory_order_acq_rel:
      return "acq_rel";
    case std::memory_order_seq_cst:
      return "seq_cst";
  }
  return "?";
}

bool IsAtLocation(const Operation& operation) {
  return operation.kind != Kind::kFence && operation.kind != Kind::kLight && operation.kind != Kind::kHeavy &&
         operation.kind != Kind::kNone;
}

bool IsTotal(const Operation& operation) {
  return operation.order == std::memory_order_seq_cst || operation.kind == Kind::kHeavy;
}

bool OnlyReads(const Operation& operation) { return operation.kind == Kind::kLoad || operation.kind == Kind::kWait; }

}  // namespace

bool AreIndependent(const Operation& one, const Operation& other) {
  if (one.kind == Kind::kLight || other.kind == Kind::kLight) {
    return one.kind != Kind::kHeavy && other.kind != Kind::kHeavy;
  }
  if (IsAtLocation(one) && IsAtLocation(other)) {
    if (one.location != other.location) return true;
    return OnlyReads(one) && OnlyReads(other) && !(IsTotal(one) && IsTotal(other));
  }
  // At least one of the two is a fence or a heavy barrier, so they share only the total order of seq_cst operations.
  return !(IsTotal(one) && IsTotal(other));
}

Execution::Execution() {
  UNDERSTUDY_CHECK(current == nullptr, "one run at a time");
  current = this;
}

Execution::~Execution() {
  DropProgram();
  current = nullptr;
}

// Destroys the threads' functions and the check, and with them the state that they share. The destructor of that state
// may still read its atomics.
void Execution::DropProgram() {
  for (size_t i = 0; i < count_; ++i) threads_[i].body = nullptr;
  at_end_ = nullptr;
}

Execution& Execution::Current() {
  UNDERSTUDY_CHECK(current != nullptr, "model atomics live in a run");
  return *current;
}

void Execution::Reset(bool is_traced) {
  DropProgram();
  memory_.Clear();
  count_ = 0;
  named_.clear();
  running_ = -1;
  is_abandoned_ = false;
  is_traced_ = is_traced;
  failure_.clear();
  trace_.clear();
}

void Execution::Thread(std::string name, std::function<void()> body) {
  UNDERSTUDY_CHECK(count_ < threads_.size(), "a run has at most ", threads_.size(), " threads");
  ModelThread& thread = threads_[count_++];
  thread.name = std::move(name);
  thread.body = std::move(body);
  thread.pending = Operation();
  thread.asleep_on = kNotAsleep;
}

void Execution::Name(const void* object, size_t bytes, std::string name) {
  if (!is_traced_) return;
  const auto begin = reinterpret_cast<uintptr_t>(object);
  named_.push_back({begin, begin + bytes, std::move(name)});
}

void Execution::Start() {
  for (size_t i = 0; i < count_; ++i) {
    memory_.Hand(kOutside, i + 1);
    threads_[i].fiber.Set([this, i] {
      try {
        threads_[i].body();
      } catch (const Abandoned&) {
        // The run has failed or was abandoned, and Leave() unwinds the thread.
      }
    });
    running_ = static_cast<int>(i);
    threads_[i].fiber.Resume();
    running_ = -1;
    if (!failure_.empty()) return;
  }
}

Execution::Mask Execution::Enabled() const {
  Mask enabled = 0;
  for (size_t i = 0; i < count_; ++i) {
    if (!threads_[i].fiber.is_done() && threads_[i].asleep_on == kNotAsleep) enabled |= Mask{1} << i;
  }
  return enabled;
}

bool Execution::IsAllDone() const {
  for (size_t i = 0; i < count_; ++i) {
    if (!threads_[i].fiber.is_done()) return false;
  }
  return true;
}

void Execution::Step(size_t thread, absl::FunctionRef<size_t(size_t)> choose) {
  choose_ = &choose;
  running_ = static_cast<int>(thread);
  threads_[thread].fiber.Resume();
  if (threads_[thread].fiber.is_done()) threads_[thread].pending = Operation();
  running_ = -1;
  choose_ = nullptr;
}

void Execution::Finish() {
  for (size_t i = 0; i < count_; ++i) memory_.Hand(i + 1, kOutside);
  if (at_end_) at_end_();
}

void Execution::Abandon() {
  is_abandoned_ = true;
  for (size_t i = 0; i < count_; ++i) {
    if (threads_[i].fiber.is_done()) continue;
    running_ = static_cast<int>(i);
    threads_[i].fiber.Resume();
    running_ = -1;
    UNDERSTUDY_CHECK(threads_[i].fiber.is_done(), threads_[i].name, " catches everything");
  }
}

void Execution::Leave() { throw Abandoned(); }

void Execution::Fail(std::string what) {
  if (failure_.empty()) failure_ = std::move(what);
  if (running_ < 0 || std::uncaught_exceptions() > 0) return;
  is_abandoned_ = true;
  Leave();
}

bool Execution::Point(Operation operation) {
  if (running_ < 0) return true;  // the set-up and the check run alone
  ModelThread& thread = threads_[static_cast<size_t>(running_)];
  if (!is_abandoned_) {
    thread.pending = operation;
    thread.fiber.Yield();
  }
  if (!is_abandoned_) {
    if (IsAtLocation(operation) && !memory_.Knows(Actor(), operation.location)) {
      Fail(absl::StrCat("race: ", thread.name, " uses ", NameOfLocation(operation.location),
                        ", whose making does not happen before"));
    }
    return true;
  }
  if (std::uncaught_exceptions() == 0) Leave();
  return false;
}

size_t Execution::Choose(size_t count) {
  if (count == 1) return 0;
  return (*choose_)(count);
}

size_t Execution::AddLocation(const void* address, uint64_t value) {
  const size_t location = memory_.AddLocation(Actor(), value);
  addresses_[location] = reinterpret_cast<uintptr_t>(address);
  return location;
}

uint64_t Execution::Load(size_t location, std::memory_order order) {
  if (!Point({Kind::kLoad, static_cast<uint8_t>(location), order})) return 0;
  const size_t newest = memory_.NewestIndex(location);
  size_t index = newest;
  if (running_ >= 0) index -= Choose(newest - memory_.OldestVisible(Actor(), location, order) + 1);
  memory_.Load(Actor(), location, index, order);
  const uint64_t value = memory_.ValueAt(location, index);
  if (is_traced_) {
    Trace(absl::StrCat("loads ", NameOfLocation(location), ": ", TextOf(value), ", ", NameOfOrder(order),
                       index == newest ? "" : absl::StrCat(" (old: ", newest - index, " stores behind)")));
  }
  return value;
}

void Execution::Store(size_t location, uint64_t value, std::memory_order order) {
  if (!Point({Kind::kStore, static_cast<uint8_t>(location), order})) return;
  memory_.Store(Actor(), location, value, order);
  if (is_traced_) {
    Trace(absl::StrCat("stores ", NameOfLocation(location), " = ", TextOf(value), ", ", NameOfOrder(order)));
  }
}

uint64_t Execution::ReadModifyWrite(size_t location, std::memory_order order,
                                    absl::FunctionRef<uint64_t(uint64_t)> change) {
  if (!Point({Kind::kReadModifyWrite, static_cast<uint8_t>(location), order})) return 0;
  const uint64_t old = memory_.Newest(location);
  const uint64_t value = change(old);
  memory_.Exchange(Actor(), location, value, order);
  if (is_traced_) {
    Trace(absl::StrCat("changes ", NameOfLocation(location), ": ", TextOf(old), " -> ", TextOf(value), ", ",
                       NameOfOrder(order)));
  }
  return old;
}

bool Execution::CompareExchange(size_t location, uint64_t& expected, uint64_t value, std::memory_order success,
                                std::memory_order failure) {
  // The partial-order reduction sees only `success`, so an order of seq_cst on failure alone would be missed: use
  // seq_cst for both.
  if (!Point({Kind::kReadModifyWrite, static_cast<uint8_t>(location), success})) return true;
  const size_t newest = memory_.NewestIndex(location);
  std::array<size_t, 64> readable;  // the newest store first, then older ones on which the comparison fails
  size_t count = 0;
  readable[count++] = newest;
  const size_t oldest = running_ < 0 ? newest : memory_.OldestVisible(Actor(), location, failure);
  for (size_t index = newest; index > oldest && count < readable.size();) {
    if (memory_.ValueAt(location, --index) != expected) readable[count++] = index;
  }
  const size_t index = readable[Choose(count)];
  const uint64_t seen = memory_.ValueAt(location, index);
  const bool succeeds = index == newest && seen == expected;
  if (succeeds) {
    memory_.Exchange(Actor(), location, value, success);
  } else {
    memory_.Load(Actor(), location, index, failure);
  }
  if (is_traced_) {
    Trace(absl::StrCat("compares ", NameOfLocation(location), " with ", TextOf(expected), ": ",
                       succeeds ? absl::StrCat("-> ", TextOf(value), ", ", NameOfOrder(success))
                                : absl::StrCat("fails on ", TextOf(seen), ", ", NameOfOrder(failure),
                                               index == newest ? "" : " (old)")));
  }
  expected = seen;
  return succeeds;
}

void Execution::Fence(std::memory_order order) {
  if (!Point({Kind::kFence, 0, order})) return;
  memory_.Fence(Actor(), order);
  if (is_traced_) Trace(absl::StrCat("fence, ", NameOfOrder(order)));
}

void Execution::LightBarrier() {
  if (!Point({Kind::kLight, 0, std::memory_order_relaxed})) return;
  memory_.LightBarrier(Actor());
  if (is_traced_) Trace("light barrier");
}

void Execution::HeavyBarrier() {
  if (!Point({Kind::kHeavy, 0, std::memory_order_seq_cst})) return;
  memory_.HeavyBarrier(Actor());
  if (is_traced_) Trace("heavy barrier");
}

uint64_t Execution::WaitWhile(size_t location, uint64_t value) {
  for (;;) {
    if (!Point({Kind::kWait, static_cast<uint8_t>(location), std::memory_order_acquire})) return ~value;
    const size_t newest = memory_.NewestIndex(location);
    std::array<size_t, 64> readable;
    size_t count = 0;
    // The newest store may be read even if it is `value`: the thread then sleeps.
    const size_t oldest = running_ < 0 ? newest : memory_.OldestVisible(Actor(), location, std::memory_order_acquire);
    for (size_t index = newest + 1; index > oldest && count < readable.size();) {
      --index;
      if (index == newest || memory_.ValueAt(location, index) != value) readable[count++] = index;
    }
    const size_t index = readable[Choose(count)];
    const uint64_t seen = memory_.ValueAt(location, index);
    memory_.Load(Actor(), location, index, std::memory_order_acquire);
    if (is_traced_) {
      Trace(absl::StrCat("waits while ", NameOfLocation(location), " is ", TextOf(value), ": ",
                         seen == value ? "sleeps" : TextOf(seen)));
    }
    if (seen != value) return seen;
    UNDERSTUDY_CHECK(running_ >= 0, "nobody would wake it");
    threads_[static_cast<size_t>(running_)].asleep_on = static_cast<int>(location);
  }
}

void Execution::WakeAll(size_t location) {
  if (!Point({Kind::kWake, static_cast<uint8_t>(location), std::memory_order_relaxed})) return;
  for (size_t i = 0; i < count_; ++i) {
    if (threads_[i].asleep_on == static_cast<int>(location)) threads_[i].asleep_on = kNotAsleep;
  }
  if (is_traced_) Trace(absl::StrCat("wakes who waits for ", NameOfLocation(location)));
}

void Execution::Create(PlainState& plain) { memory_.Create(Actor(), plain); }

void Execution::Read(PlainState& plain) {
  if (IsUnwinding()) return;
  Accessed(plain, memory_.Read(Actor(), plain), "reads");
}

void Execution::Write(PlainState& plain) {
  if (IsUnwinding()) return;
  Accessed(plain, memory_.Write(Actor(), plain), "writes");
}

void Execution::Accessed(const PlainState& plain, int unordered, absl::string_view how) {
  if (is_traced_) Trace(absl::StrCat(how, " ", NameOf(reinterpret_cast<uintptr_t>(&plain))));
  if (unordered < 0) return;
  const auto name = [this](size_t actor) { return actor == kOutside ? "the set-up" : threads_[actor - 1].name; };
  Fail(absl::StrCat("race: ", name(Actor()), " ", how, " ", NameOf(reinterpret_cast<uintptr_t>(&plain)),
                    ", unordered with an access by ", name(static_cast<size_t>(unordered))));
}

void Execution::Expect(bool condition, absl::string_view what) {
  if (!condition && !IsUnwinding()) Fail(absl::StrCat("not so: ", what));
}

void Execution::Trace(absl::string_view what) {
  if (running_ < 0) return;  // a set-up or a check
  trace_.push_back(absl::StrFormat("%-12s %s", threads_[static_cast<size_t>(running_)].name, what));
}

std::string Execution::NameOf(uintptr_t address) const {
  for (const Named& named : named_) {
    if (address == named.begin) return named.name;
    if (address > named.begin && address < named.end) return absl::StrCat(named.name, "+", address - named.begin);
  }
  return "?";
}

std::string Execution::NameOfLocation(size_t location) const {
  const std::string name = NameOf(addresses_[location]);
  return name == "?" ? absl::StrCat("atomic ", location) : name;
}

std::string Execution::TextOf(uint64_t value) const {
  const std::string name = value < 4096 ? "?" : NameOf(static_cast<uintptr_t>(value));
  return name == "?" ? absl::StrCat(value) : absl::StrCat("&", name);
}

}  // namespace understudy::model
