// A test that a customer's order is one trace of three processes: the customer (this test), the shop and the stock. The
// collector runs in this test, too.
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/status.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/trace_scope.h"
#include "understudy/examples/shop/shop.grpc.pb.h"
#include "understudy/examples/shop/shop.pb.h"
#include "understudy/tests/transport/tracing/test_collector.h"
#include "understudy/transport/tracing/otlp_exporter.h"

extern char** environ;

namespace understudy {
namespace {

using Spans = TestCollector::Spans;

// The shop as a process of its own, which starts the process of the stock.
class ShopProcess {
 public:
  explicit ShopProcess(const std::string& collector) {
    std::array<int, 2> pipe_ends{};
    EXPECT_EQ(pipe(pipe_ends.data()), 0);
    const std::string folder = absl::StrCat(std::getenv("TEST_SRCDIR"), "/", std::getenv("TEST_WORKSPACE"));
    std::vector<std::string> arguments = {absl::StrCat(folder, "/examples/shop/shop_node"),
                                          absl::StrCat("--journal=", std::getenv("TEST_TMPDIR"), "/journal"),
                                          absl::StrCat("--traces=", collector)};
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, pipe_ends[0]);
    EXPECT_EQ(posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(pipe_ends[1]);
    char next = 0;
    while (read(pipe_ends[0], &next, 1) == 1 && next != '\n') address_ += next;
    close(pipe_ends[0]);
  }
  // Lets the shop drain, and returns its exit code.
  int Stop() {
    kill(pid_, SIGTERM);
    int status = 0;
    waitpid(pid_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  const std::string& address() const { return address_; }

 private:
  pid_t pid_ = 0;
  std::string address_;
};

// Repeats the call until the shop has started and the call has a known outcome.
grpc::Status Place(shop::Shop::Stub& stub, const std::string& traceparent) {
  shop::PlaceRequest request;
  request.set_order("traced-1");
  request.set_sku("sku-1");
  request.set_items(1);
  grpc::Status status;
  do {
    grpc::ClientContext context;
    context.AddMetadata("traceparent", traceparent);
    shop::OrderStatus reply;
    status = stub.Place(&context, request, &reply);
  } while (status.error_code() == grpc::StatusCode::UNAVAILABLE);
  return status;
}

bool Has(const Spans& spans, absl::string_view service, absl::string_view name) {
  return std::any_of(spans.begin(), spans.end(), [&](const TestCollector::Received& received) {
    return received.service == service && received.span.name() == name;
  });
}

// Returns the names of the spans from the first span of the trace to the given one.
std::vector<std::string> Path(const Spans& spans, absl::string_view service, absl::string_view name) {
  std::map<std::string, const TestCollector::Received*> by_id;
  const TestCollector::Received* at = nullptr;
  for (const TestCollector::Received& received : spans) {
    by_id[received.span.span_id()] = &received;
    if (received.service == service && received.span.name() == name) at = &received;
  }
  std::vector<std::string> path;
  while (at != nullptr) {
    path.push_back(absl::StrCat(at->service, ": ", at->span.name()));
    const auto parent = by_id.find(at->span.parent_span_id());
    at = parent == by_id.end() ? nullptr : parent->second;
  }
  std::reverse(path.begin(), path.end());
  return path;
}

TEST(ShopTraceTest, AnOrderIsOneTraceOfCustomerShopAndStock) {
  TestCollector collector;
  absl::StatusOr<std::unique_ptr<OtlpExporter>> exporter =
      OtlpExporter::Start({.collector = collector.address(), .service = "customer"});
  ASSERT_TRUE(exporter.ok()) << exporter.status();
  ActorSystem customer({.name = "customer", .tracing = {.spans = exporter->get(), .sampled_ratio = 1}});
  ShopProcess process(collector.address());
  ASSERT_NE(process.address(), "");
  const auto stub = shop::Shop::NewStub(grpc::CreateChannel(process.address(), grpc::InsecureChannelCredentials()));
  {
    TraceScope buying(customer, "buy");
    const grpc::Status placed = Place(*stub, buying.context().ToTraceParent());
    EXPECT_TRUE(placed.ok()) << placed.error_message();
  }
  EXPECT_TRUE(collector.Await([](const Spans& spans) {
    return Has(spans, "customer", "buy") && Has(spans, "shop", "shop.Shop/Place") &&
           Has(spans, "shop", "handle shop.Order/Place") && Has(spans, "shop", "call shop.Item/Reserve") &&
           Has(spans, "inventory", "wait shop.Item/Reserve") && Has(spans, "inventory", "handle shop.Item/Reserve");
  }));
  EXPECT_EQ(process.Stop(), 0);

  Spans spans = collector.spans();
  const auto buy = std::find_if(spans.begin(), spans.end(), [](const auto& of) { return of.span.name() == "buy"; });
  ASSERT_NE(buy, spans.end());
  const std::string trace = buy->span.trace_id();
  // The shop has begun no trace of its own, because each call of the customer names the trace that it belongs to.
  for (const TestCollector::Received& received : spans) EXPECT_EQ(received.span.trace_id(), trace);
  EXPECT_EQ(Path(spans, "inventory", "handle shop.Item/Reserve"),
            (std::vector<std::string>{"customer: buy", "shop: shop.Shop/Place", "shop: call shop.Shop/Place",
                                      "shop: handle shop.Shop/Place", "shop: call shop.Order/Place",
                                      "shop: handle shop.Order/Place", "shop: call shop.Item/Reserve",
                                      "inventory: handle shop.Item/Reserve"}));
}

}  // namespace
}  // namespace understudy
