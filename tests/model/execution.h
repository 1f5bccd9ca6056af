// Execution: one run of a model's threads, one operation at a time.
//
// The caller asks which threads can go on, chooses one, and chooses which store an operation reads if it may read
// several. The same choices give the same run. Threads: one operating-system thread, and at most one run at a time.
#ifndef UNDERSTUDY_TESTS_MODEL_EXECUTION_H_
#define UNDERSTUDY_TESTS_MODEL_EXECUTION_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "understudy/tests/model/fiber.h"
#include "understudy/tests/model/memory.h"

namespace understudy::model {

// Operation: the next step of a modelled thread.
struct Operation {
  enum class Kind : uint8_t { kNone, kLoad, kStore, kReadModifyWrite, kFence, kLight, kHeavy, kWait, kWake };
  Kind kind = Kind::kNone;
  uint8_t location = 0;
  std::memory_order order = std::memory_order_relaxed;  // the stronger one, if there are two
};
// Whether the two operations have the same effect in either order.
bool AreIndependent(const Operation& one, const Operation& other);

class Execution {
 public:
  using Mask = uint32_t;  // a bit for each thread, from 0

  Execution();
  ~Execution();
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;
  // The Execution that exists. Requires that there is one.
  static Execution& Current();

  // Setting up.
  void Thread(std::string name, std::function<void()> body);
  void AtEnd(std::function<void()> check) { at_end_ = std::move(check); }
  // A printed schedule shows this name for atomics and plain variables in [object, object + bytes), and for pointers
  // into that range.
  void Name(const void* object, size_t bytes, std::string name);

  // Driving: a set-up, Start, steps, then Finish or Abandon.
  void Reset(bool is_traced);
  void Start();
  Mask Enabled() const;
  const Operation& pending(size_t thread) const { return threads_[thread].pending; }
  size_t thread_count() const { return count_; }
  bool IsAllDone() const;
  // Runs the next step of `thread`. `choose` must return a number below its argument.
  void Step(size_t thread, absl::FunctionRef<size_t(size_t)> choose);
  // All threads have ended: runs the check.
  void Finish();
  // Unwinds the threads that have not ended.
  void Abandon();
  void Fail(std::string what);
  const std::string& failure() const { return failure_; }
  const std::vector<std::string>& trace() const { return trace_; }

  // Operations, from a thread of the run, or from its set-up or check.
  size_t AddLocation(const void* address, uint64_t value);
  uint64_t Load(size_t location, std::memory_order order);
  void Store(size_t location, uint64_t value, std::memory_order order);
  uint64_t ReadModifyWrite(size_t location, std::memory_order order, absl::FunctionRef<uint64_t(uint64_t)> change);
  bool CompareExchange(size_t location, uint64_t& expected, uint64_t value, std::memory_order success,
                       std::memory_order failure);
  void Fence(std::memory_order order);
  void LightBarrier();
  void HeavyBarrier();
  uint64_t WaitWhile(size_t location, uint64_t value);
  void WakeAll(size_t location);
  void Create(PlainState& plain);
  void Read(PlainState& plain);
  void Write(PlainState& plain);
  void Expect(bool condition, absl::string_view what);

 private:
  static constexpr size_t kOutside = 0;  // in Memory; thread i of the run is i + 1
  static constexpr int kNotAsleep = -1;

  struct Abandoned {};
  struct ModelThread {
    std::string name;
    std::function<void()> body;
    Fiber fiber;
    Operation pending;
    int asleep_on = kNotAsleep;  // a location
  };
  struct Named {
    uintptr_t begin, end;
    std::string name;
  };

  void DropProgram();
  // Lets the other threads go first. Returns false if this thread is being unwound; the caller must then do nothing.
  bool Point(Operation operation);
  // Returns a number below `count`, which the caller of Step has chosen.
  size_t Choose(size_t count);
  void Accessed(const PlainState& plain, int unordered, absl::string_view how);
  void Trace(absl::string_view what);
  std::string NameOf(uintptr_t address) const;
  std::string NameOfLocation(size_t location) const;
  std::string TextOf(uint64_t value) const;
  [[noreturn]] void Leave();
  bool IsUnwinding() const { return running_ >= 0 && is_abandoned_; }
  size_t Actor() const { return static_cast<size_t>(running_ + 1); }

  Memory memory_;
  std::array<ModelThread, kThreadsMax - 1> threads_;
  size_t count_ = 0;
  std::function<void()> at_end_;
  std::vector<Named> named_;
  std::array<uintptr_t, kLocationsMax> addresses_ = {};
  int running_ = -1;  // a thread, or -1 outside
  bool is_abandoned_ = false;
  bool is_traced_ = false;
  absl::FunctionRef<size_t(size_t)>* choose_ = nullptr;
  std::string failure_;
  std::vector<std::string> trace_;
};

}  // namespace understudy::model

#endif  // UNDERSTUDY_TESTS_MODEL_EXECUTION_H_
