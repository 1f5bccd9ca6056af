// One node with two peers, each on a network thread of its own. If a frame of one peer is held up anywhere on its path,
// nothing of the other peer is delayed.
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/dead_letter.h"
#include "understudy/actors/message.h"
#include "understudy/actors/node_table.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/ref.h"
#include "understudy/actors/room.h"
#include "understudy/actors/router.h"
#include "understudy/tests/transport/puppet.h"
#include "understudy/tests/transport/puppet.pb.h"
#include "understudy/tests/transport/threaded_network.h"
#include "understudy/transport/core/node_core.h"
#include "understudy/transport/session/frame_stream.h"
#include "understudy/transport/session/session_proof.h"
#include "understudy/transport/session/stream_identity.h"

namespace understudy {
namespace {

// An ActorSystem as a transport sees it, which stops the thread that comes with a message for one actor.
class GatedInbound : public Inbound {
 public:
  enum class Place {
    kDelivery,   // where the message is delivered
    kUnderLock,  // where the transport asks about the receiver, with the lock held under which the frame is read
  };

  explicit GatedInbound(ActorSystem* system) : system_(*system) {}

  void Hold(Place place, Pid receiver) {
    absl::MutexLock lock(&mu_);
    place_ = place;
    held_ = receiver;
  }
  // Returns false if no call was held within `timeout`.
  bool AwaitSomebody(absl::Duration timeout) {
    absl::MutexLock lock(&mu_);
    return mu_.AwaitWithTimeout(absl::Condition(&is_held_), timeout);
  }
  void Open() {
    absl::MutexLock lock(&mu_);
    held_ = Pid();
  }
  bool is_held() {
    absl::MutexLock lock(&mu_);
    return is_held_;
  }

  absl::Status Deliver(internal::Message message) override {
    Pass(Place::kDelivery, message.to);
    return system_.Deliver(std::move(message));
  }
  bool WasGivenOut(Pid pid) const override {
    Pass(Place::kUnderLock, pid);
    return system_.WasGivenOut(pid);
  }
  void Deliver(Signal signal) override { system_.Deliver(std::move(signal)); }
  void OnRefusedTell(const DeadLetter& letter) override { system_.OnRefusedTell(letter); }
  ReservedRoom Reserve(const RoomRequest& request) override { return system_.Reserve(request); }
  void GiveBack(const RoomRequest& request) override { system_.GiveBack(request); }
  void WaitForRoom(const RoomWait& wait) override { system_.WaitForRoom(wait); }
  void StopWaiting(const RoomWait& wait) override { system_.StopWaiting(wait); }

 private:
  void Pass(Place place, Pid receiver) const {
    absl::MutexLock lock(&mu_);
    if (place_ != place || held_ != receiver) return;
    is_held_ = true;
    // Opens by itself, so that a transport whose peers do wait for each other fails the test and does not hang it.
    (void)mu_.AwaitWithTimeout(absl::Condition(+[](Pid* held) { return held->is_null(); }, &held_), absl::Seconds(30));
    is_held_ = false;
  }

  ActorSystem& system_;
  mutable absl::Mutex mu_;
  Place place_ ABSL_GUARDED_BY(mu_) = Place::kDelivery;
  mutable Pid held_ ABSL_GUARDED_BY(mu_);
  mutable bool is_held_ ABSL_GUARDED_BY(mu_) = false;
};

// Each peer is dialled over a network of its own.
class TwoNetworks : public Dialer {
 public:
  std::unique_ptr<FrameStream> Dial(absl::string_view node, absl::string_view address,
                                    FrameStream::Events* events) override {
    return (node == "b" ? b : c).Dial(node, address, events);
  }
  StreamIdentity IdentityAt(absl::string_view, absl::string_view) const override { return StreamIdentity::SameUser(); }

  ThreadedNetwork b;
  ThreadedNetwork c;
};

struct NodeUnderTest {
  explicit NodeUnderTest(absl::string_view name)
      : system(std::make_unique<ActorSystem>(ActorSystemOptions{.name = std::string(name)})), inbound(system.get()) {}

  void Start(Dialer& dialer) {
    NodeCoreOptions options;
    options.node = system->name();
    options.incarnation = system->incarnation();
    options.node_index = system->node();
    options.intern_peer = [this](absl::string_view node, NodeIncarnation incarnation) {
      return system->InternPeer(node, incarnation);
    };
    options.mark_peers_dead = [this](absl::string_view node, auto alive) { system->MarkPeersDead(node, alive); };
    options.clock = &system->clock();
    options.inbound = &inbound;
    options.registry = &system->registry();
    options.dialer = &dialer;
    options.run_at = [this](MonotonicTime time, absl::AnyInvocable<void()> callback) {
      system->executor().RunAt(time, std::move(callback));
    };
    options.new_key = NewSessionKey;
    options.on_peer = [this](const PeerEvent& event) {
      absl::MutexLock lock(&mu);
      if (event.kind == PeerEvent::Kind::kUp) ++up;
    };
    core = std::make_unique<NodeCore>(std::move(options));
    system->InstallRouter(core.get());
    system->InstallPublisher(core.get());
  }
  bool AwaitPeers(int peers) {
    absl::MutexLock lock(&mu);
    const auto are_up = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) { return up == peers; };
    return mu.AwaitWithTimeout(absl::Condition(&are_up), absl::Seconds(60));
  }
  // The actor of `other` as this node knows it.
  Ref<Puppet> See(const NodeUnderTest& other, const Ref<Puppet>& puppet) const {
    const absl::StatusOr<NodePlace> place = system->InternPeer(other.system->name(), other.system->incarnation());
    return Ref<Puppet>(internal::PidAt(*place, internal::AddressOf(puppet.pid())));
  }

  const std::unique_ptr<ActorSystem> system;
  GatedInbound inbound;
  std::unique_ptr<NodeCore> core;
  absl::Mutex mu;
  int up ABSL_GUARDED_BY(mu) = 0;
};

class NodeCorePeersApartTest : public ::testing::TestWithParam<GatedInbound::Place> {
 protected:
  static AcceptStream AcceptBy(NodeUnderTest& node) {
    return [&node](std::unique_ptr<FrameStream> stream, const StreamIdentity& identity) {
      return node.core->Accept(std::move(stream), identity);
    };
  }
  static net_testing::Note NoteOf(int64_t number) {
    net_testing::Note note;
    note.set_number(number);
    return note;
  }
  static Ref<Puppet> NewPuppet(NodeUnderTest& node) { return node.system->Spawn<Puppet>(std::make_shared<Diary>()); }

  TwoNetworks networks_;
};

TEST_P(NodeCorePeersApartTest, AMessageThatIsHeldOnItsWayHoldsUpNothingOfAnotherPeer) {
  NodeUnderTest a("a");
  NodeUnderTest b("b");
  NodeUnderTest c("c");
  for (NodeUnderTest* node : {&a, &b, &c}) node->Start(networks_);
  networks_.b.Listen(AcceptBy(b));
  networks_.c.Listen(AcceptBy(c));
  ASSERT_TRUE(a.core->SetPeer("b", "b").ok());
  ASSERT_TRUE(a.core->SetPeer("c", "c").ok());
  ASSERT_TRUE(a.AwaitPeers(2));
  ASSERT_TRUE(b.AwaitPeers(1));
  ASSERT_TRUE(c.AwaitPeers(1));
  const Ref<Puppet> for_b = NewPuppet(a);
  const Ref<Puppet> for_c = NewPuppet(a);
  const Ref<Puppet> of_c = NewPuppet(c);

  a.inbound.Hold(GetParam(), for_b.pid());
  b.See(a, for_b)[&Puppet::note].Tell(NoteOf(1));
  ASSERT_TRUE(a.inbound.AwaitSomebody(absl::Seconds(60)));

  // Asks from c arrive, are delivered and answered; then a sends to c, and the answers come back. The messages are
  // fewer than a first allowance, because credit that is due at a later time may wait behind the peer that is held up.
  for (int64_t i = 0; i < 20; ++i) {
    const absl::StatusOr<net_testing::Answer> answer =
        c.system->Ask(c.See(a, for_c)[&Puppet::ask], NoteOf(100 + i), absl::Seconds(20));
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_EQ(answer->number(), 101 + i);
  }
  for (int64_t i = 0; i < 20; ++i) {
    const absl::StatusOr<net_testing::Answer> answer =
        a.system->Ask(a.See(c, of_c)[&Puppet::ask], NoteOf(200 + i), absl::Seconds(20));
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_EQ(answer->number(), 201 + i);
  }
  EXPECT_TRUE(a.inbound.is_held());

  a.inbound.Open();
  const absl::StatusOr<net_testing::Answer> answer =
      b.system->Ask(b.See(a, for_b)[&Puppet::ask], NoteOf(300), absl::Seconds(60));
  EXPECT_TRUE(answer.ok()) << answer.status();

  for (NodeUnderTest* node : {&a, &b, &c}) EXPECT_TRUE(node->system->Shutdown(absl::Seconds(10)));
  networks_.b.Listen(nullptr);
  networks_.c.Listen(nullptr);
  for (NodeUnderTest* node : {&a, &b, &c}) node->core.reset();
}

INSTANTIATE_TEST_SUITE_P(Places, NodeCorePeersApartTest,
                         ::testing::Values(GatedInbound::Place::kDelivery, GatedInbound::Place::kUnderLock));

}  // namespace
}  // namespace understudy
