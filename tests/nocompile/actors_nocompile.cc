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
#include "understudy/actors/named.h"

namespace understudy {

struct Immovable {
  Immovable() = default;
  Immovable(Immovable&&) = delete;
};

// As a generator writes it: only its ref, and classes derived from it, name its mailboxes.
class AuctionActor : public Actor {
 protected:
  Mailbox<"MakeOffer", int> make_offer{this};
  friend class AuctionRef;
};

class AuctionRef : public Ref<AuctionActor> {
 public:
  Channel<int> make_offer() const { return (*this)[&AuctionActor::make_offer]; }
};

struct Stranger {
  void Tell(int) {}
  bool Holds() const { return true; }
  void Enter() {}
};

class Sample final : public Actor {
 public:
  Mailbox<"tell", int> tell{this};
  Mailbox<"call", Call<int, int>> call{this};
  Mailbox<"stream", Call<int, Stream<int>>> stream{this};
  Mailbox<"upload", Call<Stream<int>, int>> upload{this};
  Mailbox<"chat", Call<Stream<int>, Stream<int>>> chat{this};
  MailboxArray<"array", int> array{this, 2};
  StartResult Start() override { return good_; }

 private:
  void Tell(int) {}
  int Answer(int) { return 0; }
  void Write(int, StreamWriter<int>) {}
  int Read(Stream<int>) { return 0; }
  void Talk(Stream<int>, StreamWriter<int>) {}
  bool Holds() const { return true; }
  Task<> Await() { co_return; }
  void Enter() {}
  Behavior good_ = Behavior("good", On(tell, &Sample::Tell).When(&Sample::Holds), On(call, &Sample::Answer),
                            On(stream, &Sample::Write), On(upload, &Sample::Read), On(chat, &Sample::Talk),
                            On(array, &Sample::Tell).When([](const Sample&) { return true; }))
                       .WhenEntered(&Sample::Enter)
                       .WhenLeft([] {});

#ifdef NOCOMPILE_IMMOVABLE
  Mailbox<"immovable", Immovable> immovable{this};
#endif
#ifdef NOCOMPILE_IMMOVABLE_REPLY
  Mailbox<"immovable", Call<int, Immovable>> immovable{this};
#endif
#ifdef NOCOMPILE_VOID_REPLY
  Mailbox<"nothing", Call<int, void>> nothing{this};
#endif
#ifdef NOCOMPILE_HANDLER_ARGUMENT
  void TakesText(const std::string&) {}
  Behavior bad_{"bad", On(tell, &Sample::TakesText)};
#endif
#ifdef NOCOMPILE_HANDLER_CHANGES_ITS_MESSAGE
  void TakesText(int&) {}
  Behavior bad_{"bad", On(tell, &Sample::TakesText)};
#endif
#ifdef NOCOMPILE_HANDLER_OF_NO_ACTOR
  Behavior bad_{"bad", On(tell, &Stranger::Tell)};
#endif
#ifdef NOCOMPILE_GUARD_OF_NO_ACTOR
  Behavior bad_{"bad", On(tell, &Sample::Tell).When(&Stranger::Holds)};
#endif
#ifdef NOCOMPILE_HOOK_OF_NO_ACTOR
  Behavior bad_ = Behavior("bad", On(tell, &Sample::Tell)).WhenEntered(&Stranger::Enter);
#endif
#ifdef NOCOMPILE_LOOKUP_OF_NO_REF
  Task<> Find() {
    auto looking = context().Lookup<Sample>("sample", absl::Seconds(1));
    (void)co_await looking;
  }
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
#ifdef NOCOMPILE_MAILBOX_WITHOUT_A_NAME
  Mailbox<"", int> nameless{this};
#endif
#ifdef NOCOMPILE_TIMER_HANDLER_ARGUMENT
  void TakesInt(int) {}
  Behavior bad_{"bad", After(absl::Seconds(1), &Sample::TakesInt)};
#endif
#ifdef NOCOMPILE_EVENT_HANDLER_ARGUMENT
  void Watch(Pid pid) { (void)context().Monitor(pid, &Sample::TakesInt); }
  void TakesInt(int) {}
#endif
#ifdef NOCOMPILE_ARRAY_HANDLER_ARGUMENT
  void TakesText(const std::string&) {}
  Behavior bad_{"bad", On(array, &Sample::TakesText)};
#endif
#ifdef NOCOMPILE_REPLIER_RESULT
  int Takes(int, Replier<int>) { return 1; }
  Behavior bad_{"bad", On(call, &Sample::Takes)};
#endif
#ifdef NOCOMPILE_STREAM_HANDLER
  Behavior bad_{"bad", On(stream, &Sample::Answer)};
#endif
#ifdef NOCOMPILE_UPLOAD_HANDLER
  Behavior bad_{"bad", On(upload, &Sample::Answer)};
#endif
#ifdef NOCOMPILE_CHAT_HANDLER
  Behavior bad_{"bad", On(chat, &Sample::Read)};
#endif
#ifdef NOCOMPILE_FORWARD_OF_AN_UPLOAD
  void Hand(Stream<int> items, Replier<int> replier) {
    context().Forward(upload, std::move(items), std::move(replier));
  }
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
#ifdef NOCOMPILE_GUARD_FUNCTION_CHANGES_ITS_ACTOR
  Behavior bad_{"bad", On(tell, &Sample::Tell).When([](Sample&) { return true; })};
#endif
#ifdef NOCOMPILE_GUARD_OF_AN_ARRAY_CHANGES_ITS_ACTOR
  bool Changes(size_t) { return true; }
  Behavior bad_{"bad", On(array, &Sample::Tell).When(&Sample::Changes)};
#endif
#ifdef NOCOMPILE_HOOK_IS_A_COROUTINE
  Behavior bad_ = Behavior("bad", On(tell, &Sample::Tell)).WhenEntered(&Sample::Await);
#endif
#ifdef NOCOMPILE_HOOK_RETURNS_A_BEHAVIOR
  Behavior bad_ = Behavior("bad", On(tell, &Sample::Tell)).WhenLeft([this] { return good_; });
#endif
#ifdef NOCOMPILE_HOOK_TAKES_SOMETHING
  Behavior bad_ = Behavior("bad", On(tell, &Sample::Tell)).WhenEntered(&Sample::Tell);
#endif
#ifdef NOCOMPILE_GUARD_WITH_A_CAPTURE
  Behavior bad_{"bad", On(tell, &Sample::Tell).When([this](const Sample&) { return true; })};
#endif
#ifdef NOCOMPILE_GUARD_OF_NOTHING
  Behavior bad_{"bad", On(tell, &Sample::Tell).When([] { return true; })};
#endif
#ifdef NOCOMPILE_AWAIT_OF_WHAT_DOES_NOT_STAY
  Task<> Bad(Channel<int> to) { (void)co_await to.SendWhenRoom(1, absl::Seconds(1)); }
#endif
#ifdef NOCOMPILE_AWAIT_OF_A_STRANGER
  Task<> Bad() { co_await std::suspend_always(); }
#endif
};

#ifdef NOCOMPILE_MAILBOX_WITHOUT_THIS
class Forgetful final : public Actor {
  Mailbox<"forgotten", int> forgotten;
  StartResult Start() override { return StartResult::Ignore(); }
};
void Spawn(ActorSystem& system) { system.Spawn<Forgetful>(); }
#endif

void Use(const Ref<Sample>& sample, const AuctionRef& auction, ActorSystem& system) {
  system.Spawn<Sample>();
  (void)auction.make_offer().Send(1);
#ifdef NOCOMPILE_MAILBOX_OF_ANOTHER_CLASS
  (void)auction[&AuctionActor::make_offer].Send(1);
#endif
#ifdef NOCOMPILE_TELL_OF_A_WRONG_TYPE
  sample[&Sample::tell].Tell(std::string("one"));
#endif
  (void)sample[&Sample::tell].Send(1);
  (void)system.Ask(sample[&Sample::call], 1, absl::Seconds(1));
#ifdef NOCOMPILE_NAMED_OF_NO_REF
  (void)Named<Sample>("sample").Resolve();
#endif
#ifdef NOCOMPILE_WRONG_TYPE
  (void)sample[&Sample::tell].Send(std::string("one"));
#endif
#ifdef NOCOMPILE_TELL_OF_A_CALL
  sample[&Sample::call].Tell(1);
#endif
#ifdef NOCOMPILE_STREAM_OF_A_THREAD
  (void)system.Ask(sample[&Sample::stream], 1, absl::Seconds(1));
#endif
#ifdef NOCOMPILE_UPLOAD_OF_A_THREAD
  (void)system.Ask(Channel<Call<Stream<int>, int>>(), Stream<int>(internal::PendingId()), absl::Seconds(1));
#endif
#ifdef NOCOMPILE_ASK_OF_A_TELL
  (void)system.Ask(sample[&Sample::tell], 1, absl::Seconds(1));
#endif
#ifdef NOCOMPILE_COPY_OF_A_MOVE_ONLY
  const std::unique_ptr<int> owned;
  (void)Channel<std::unique_ptr<int>>().Send(owned);
#endif
#ifdef NOCOMPILE_SPAWN_WITH_WRONG_ARGUMENTS
  system.Spawn<Sample>(std::string("one"));
#endif
#ifdef NOCOMPILE_SPAWN_OF_AN_ABSTRACT_CLASS
  system.Spawn<AuctionActor>();
#endif
#ifdef NOCOMPILE_SPEC_WITH_WRONG_ARGUMENTS
  (void)MakeActorSpec<Sample>(std::string("one"));
#endif
#ifdef NOCOMPILE_SPAWN_OF_NO_ACTOR
  system.Spawn<std::string>();
#endif
}

}  // namespace understudy
