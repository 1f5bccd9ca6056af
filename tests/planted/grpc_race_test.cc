// Planted: a gRPC reaction counts without a lock. ThreadSanitizer must report it, although gRPC's frames above it are
// not instrumented and some of them are suppressed.

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/tests/build/greeting.grpc.pb.h"
#include "understudy/tests/build/greeting.pb.h"
#include "understudy/tests/build/internal/greeter.h"

namespace understudy::build_test {
namespace {

class CountingServer final : public GreeterServer {
 public:
  grpc::Status Greet(grpc::ServerContext*, const tests::build::GreetRequest*,
                     tests::build::GreetReply* reply) override {
    inside_.fetch_add(1, std::memory_order_relaxed);
    while (inside_.load(std::memory_order_relaxed) < 2) std::this_thread::yield();  // both calls are here at once
    calls_ = calls_ + 1;
    reply->set_text("counted");
    return grpc::Status::OK;
  }

 private:
  std::atomic<int> inside_ = 0;
  int calls_ = 0;
};

TEST(Planted, TwoGrpcReactionsCountWithoutALock) {
  CountingServer server;
  auto call = [&] {
    absl::StatusOr<std::string> text = Greet(server.address(), "x", absl::Seconds(10));
    EXPECT_TRUE(text.ok()) << text.status();
  };
  std::thread one(call), two(call);
  one.join();
  two.join();
}

}  // namespace
}  // namespace understudy::build_test
