// ClusterTest: a fixture of nodes in one process, with puppets on them.
#ifndef UNDERSTUDY_TESTS_TRANSPORT_CLUSTER_TEST_H_
#define UNDERSTUDY_TESTS_TRANSPORT_CLUSTER_TEST_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor_spec.h"
#include "understudy/actors/channel.h"
#include "understudy/actors/error.h"
#include "understudy/actors/node_table.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/ref.h"
#include "understudy/actors/test_system.h"
#include "understudy/tests/transport/puppet.h"
#include "understudy/tests/transport/puppet.pb.h"
#include "understudy/transport/session/frame_stream.h"
#include "understudy/transport/testing/simulated_cluster.h"

namespace understudy {

inline net_testing::Note NoteOf(int64_t number) {
  net_testing::Note note;
  note.set_number(number);
  return note;
}

// A stream that a test speaks into by hand.
class Visitor : public FrameStream::Events {
 public:
  void OnFrame(std::string frame) override { frames.push_back(std::move(frame)); }
  void OnWritten() override {}
  void OnClosed(absl::Status) override { closed = true; }

  std::vector<std::string> frames;
  bool closed = false;
};

class ClusterTest : public ::testing::Test {
 protected:
  void Join(SimulatedCluster::Options options = {}) {
    if (options.nodes.empty()) options.nodes = {"a", "b"};
    cluster_ = std::make_unique<SimulatedCluster>(std::move(options));
    ASSERT_TRUE(cluster_->RunUntil([&] { return cluster_->IsJoined(); }, absl::Seconds(5)));
  }

  struct Puppeteer {
    Ref<Puppet> ref;
    std::shared_ptr<Diary> diary;
  };
  // A puppet on `node`, published as `name` unless that is empty.
  Puppeteer Make(absl::string_view node, absl::string_view name = "") {
    auto diary = std::make_shared<Diary>();
    SpawnOptions options;
    options.published_as = std::string(name);
    const Ref<Puppet> ref = cluster().system(node).Spawn<Puppet>(std::move(options), diary);
    Run();
    return {ref, diary};
  }
  // The pid of `puppet` as actors of `node` know it.
  Pid Seen(absl::string_view node, const Puppeteer& puppet, absl::string_view home) {
    return Known(node, puppet.ref.pid(), home);
  }
  // The pid as actors of `node` know that actor of `home`.
  Pid Known(absl::string_view node, Pid pid, absl::string_view home) {
    TestSystem& system = cluster().system(node);
    const NodePlace place = *system.InternPeer(home, cluster().system(home).incarnation());
    return internal::PidAt(place, internal::AddressOf(pid));
  }
  void Do(const Puppeteer& puppet, Puppet::Script script) {
    ASSERT_TRUE(puppet.ref[&Puppet::run].Send(std::move(script)).ok());
    Run();
  }
  void Ask(const Puppeteer& puppet, Pid callee, int64_t number) {
    ASSERT_TRUE(puppet.ref[&Puppet::go_ask].Send({.callee = callee, .number = number}).ok());
    Run();
  }
  void Run(absl::Duration duration = absl::Milliseconds(50)) { cluster_->RunFor(duration); }
  // Sends the note when there is credit for it.
  absl::Status SendSoon(const Channel<net_testing::Note>& channel, const net_testing::Note& note) {
    absl::Status sent = channel.Send(note);
    for (int i = 0; i < 10'000 && IsFull(sent); ++i) {
      Run(absl::Milliseconds(1));
      sent = channel.Send(note);
    }
    return sent;
  }
  SimulatedCluster& cluster() { return *cluster_; }

  Visitor visitor_;  // outlives the network, as events must
  std::unique_ptr<SimulatedCluster> cluster_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_TRANSPORT_CLUSTER_TEST_H_
