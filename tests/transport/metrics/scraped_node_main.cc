// scraped_node: two nodes in one process, of which one has metrics. Prints their address, and ends when its standard
// input does.
#include <iostream>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/trace.h"
#include "understudy/supervision/builders.h"
#include "understudy/transport/metrics/metrics.h"
#include "understudy/transport/node.h"

namespace understudy {
namespace {

class Clerk final : public Actor {
 public:
  Mailbox<"file \"this\"", int> file{this};
  StartResult Start() override { return working_; }

 private:
  absl::Status File(int number) {
    return number < 0 ? Fail(absl::InternalError("the file is on fire")) : absl::OkStatus();
  }
  Behavior working_{"working", On(file, &Clerk::File)};
};

// Has lost some spans.
class LossySpans final : public SpanSink {
 public:
  void Take(const Span& /*span*/) override {}
  SpanCounts counts() const override { return {.exported = 9, .dropped_full = 2, .dropped_sent = 1}; }
};

int Main() {
  LossySpans spans;
  ActorSystem archive({.name = "archive"});
  ActorSystem desk({.name = "desk", .tracing = {.spans = &spans}});
  const absl::StatusOr<std::unique_ptr<Node>> archive_node = Node::Start(archive);
  if (!archive_node.ok()) return 2;
  const absl::StatusOr<std::unique_ptr<Node>> desk_node =
      Node::Start(desk, {.peers = {{"archive", (*archive_node)->address()}}});
  if (!desk_node.ok()) return 2;
  const absl::StatusOr<std::unique_ptr<Metrics>> metrics =
      Metrics::Start(desk, {.node = desk_node->get(), .certificate_files = {"/no/such.pem"}, .version = "1.0"});
  if (!metrics.ok()) return 2;
  const SupervisorRef root = desk.Spawn(OneForOne().Child("clerk", Of<Clerk>().RegisteredAs("clerk")));
  if (!desk.AwaitStart(root.pid(), absl::Minutes(1)).ok()) return 2;
  (*desk_node)->Ready();
  const Ref<Clerk> clerk(*desk.WhereIs("clerk"));
  for (const int number : {1, 2, -3}) clerk[&Clerk::file].Tell(number);
  std::cout << (*metrics)->address() << std::endl;
  std::string line;
  while (std::getline(std::cin, line)) {
  }
  return 0;
}

}  // namespace
}  // namespace understudy

int main() { return understudy::Main(); }
