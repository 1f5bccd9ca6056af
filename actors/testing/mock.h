// Mock<M>: an actor of one mailbox that answers as the test has said before (mailbox_mock.h). Where Probe<M> keeps what
// it receives for the test to look into, a mock follows its script while time passes.
//
//   Mock<Call<int, int>> stock(system, "stock");
//   stock.Expect(3).Answer(7);                         // one call
//   stock.Allow().Answer(absl::UnavailableError(""));  // any number of calls
//   system.Spawn<Shop>(stock.channel());
//
// Threads, lifetime: as of MailboxMock. The mock of a service of a .proto file is generated (x.testing.h).
#ifndef UNDERSTUDY_ACTORS_TESTING_MOCK_H_
#define UNDERSTUDY_ACTORS_TESTING_MOCK_H_

#include <string>
#include <utility>

#include "understudy/actors/actor.h"
#include "understudy/actors/actor_spec.h"
#include "understudy/actors/channel.h"
#include "understudy/actors/mailbox.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/ref.h"
#include "understudy/actors/test_system.h"
#include "understudy/actors/testing/mailbox_mock.h"

namespace understudy {

namespace internal {

template <class M>
class MockActor final : public Actor {
 public:
  Mailbox<"mock", M> mock{this};

  explicit MockActor(FollowsScript<M> handler) : mocking_("mocking", On(mock, std::move(handler))) {}
  StartResult Start() override { return mocking_; }

 private:
  Behavior mocking_;
};

}  // namespace internal

template <class M>
class Mock : public MailboxMock<M> {
 public:
  // Failures of the test call it `name`. `options` may give the actor a name, by which the actors under test find it.
  Mock(TestSystem& system, std::string name, SpawnOptions options = {})
      : MailboxMock<M>(system, std::move(name)),
        ref_(system.Spawn<internal::MockActor<M>>(std::move(options), this->handler())) {}

  // The channel to the mock, for the actors under test.
  Channel<M> channel() const { return ref_[&internal::MockActor<M>::mock]; }
  Pid pid() const { return ref_.pid(); }

 private:
  const Ref<internal::MockActor<M>> ref_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_TESTING_MOCK_H_
