// Script: an actor that runs what a test sends it, in its own turns.
//
//   Ref<Script> script = system.Spawn<Script>();
//   Do(script, [&](Script& self) { self.context().Link(other); });
#ifndef UNDERSTUDY_TESTS_ACTORS_SCRIPT_H_
#define UNDERSTUDY_TESTS_ACTORS_SCRIPT_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "understudy/actors/actor.h"

namespace understudy {

class Script final : public Actor {
 public:
  using Step = std::function<void(Script&)>;
  using LongStep = std::function<Task<>(Script&)>;

  Mailbox<"do", Step> once{this};
  Mailbox<"run", LongStep> run{this};
  Mailbox<"note", std::string> note{this};
  Mailbox<"ask", Call<int, int>> ask{this};

  // `at_start` runs in Start, `at_exit` in OnExit; notes go to `notes`.
  explicit Script(Step at_start = nullptr, std::function<void(Script&, const ExitReason&)> at_exit = nullptr,
                  std::vector<std::string>* notes = nullptr)
      : notes_(notes), at_start_(std::move(at_start)), at_exit_(std::move(at_exit)) {}

  StartResult Start() override {
    if (at_start_ != nullptr) at_start_(*this);
    return running_;
  }
  void OnExit(const ExitReason& reason) override {
    if (at_exit_ != nullptr) at_exit_(*this, reason);
  }
  using Actor::context;
  using Actor::Fail;

  void Note(std::string what) { notes_->push_back(std::move(what)); }
  std::vector<std::string>* notes() { return notes_; }
  std::vector<MonitorHandle> monitors;
  std::vector<Replier<int>> repliers;

 private:
  void Do(const Step& step) { step(*this); }
  Task<> Run(const LongStep& step) {
    auto running = step(*this);
    co_await running;
  }
  void Answer(int, Replier<int> replier) { repliers.push_back(std::move(replier)); }

  std::vector<std::string>* notes_;
  Step at_start_;
  std::function<void(Script&, const ExitReason&)> at_exit_;
  Behavior running_{"running", On(once, &Script::Do), On(run, &Script::Run), On(note, &Script::Note),
                    On(ask, &Script::Answer)};
};

inline void Do(Ref<Script> script, Script::Step step) { script[&Script::once].Tell(std::move(step)); }
inline void RunTask(Ref<Script> script, Script::LongStep step) { script[&Script::run].Tell(std::move(step)); }

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_ACTORS_SCRIPT_H_
