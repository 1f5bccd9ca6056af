#include "understudy/tests/model/schedules.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "understudy/actors/check.h"
#include "understudy/tests/model/execution.h"

namespace understudy::model {
namespace {

using Mask = Execution::Mask;

Mask Bit(size_t thread) { return Mask{1} << thread; }

// One step of the present run, and the alternatives that are still to be tried in its place.
struct Choice {
  Mask enabled = 0;
  Mask wanted = 0;  // threads to be tried here, as far as is known yet
  Mask asleep = 0;  // threads whose next step was tried before, with no dependent step since then
  Mask done = 0;    // threads that were tried here
  size_t thread = 0;
  size_t read = 0, reads = 1;  // which of the stores that it may read it reads, and how many there are
  int preemptions = 0;         // up to and including this step
  int old_reads = 0;           // likewise
  std::array<Operation, kThreadsMax> next;
  // For each thread, its last step that happens before this one or is this one, counted from 1.
  std::array<int, kThreadsMax> clock = {};

  const Operation& operation() const { return next[thread]; }
};

class Explorer {
 public:
  Explorer(const Bounds& bounds, absl::FunctionRef<void(Program&)> set_up) : bounds_(bounds), set_up_(set_up) {}

  Outcome Explore() {
    Outcome outcome;
    do {
      if (outcome.schedules + outcome.cut >= bounds_.runs_max) return outcome;
      const bool ended = RunOnce(false);
      ++(ended ? outcome.schedules : outcome.cut);
      outcome.steps += static_cast<int64_t>(step_);
      if (!execution_.failure().empty()) {
        path_.resize(step_);
        outcome.schedule = Text();
        outcome.failure = Replay();
        return outcome;
      }
    } while (Advance());
    outcome.is_exhausted = true;
    return outcome;
  }

  std::string Replay(absl::string_view schedule) {
    for (const absl::string_view text : absl::StrSplit(schedule, ' ', absl::SkipEmpty())) {
      const std::vector<absl::string_view> parts = absl::StrSplit(text, '.');
      Choice choice;
      UNDERSTUDY_CHECK(parts.size() <= 2 && absl::SimpleAtoi(parts[0], &choice.thread), "not a schedule: ", schedule);
      UNDERSTUDY_CHECK(parts.size() < 2 || absl::SimpleAtoi(parts[1], &choice.read), "not a schedule: ", schedule);
      choice.reads = choice.read + 1;
      path_.push_back(choice);
    }
    return Replay();
  }

 private:
  bool IsReduced() const { return bounds_.preemptions_max == Bounds::kUnbounded; }

  // Runs the steps of path_ and goes on from its end. Returns false if the run was cut.
  bool RunOnce(bool is_traced) {
    execution_.Reset(is_traced);
    Program program(execution_);
    set_up_(program);
    step_ = 0;
    known_ = path_.empty() ? 0 : path_.size() - 1;  // the run before had the same steps up to there
    execution_.Start();
    bool is_cut = false;
    while (execution_.failure().empty() && !is_cut) {
      const Mask enabled = execution_.Enabled();
      if (enabled == 0) break;
      if (step_ == path_.size() && !Extend(enabled)) {
        is_cut = true;
      } else {
        Step();
      }
    }
    if (execution_.failure().empty() && !is_cut) {
      if (execution_.IsAllDone()) {
        execution_.Finish();
      } else {
        execution_.Fail("nobody can go on: a wake-up was lost");
      }
    }
    execution_.Abandon();
    return !is_cut;
  }

  void Step() {
    const int old_reads = step_ == 0 ? 0 : path_[step_ - 1].old_reads;
    Choice& choice = path_[step_++];
    UNDERSTUDY_CHECK((execution_.Enabled() & Bit(choice.thread)) != 0, "the run depends on more than its schedule");
    bool chose = false;
    execution_.Step(choice.thread, [&](size_t count) {
      UNDERSTUDY_CHECK(!chose && choice.read < count, "the run depends on more than its schedule");
      chose = true;
      choice.reads = old_reads < bounds_.old_reads_max ? count : choice.read + 1;
      return choice.read;
    });
    choice.old_reads = old_reads + (choice.read > 0 ? 1 : 0);
    if (IsReduced() && step_ > known_) SetClock(step_ - 1);
    if (static_cast<int>(step_) >= bounds_.steps_max && execution_.failure().empty()) {
      execution_.Fail("too many steps: does a loop wait without WaitWhile?");
    }
  }

  // Adds a step to path_. Returns false if every thread that could go on has been tried already.
  bool Extend(Mask enabled) {
    Choice choice;
    choice.enabled = enabled;
    for (size_t i = 0; i < execution_.thread_count(); ++i) choice.next[i] = execution_.pending(i);
    if (!path_.empty() && IsReduced()) {
      const Choice& last = path_.back();
      for (size_t i = 0; i < execution_.thread_count(); ++i) {
        if (i != last.thread && ((last.asleep | last.done) & Bit(i)) != 0 &&
            AreIndependent(last.next[i], last.next[last.thread])) {
          choice.asleep |= Bit(i);
        }
      }
    }
    const bool is_by_need = IsReduced() && bounds_.reduction == Reduction::kSourceSets;
    if (is_by_need) {
      for (size_t i = 0; i < execution_.thread_count(); ++i) {
        if ((enabled & Bit(i)) != 0) WantBefore(i, choice.next[i]);
      }
    }
    choice.wanted = enabled;
    path_.push_back(choice);
    const bool goes_on = Choose();
    if (goes_on && is_by_need) path_.back().wanted = Bit(path_.back().thread);
    if (!goes_on) path_.pop_back();
    return goes_on;
  }

  // `thread` is about to do `operation`, which may depend on earlier steps that are not ordered before it. For each of
  // these steps, a run in which the operation comes first must be tried too (dynamic partial order reduction with
  // source sets: Abdulla, Aronis, Jonsson, Sagonas, 2014).
  void WantBefore(size_t thread, const Operation& operation) {
    std::array<int, kThreadsMax> clock = {};  // of the steps looked at, those that happen before the operation
    for (size_t i = path_.size(); i-- > 0;) {
      Choice& choice = path_[i];
      const bool is_before = choice.thread == thread || clock[choice.thread] > static_cast<int>(i);
      if (!is_before) {
        if (AreIndependent(choice.operation(), operation)) continue;
        // If `thread` was not enabled here, this step woke it, and the two cannot be exchanged.
        if ((choice.enabled & Bit(thread)) != 0) Reverse(i, thread, clock);
      }
      Join(clock, choice.clock);
    }
  }

  // Asks for a run in which `thread`'s operation, with `clock`, comes before step `i`. In place of step `i`, that run
  // may begin with any thread whose next step needs no other of the steps that then come first.
  void Reverse(size_t i, size_t thread, const std::array<int, kThreadsMax>& clock) {
    const size_t end = path_.size();
    std::array<int, kThreadsMax> first;  // of the steps that do not happen after i: each thread's first, counted from 1
    first.fill(0);
    Mask initial = 0;
    const auto begins = [&](size_t who, const std::array<int, kThreadsMax>& before) {
      if (first[who] != 0) return;
      for (size_t t = 0; t < kThreadsMax; ++t) {
        if (t != who && first[t] != 0 && before[t] >= first[t]) return;
      }
      initial |= Bit(who);
    };
    for (size_t k = i + 1; k < end; ++k) {
      const Choice& step = path_[k];
      if (step.clock[path_[i].thread] > static_cast<int>(i)) continue;
      begins(step.thread, step.clock);
      if (first[step.thread] == 0) first[step.thread] = static_cast<int>(k) + 1;
    }
    begins(thread, clock);
    Choice& choice = path_[i];
    initial &= choice.enabled;
    UNDERSTUDY_CHECK(initial != 0, "somebody comes first");
    if ((initial & choice.wanted) != 0) return;
    choice.wanted |= (initial & Bit(thread)) != 0 ? Bit(thread) : initial & -initial;
  }

  static void Join(std::array<int, kThreadsMax>& clock, const std::array<int, kThreadsMax>& other) {
    for (size_t t = 0; t < kThreadsMax; ++t) clock[t] = std::max(clock[t], other[t]);
  }

  void SetClock(size_t step) {
    Choice& choice = path_[step];
    choice.clock = {};
    for (size_t i = step; i-- > 0;) {
      const Choice& before = path_[i];
      if (choice.clock[before.thread] > static_cast<int>(i)) continue;
      if (before.thread != choice.thread && AreIndependent(before.operation(), choice.operation())) continue;
      Join(choice.clock, before.clock);
    }
    choice.clock[choice.thread] = static_cast<int>(step) + 1;
  }

  // Chooses the next thread to try at the last step, and prefers the thread of the step before. Returns false if there
  // is none.
  bool Choose() {
    Choice& choice = path_.back();
    const Choice* const last = path_.size() > 1 ? &path_[path_.size() - 2] : nullptr;
    const Mask left = choice.wanted & ~choice.asleep & ~choice.done;
    const bool could_go_on = last != nullptr && (choice.enabled & Bit(last->thread)) != 0;
    const int before = last == nullptr ? 0 : last->preemptions;
    for (size_t n = 0; n <= kThreadsMax; ++n) {
      if (n == 0 && last == nullptr) continue;
      const size_t thread = n == 0 ? last->thread : n - 1;
      if ((left & Bit(thread)) == 0) continue;
      const int preemptions = before + (could_go_on && thread != last->thread ? 1 : 0);
      if (!IsReduced() && preemptions > bounds_.preemptions_max) continue;
      choice.thread = thread;
      choice.preemptions = preemptions;
      choice.read = 0;
      choice.reads = 1;
      return true;
    }
    return false;
  }

  // Changes path_ to the next one to run. Returns false if there is none.
  bool Advance() {
    while (!path_.empty()) {
      Choice& choice = path_.back();
      if (choice.read + 1 < choice.reads) {
        ++choice.read;
        return true;
      }
      choice.done |= Bit(choice.thread);
      if (Choose()) return true;
      path_.pop_back();
    }
    return false;
  }

  std::string Text() const {
    std::string text;
    for (const Choice& choice : path_) {
      absl::StrAppend(&text, text.empty() ? "" : " ", choice.thread);
      if (choice.read > 0) absl::StrAppend(&text, ".", choice.read);
    }
    return text;
  }

  // Runs path_ and returns its failure and its steps as a text.
  std::string Replay() {
    const std::string schedule = Text();
    RunOnce(true);
    std::string text = execution_.failure().empty() ? "nothing fails" : execution_.failure();
    absl::StrAppend(&text, "\n");
    for (const std::string& line : execution_.trace()) absl::StrAppend(&text, "  ", line, "\n");
    absl::StrAppend(&text, "Replay it with --test_env=UNDERSTUDY_SCHEDULE='", schedule,
                    "' and a --test_filter that leaves this test only.\n");
    return text;
  }

  const Bounds bounds_;
  const absl::FunctionRef<void(Program&)> set_up_;
  Execution execution_;
  std::vector<Choice> path_;
  size_t step_ = 0;
  size_t known_ = 0;  // the number of steps that have a clock from the run before
};

}  // namespace

void Program::Thread(std::string name, std::function<void()> body) {
  execution_.Thread(std::move(name), std::move(body));
}

void Program::AtEnd(std::function<void()> check) { execution_.AtEnd(std::move(check)); }

void Program::NameBytes(const void* object, size_t bytes, std::string name) {
  execution_.Name(object, bytes, std::move(name));
}

void Expect(bool condition, absl::string_view what) { Execution::Current().Expect(condition, what); }

Outcome Explore(const Bounds& bounds, absl::FunctionRef<void(Program&)> set_up) {
  if (const char* const schedule = std::getenv("UNDERSTUDY_SCHEDULE"); schedule != nullptr) {
    return {.failure = Replay(schedule, set_up), .schedule = schedule, .schedules = 1};
  }
  return Explorer(bounds, set_up).Explore();
}

std::string Replay(absl::string_view schedule, absl::FunctionRef<void(Program&)> set_up) {
  return Explorer({}, set_up).Replay(schedule);
}

}  // namespace understudy::model
