// What must not compile in the use of actors/. As it is, this file compiles.
#include <coroutine>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/behavior.h"
#include "understudy/actors/channel.h"
#include "understudy/actors/mailbox.h"

namespace understudy {

struct Immovable {
  Immovable() = default;
  Immovable(Immovable&&) = delete;
};

class Sample final : public Actor {
 public:
  Mailbox<"tell", int> tell{this};
  Mailbox<"call", Call<int, int>> call{this};
  Next Start() override { return good_; }

 private:
  void Tell(int) {}
  int Answer(int) { return 0; }
  bool Holds() const { return true; }
  Task<> Await() { co_return; }
  Behavior good_{"good", On(tell, &Sample::Tell).When(&Sample::Holds), On(call, &Sample::Answer)};

#ifdef NOCOMPILE_IMMOVABLE
  Mailbox<"immovable", Immovable> immovable{this};
#endif
#ifdef NOCOMPILE_HANDLER_ARGUMENT
  void TakesText(const std::string&) {}
  Behavior bad_{"bad", On(tell, &Sample::TakesText)};
#endif
#ifdef NOCOMPILE_HANDLER_CHANGES_ITS_MESSAGE
  void TakesText(int&) {}
  Behavior bad_{"bad", On(tell, &Sample::TakesText)};
#endif
#ifdef NOCOMPILE_TELL_RESULT
  int ReturnsInt(int) { return 1; }
  Behavior bad_{"bad", On(tell, &Sample::ReturnsInt)};
#endif
#ifdef NOCOMPILE_CALL_RESULT
  std::string ReturnsText(int) { return ""; }
  Behavior bad_{"bad", On(call, &Sample::ReturnsText)};
#endif
#ifdef NOCOMPILE_CALL_WITHOUT_ANSWER
  void ReturnsNothing(int) {}
  Behavior bad_{"bad", On(call, &Sample::ReturnsNothing)};
#endif
#ifdef NOCOMPILE_EMPTY_BEHAVIOR
  Behavior bad_{"bad"};
#endif
#ifdef NOCOMPILE_DROP_OF_A_CALL
  Behavior bad_{"bad", Drop(call)};
#endif
#ifdef NOCOMPILE_GUARD_CHANGES_ITS_ACTOR
  bool Changes() { return true; }
  Behavior bad_{"bad", On(tell, &Sample::Tell).When(&Sample::Changes)};
#endif
#ifdef NOCOMPILE_GUARD_WITH_A_CAPTURE
  Behavior bad_{"bad", On(tell, &Sample::Tell).When([this](const Sample&) { return true; })};
#endif
#ifdef NOCOMPILE_AWAIT_OF_A_STRANGER
  Task<> Bad() { co_await std::suspend_always(); }
#endif
};

void Use(const Ref<Sample>& sample, ActorSystem& system) {
  (void)sample[&Sample::tell].Send(1);
  (void)system.Ask(sample[&Sample::call], 1, absl::Seconds(1));
#ifdef NOCOMPILE_WRONG_TYPE
  (void)sample[&Sample::tell].Send(std::string("one"));
#endif
#ifdef NOCOMPILE_TELL_OF_A_CALL
  sample[&Sample::call].Tell(1);
#endif
#ifdef NOCOMPILE_ASK_OF_A_TELL
  (void)system.Ask(sample[&Sample::tell], 1, absl::Seconds(1));
#endif
#ifdef NOCOMPILE_COPY_OF_A_MOVE_ONLY
  const std::unique_ptr<int> owned;
  (void)Channel<std::unique_ptr<int>>().Send(owned);
#endif
#ifdef NOCOMPILE_SPAWN_OF_NO_ACTOR
  system.Spawn<std::string>();
#endif
}

}  // namespace understudy
