// Two nodes on real threads: actors on their pools, streams on a thread of
// their own, timers on another. For ThreadSanitizer above all.
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/context.h"
#include "understudy/actors/error.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/ref.h"
#include "understudy/actors/task.h"
#include "understudy/tests/transport/puppet.h"
#include "understudy/tests/transport/puppet.pb.h"
#include "understudy/transport/frame_stream.h"
#include "understudy/transport/node_core.h"
#include "understudy/transport/stream_identity.h"

namespace understudy {
namespace {

// Streams between two nodes, their events on one thread.
class ThreadedNetwork : public Dialer {
 public:
  ThreadedNetwork() : thread_([this] { Serve(); }) {}
  ~ThreadedNetwork() override {
    Enqueue(nullptr);
    thread_.join();
  }

  void Listen(AcceptStream accept) {
    absl::MutexLock lock(&mu_);
    accept_ = std::move(accept);
  }
  std::unique_ptr<FrameStream> Dial(absl::string_view, absl::string_view, FrameStream::Events* events) override {
    auto pipe = std::make_shared<Pipe>();
    pipe->events[0] = events;
    {
      absl::MutexLock lock(&mu_);
      pipes_.push_back(pipe);
    }
    Enqueue([this, pipe] {
      AcceptStream accept;
      {
        absl::MutexLock lock(&mu_);
        accept = accept_;
      }
      if (pipe->open && accept)
        pipe->events[1] = accept(std::make_unique<End>(this, pipe, 1), StreamIdentity::SameUser());
      if (pipe->events[1] == nullptr) Close(pipe);
    });
    return std::make_unique<End>(this, pipe, 0);
  }
  StreamIdentity IdentityAt(absl::string_view, absl::string_view) const override { return StreamIdentity::SameUser(); }
  void CutAll() {
    std::vector<std::shared_ptr<Pipe>> pipes;
    {
      absl::MutexLock lock(&mu_);
      pipes = std::exchange(pipes_, {});
    }
    for (const auto& pipe : pipes) Close(pipe);
  }

 private:
  // Touched on the network's thread, but for what is written before it is enqueued.
  struct Pipe {
    FrameStream::Events* events[2] = {nullptr, nullptr};
    bool open = true;
  };
  class End final : public FrameStream {
   public:
    End(ThreadedNetwork* network, std::shared_ptr<Pipe> pipe, int end)
        : network_(network), pipe_(std::move(pipe)), end_(end) {}
    ~End() override { Close(); }
    void Write(std::string frame) override {
      network_->Enqueue([pipe = pipe_, end = end_, frame = std::move(frame)]() mutable {
        if (!pipe->open) return;
        if (pipe->events[1 - end] != nullptr) pipe->events[1 - end]->OnFrame(std::move(frame));
        if (pipe->open && pipe->events[end] != nullptr) pipe->events[end]->OnWritten();
      });
    }
    void Close() override { network_->Close(pipe_); }

   private:
    ThreadedNetwork* const network_;
    const std::shared_ptr<Pipe> pipe_;
    const int end_;
  };

  void Close(const std::shared_ptr<Pipe>& pipe) {
    Enqueue([pipe] {
      pipe->open = false;
      for (FrameStream::Events*& events : pipe->events) {
        if (FrameStream::Events* hearer = std::exchange(events, nullptr); hearer != nullptr) {
          hearer->OnClosed(absl::UnavailableError("closed"));
        }
      }
    });
  }
  // Null ends the thread when all that came before has run.
  void Enqueue(absl::AnyInvocable<void()> what) {
    absl::MutexLock lock(&mu_);
    work_.push_back(std::move(what));
  }
  void Serve() {
    while (true) {
      absl::AnyInvocable<void()> what;
      {
        absl::MutexLock lock(
            &mu_,
            absl::Condition(+[](std::deque<absl::AnyInvocable<void()>>* work) { return !work->empty(); }, &work_));
        what = std::move(work_.front());
        work_.pop_front();
      }
      if (what == nullptr) return;
      what();
    }
  }

  absl::Mutex mu_;
  AcceptStream accept_ ABSL_GUARDED_BY(mu_);
  std::vector<std::shared_ptr<Pipe>> pipes_ ABSL_GUARDED_BY(mu_);
  std::deque<absl::AnyInvocable<void()>> work_ ABSL_GUARDED_BY(mu_);
  std::thread thread_;
};

// Asks `callee` so many questions, one after another, then counts down.
class Questioner : public Actor {
 public:
  Questioner(Pid callee, int64_t questions, std::atomic<int>* left, ThreadedNetwork* network, Executor* executor)
      : callee_(callee), questions_(questions), left_(left), network_(network), executor_(executor) {}
  Next Start() override { return AskAll(); }

 private:
  Task<> AskAll() {
    for (int64_t i = 1; i <= questions_; ++i) {
      testing::Note note;
      note.set_number(100 + i);
      callee_[&Puppet::note].Tell(note);
      absl::StatusOr<testing::Answer> answer;
      do {
        auto asked = callee_[&Puppet::ask].Ask(note, absl::Minutes(1));
        answer = co_await asked;
        if (!IsFull(answer.status())) break;
        auto pause = context().Lookup<Ref<Puppet>>("nobody", absl::Milliseconds(1));
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

  // One goes while streams are open and the other still runs.
  EXPECT_TRUE(a->Shutdown(absl::Seconds(10)));
  core_a.reset();
  network_.CutAll();
  EXPECT_TRUE(b->Shutdown(absl::Seconds(10)));
  network_.Listen(nullptr);
  core_b.reset();
}

}  // namespace
}  // namespace understudy
