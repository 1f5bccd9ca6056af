// Tests of the resources that a GrpcClient uses in gRPC besides calls, such as threads.

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor_system.h"
#include "understudy/tests/transport/client/plain_desk.h"
#include "understudy/tests/transport/gateway/desk.actor.h"
#include "understudy/tests/transport/gateway/desk.pb.h"
#include "understudy/transport/client/grpc_client.h"

namespace understudy {
namespace {

using ::testing::Contains;
using ::testing::Not;

std::vector<std::string> NamesOfThreads() {
  std::vector<std::string> names;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    if (std::getline(std::ifstream(thread.path() / "comm"), name)) names.push_back(name);
  }
  return names;
}

// The threads on which gRPC calls back end with the last channel that uses them. If one of them destroyed that channel,
// as when a client ends before its calls, it would wait for itself, and use the queue that it has destroyed.
TEST(GrpcClientThreadsTest, CallsUseNoThreadsForCallbacks) {
  ActorSystem system;
  const auto desk = system.Spawn<GrpcClient<desk::DeskRef>>(
      GrpcClientOptions{.target = "127.0.0.1:1", .connect_within = absl::Hours(1)});
  EXPECT_FALSE(system.Ask(desk.echo(), desk::Text(), absl::Seconds(20)).ok());
  const std::vector<std::string> names = NamesOfThreads();
  EXPECT_GT(names.size(), 1U);
  EXPECT_THAT(names, Not(Contains("nexting_thread")));
}

}  // namespace
}  // namespace understudy
