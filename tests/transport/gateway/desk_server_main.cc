// Serves a desk by a gateway: prints the gateway's address, and ends when its standard input does. Prints "waits" when
// the first call of Wait has reached the desk, and then "cancelled" when a call is cancelled there.
//
// On SIGTERM it drains as a program with a node does: the gateway first, then the tree.
#include <cstdio>
#include <iostream>
#include <memory>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "understudy/actors/actor_system.h"
#include "understudy/supervision/builders.h"
#include "understudy/tests/transport/gateway/desk.actor.h"
#include "understudy/tests/transport/gateway/desk.h"
#include "understudy/transport/gateway/exported_service.h"
#include "understudy/transport/gateway/gateway.h"
#include "understudy/transport/node.h"

int main() {
  using namespace understudy;
  static DeskEvents& events = *new DeskEvents;  // never freed: threads wait for them
  ActorSystem system({.name = "desk"});
  absl::StatusOr<std::unique_ptr<Node>> node = Node::Start(system);
  if (!node.ok()) return 2;
  absl::StatusOr<std::unique_ptr<Gateway>> gateway =
      Gateway::Start(system, {.exports = {Export<desk::DeskRef>("desk")}, .node = node->get()});
  if (!gateway.ok()) return 2;
  std::cout << (*gateway)->addresses()[0] << std::endl;
  std::thread input([&] {
    while (std::getchar() != EOF) {
    }
    (*node)->RequestStop();
  });
  input.detach();
  std::thread told([] {
    events.waits.WaitForNotification();
    std::cout << "waits" << std::endl;
    events.cancelled.WaitForNotification();
    std::cout << "cancelled" << std::endl;
  });
  told.detach();
  return (*node)->RunTree(OneForOne().Child(
      "desk", Of<DeskKeeper>(&events).RegisteredAs("desk").Backoff({.min = absl::Hours(1), .max = absl::Hours(1)})));
}
