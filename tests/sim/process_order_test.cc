// A process child reports over its stream that it has started, and its wait status arrives on another path. In either
// order, a process that has reported its start counts as started.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/random.h"
#include "understudy/actors/ref.h"
#include "understudy/tests/transport/puppet.h"
#include "understudy/tests/transport/puppet.pb.h"
#include "understudy/transport/core/node_core.h"
#include "understudy/transport/process/process_birth.h"
#include "understudy/transport/session/frame_stream.h"
#include "understudy/transport/session/stream_identity.h"
#include "understudy/transport/testing/simulated_cluster.h"

namespace understudy {
namespace {

// The parent's proxy for the process of node "child".
class ChildProxy final : public Actor {
 public:
  struct Over {};
  struct WaitStatus {};

  ChildProxy(std::shared_ptr<Diary> diary, bool* has_stream) : diary_(std::move(diary)), has_stream_(has_stream) {}

  Mailbox<"puppet/note", net_testing::Note> note{this};
  Mailbox<"over", Over> over{this};
  Mailbox<"wait status", WaitStatus> wait_status{this};

  StartResult Start() override { return waiting_; }

 private:
  void Tell(const char* what, bool has_ended) {
    diary_->push_back(what);
    if (!has_ended) return;
    diary_->push_back("end");
    context().Stop();
  }
  void Started(const net_testing::Note&) { Tell("started", birth_.Started()); }
  void StreamIsOver(const Over&) { Tell("over", birth_.StreamOver()); }
  void Ended(const WaitStatus&) { Tell("wait status", birth_.Ended(ExitReason::OsExit(1), *has_stream_)); }

  const std::shared_ptr<Diary> diary_;
  bool* const has_stream_;
  internal::ProcessBirth birth_;
  Behavior waiting_{"waiting", On(note, &ChildProxy::Started), On(over, &ChildProxy::StreamIsOver),
                    On(wait_status, &ChildProxy::Ended)};
};

// The child reports that it has started, and ends. Its wait status arrives at a random time. Returns what the proxy was
// told, in order.
std::string EndOfAChild(uint64_t seed) {
  Random random(seed);
  const auto diary = std::make_shared<Diary>();
  bool has_stream = false;
  Ref<ChildProxy> proxy;
  SimulatedCluster cluster({.seed = seed, .nodes = {"house", "child"}});
  EXPECT_TRUE(cluster.core("house").SetPeer("child", "").ok());  // house does not dial it; the child dials house
  cluster.network().Listen("house", [&](std::unique_ptr<FrameStream> stream, const StreamIdentity& identity) {
    has_stream = true;
    return cluster.core("house").Accept(std::move(stream), identity, [&](const absl::Status&) {
      // The proxy may have ended already, so the send may fail.
      proxy[&ChildProxy::over].Send({}).IgnoreError();
    });
  });
  EXPECT_TRUE(cluster.RunUntil([&] { return cluster.IsJoined(); }, absl::Seconds(5)));
  SpawnOptions options;
  options.published_as = "proxy";
  proxy = cluster.system("house").Spawn<ChildProxy>(std::move(options), diary, &has_stream);
  EXPECT_TRUE(cluster.RunUntil([&] { return cluster.system("child").WhereIs("proxy").has_value(); }, absl::Seconds(5)));
  const Pid known = cluster.system("child").WhereIs("proxy").value_or(Pid());
  Ref<ChildProxy>(known)[&ChildProxy::note].Tell(net_testing::Note());
  const auto soon = [&] { return absl::Microseconds(static_cast<int64_t>(random.Below(3000))); };
  // The stream closes later than the child ends, so bytes that the child wrote may still arrive after its end.
  const MonotonicTime now = cluster.executor().clock().Now();
  cluster.executor().RunAt(now + soon(), [&] { cluster.Crash("child"); });
  cluster.executor().RunAt(now + soon(), [&] { proxy[&ChildProxy::wait_status].Send({}).IgnoreError(); });
  cluster.RunFor(absl::Seconds(1));
  std::string told;
  for (const std::string& line : *diary) told += (told.empty() ? "" : ", ") + line;
  return told;
}

TEST(ProcessOrder, WhicheverIsFirstAProcessThatSaidThatItIsStartedHasBeen) {
  int both_ways[2] = {0, 0};
  int never_said = 0;
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    const std::string told = EndOfAChild(seed);
    if (told == "wait status, started, end") {
      ++both_ways[0];
    } else if (told == "started, wait status, end" || told == "started, over, wait status, end") {
      ++both_ways[1];
    } else {  // the child's report was lost with its stream
      EXPECT_TRUE(told == "wait status, over, end" || told == "over, wait status, end")
          << "seed " << seed << ": " << told;
      ++never_said;
    }
  }
  EXPECT_GT(both_ways[0], 10);
  EXPECT_GT(both_ways[1], 10);
  EXPECT_GT(never_said, 10);
}

TEST(ProcessOrder, WithoutAStreamNobodyWaits) {
  internal::ProcessBirth birth;
  EXPECT_TRUE(birth.Ended(ExitReason::OsExit(3), /*has_stream=*/false));
  EXPECT_EQ(birth.reason().ToString(), ExitReason::OsExit(3).ToString());
}

}  // namespace
}  // namespace understudy
