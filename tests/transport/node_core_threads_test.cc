// Two nodes on real threads: actors on their pools, streams on a thread of their own, timers on another. Mainly for
// ThreadSanitizer.
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/context.h"
#include "understudy/actors/error.h"
#include "understudy/actors/node_table.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/ref.h"
#include "understudy/actors/task.h"
#include "understudy/tests/transport/puppet.h"
#include "understudy/tests/transport/puppet.pb.h"
#include "understudy/tests/transport/threaded_network.h"
#include "understudy/transport/core/node_core.h"
#include "understudy/transport/session/frame_stream.h"
#include "understudy/transport/session/stream_identity.h"

namespace understudy {
namespace {

// Asks `callee` so many questions, one after another, then counts down.
class Questioner : public Actor {
 public:
  Questioner(Pid callee, int64_t questions, std::atomic<int>* left, ThreadedNetwork* network, Executor* executor)
      : callee_(callee), questions_(questions), left_(left), network_(network), executor_(executor) {}
  StartResult Start() override { return AskAll(); }

 private:
  Task<> AskAll() {
    for (int64_t i = 1; i <= questions_; ++i) {
      net_testing::Note note;
      note.set_number(100 + i);
      callee_[&Puppet::note].Tell(note);
      absl::StatusOr<net_testing::Answer> answer;
      do {
        auto asked = callee_[&Puppet::ask].Ask(note, absl::Minutes(1));
        answer = co_await asked;
        if (!IsFull(answer.status())) break;
        auto pause = context().Sleep(absl::Milliseconds(1));
        (void)co_await pause;
      } while (true);
      if (!answer.ok() || answer->number() != 101 + i) co_return;  // `left_` stays, and the test fails
      if (i % 50 == 0) network_->CutAll();
    }
    --*left_;
    executor_->Notify();
  }

  const Ref<Puppet> callee_;
  const int64_t questions_;
  std::atomic<int>* const left_;
  ThreadedNetwork* const network_;
  Executor* const executor_;
};

class NodeCoreThreadsTest : public ::testing::Test {
 protected:
  static std::unique_ptr<ActorSystem> NewSystem(absl::string_view name) {
    ActorSystemOptions options;
    options.name = std::string(name);
    return std::make_unique<ActorSystem>(options);
  }
  std::unique_ptr<NodeCore> NewCore(ActorSystem& system, std::function<void(const PeerEvent&)> on_peer) {
    NodeCoreOptions options;
    options.node = system.name();
    options.incarnation = system.incarnation();
    options.node_index = system.node();
    options.intern_peer = [&system](absl::string_view node, NodeIncarnation incarnation) {
      return system.InternPeer(node, incarnation);
    };
    options.mark_peers_dead = [&system](absl::string_view node, auto alive) { system.MarkPeersDead(node, alive); };
    options.clock = &system.clock();
    options.inbound = &system;
    options.registry = &system.registry();
    options.dialer = &network_;
    options.run_at = [&system](MonotonicTime time, absl::AnyInvocable<void()> callback) {
      system.executor().RunAt(time, std::move(callback));
    };
    options.new_key = NewSessionKey;
    options.on_peer = std::move(on_peer);
    auto core = std::make_unique<NodeCore>(std::move(options));
    system.InstallRouter(core.get());
    system.InstallPublisher(core.get());
    return core;
  }

  ThreadedNetwork network_;
};

TEST_F(NodeCoreThreadsTest, AsksFromManyThreadsAreAllAnsweredThroughCuts) {
  const auto a = NewSystem("a");
  const auto b = NewSystem("b");
  std::atomic<bool> up{false};
  auto core_a = NewCore(*a, [&](const PeerEvent& event) {
    if (event.kind == PeerEvent::Kind::kUp) up = true;
    a->executor().Notify();
  });
  auto core_b = NewCore(*b, nullptr);
  network_.Listen([&](std::unique_ptr<FrameStream> stream, const StreamIdentity& identity) {
    return core_b->Accept(std::move(stream), identity);
  });
  ASSERT_TRUE(core_a->SetPeer("b", "b").ok());
  const MonotonicTime deadline = a->clock().Now() + absl::Minutes(2);
  ASSERT_TRUE(a->executor().BlockUntil([&] { return up.load(); }, deadline));

  constexpr int kQuestioners = 8;
  const auto diary = std::make_shared<Diary>();
  const Ref<Puppet> puppet = b->Spawn<Puppet>(diary);
  const Pid seen = internal::PidAt(*a->InternPeer("b", b->incarnation()), internal::AddressOf(puppet.pid()));
  std::atomic<int> left{kQuestioners};
  for (int i = 0; i < kQuestioners; ++i) {
    a->Spawn<Questioner>(seen, int64_t{200}, &left, &network_, &a->executor());
  }
  EXPECT_TRUE(a->executor().BlockUntil([&] { return left == 0; }, deadline));
  EXPECT_EQ(core_a->Peers()[0].epoch, 1U);
  EXPECT_TRUE(core_a->Ledger().balances());
  EXPECT_TRUE(core_b->Ledger().balances());

  // One node is destroyed while streams are open and the other node still runs.
  EXPECT_TRUE(a->Shutdown(absl::Seconds(10)));
  core_a.reset();
  network_.CutAll();
  EXPECT_TRUE(b->Shutdown(absl::Seconds(10)));
  network_.Listen(nullptr);
  core_b.reset();
}

}  // namespace
}  // namespace understudy
