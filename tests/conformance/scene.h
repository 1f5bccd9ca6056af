// ConformanceTest: a fixture with a system and scripts (tests/actors/script.h), which are actors that note each event
// that they get.
#ifndef UNDERSTUDY_TESTS_CONFORMANCE_SCENE_H_
#define UNDERSTUDY_TESTS_CONFORMANCE_SCENE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/tests/actors/script.h"

namespace understudy {

// An exit reason that the library never produces by itself.
inline ExitReason DiskFailed() { return ExitReason::Failed(absl::DataLossError("disk")); }

// Returns the answer as text, such as "7", "Expired" or "CalleeExited Killed".
inline std::string AnswerText(const absl::StatusOr<int>& answer) {
  if (answer.ok()) return absl::StrCat(*answer);
  const absl::optional<ErrorKind> kind = ErrorKindOf(answer.status());
  if (!kind) return answer.status().ToString();
  const absl::optional<ExitReason> reason = ExitReasonOf(answer.status());
  return reason ? absl::StrCat(ErrorKindName(*kind), " ", reason->ToString()) : std::string(ErrorKindName(*kind));
}

// Runs `step` after `via` has had `turns` turns, so that other actors can run in between; at once if `turns` is 0.
inline void DoAfter(Script& self, Ref<Script> via, uint64_t turns, Script::Step step) {
  if (turns == 0) return step(self);
  Do(via, [self = Ref<Script>(self.context().Self()), via, turns, step = std::move(step)](Script&) {
    Do(self, [via, turns, step](Script& again) { DoAfter(again, via, turns - 1, step); });
  });
}

class ConformanceTest : public ActorTest {
 protected:
  // Steps for a script's start that trap exits. Exits are noted as "exit <reason>" or "parent's exit <reason>".
  static void TrapOthers(Script& self) {
    self.context().TrapExits([&self](const ExitEvent& event) { NoteExit(self, event); });
  }
  static void TrapAll(Script& self) {
    const auto note = [&self](const ExitEvent& event) { NoteExit(self, event); };
    self.context().TrapExits(note, note);
  }

  Ref<Script> NewScript(Script::Step at_start = nullptr) { return NewScript({}, std::move(at_start)); }
  Ref<Script> NewScript(SpawnOptions options, Script::Step at_start) {
    Ref<Script> script = system().Spawn<Script>(std::move(options), std::move(at_start), nullptr, &notes_);
    system().RunUntilIdle();
    return script;
  }
  // Runs `step` in the script's turn, and then all turns that follow from it.
  void Step(Ref<Script> script, Script::Step step) {
    Do(script, std::move(step));
    system().RunUntilIdle();
  }
  void End(Ref<Script> script, const ExitReason& reason) {
    Step(script, [reason](Script& self) { self.context().Stop(reason); });
  }
  // Makes `watcher` monitor `target`. The Down is noted as "<label> <reason>".
  void Watch(Ref<Script> watcher, Pid target, const std::string& label = "down") {
    Step(watcher, [target, label](Script& self) { WatchFrom(self, target, label); });
  }
  static void WatchFrom(Script& self, Pid target, const std::string& label = "down") {
    self.monitors.push_back(self.context().Monitor(
        target, [&self, label](const Down& down) { self.Note(absl::StrCat(label, " ", down.reason.ToString())); }));
  }
  static void Link(Script& self, Pid target) { self.context().Link(target); }
  // Asks `callee`, awaits the answer and notes it in the form of AnswerText.
  void AskAndNote(Ref<Script> asker, Channel<Call<int, int>> callee, absl::Duration timeout = absl::Seconds(1)) {
    RunTask(asker, [callee, timeout](Script& self) -> Task<> {
      const auto asked = callee.Ask(1, timeout);
      const absl::StatusOr<int> answer = co_await asked;
      self.Note(AnswerText(answer));
    });
    system().RunUntilIdle();
  }
  bool IsAlive(Ref<Script> script) {
    const bool is_alive = script[&Script::once].Send([](Script&) {}).ok();
    system().RunUntilIdle();
    return is_alive;
  }
  // Returns the notes made since the last call.
  std::vector<std::string> Notes() { return std::exchange(notes_, {}); }

  std::vector<std::string> notes_;

 private:
  static void NoteExit(Script& self, const ExitEvent& event) {
    self.Note(absl::StrCat(event.from_parent ? "parent's exit " : "exit ", event.reason.ToString()));
  }
};

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_CONFORMANCE_SCENE_H_
