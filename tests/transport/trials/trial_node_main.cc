// A node for trials, in a process of its own, with a Tally that is published as NAME/tally.
//
//   trial_node NAME LISTEN [KEY=VALUE…]
//
// LISTEN may be empty. KEY is advertise, certificates (a folder of tools/make_certs), peer (NAME@ADDRESS), silence_ms
// or grace_ms. The process writes to descriptor 3 its address, and then a line for each change of a peer.
#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/actor_system.h"
#include "understudy/tests/transport/trials/tally_actor.h"
#include "understudy/tests/transport/trials/trial_times.h"
#include "understudy/transport/core/node_core.h"
#include "understudy/transport/credentials.h"
#include "understudy/transport/node.h"
#include "understudy/transport/node_status.h"

namespace understudy::net_testing {
namespace {

int Complain(absl::string_view what) {
  fprintf(stderr, "trial_node: %s\n", std::string(what).c_str());
  return 70;
}

void Say(absl::string_view line) {
  const std::string text = absl::StrCat(line, "\n");
  (void)!write(3, text.data(), text.size());
}

// Returns the node's counters, one on each line: "forged 3", or for a peer "guest claims_refused 7".
std::string StatusOf(const Node& node) {
  const NodeCounters counters = node.counters();
  std::string text = absl::StrCat("forged ", counters.forged, "\nlate ", counters.late, "\n");
  for (const PeerStatus& peer : node.Peers()) {
    absl::StrAppend(&text, peer.node, " claims_refused ", peer.claims_refused, "\n", peer.node, " waiting ",
                    peer.ledger.waiting, "\n");
  }
  return text;
}

int Run(int argc, char** argv) {
  if (argc < 3) return Complain("usage: trial_node NAME LISTEN [KEY=VALUE…]");
  // Blocks SIGTERM, so that a signal that comes before RunUntilSignal is not lost.
  sigset_t stops;
  sigemptyset(&stops);
  sigaddset(&stops, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &stops, nullptr);
  const std::string name = argv[1];
  NodeOptions options = {.listen = argv[2]};
  int64_t silence_ms = 1000;
  int64_t grace_ms = 1000;
  for (int i = 3; i < argc; ++i) {
    const std::pair<std::string, std::string> option = absl::StrSplit(argv[i], absl::MaxSplits('=', 1));
    const auto& [key, value] = option;
    if (key == "advertise") {
      options.advertise = value;
    } else if (key == "peer") {
      const std::pair<std::string, std::string> peer = absl::StrSplit(value, absl::MaxSplits('@', 1));
      options.peers.insert(peer);
    } else if (key == "certificates") {
      options.credentials = Credentials::Tls({.certificate_file = absl::StrCat(value, "/", name, ".pem"),
                                              .key_file = absl::StrCat(value, "/", name, ".key"),
                                              .ca_file = absl::StrCat(value, "/ca.pem")});
    } else if (!(key == "silence_ms" && absl::SimpleAtoi(value, &silence_ms)) &&
               !(key == "grace_ms" && absl::SimpleAtoi(value, &grace_ms))) {
      return Complain(absl::StrCat("bad option ", argv[i]));
    }
  }
  options.times = TrialTimes(absl::Milliseconds(silence_ms), absl::Milliseconds(grace_ms));
  options.on_peer = [](const PeerEvent& event) { Say(event.ToString()); };
  ActorSystem system({.name = name});
  absl::StatusOr<std::unique_ptr<Node>> node = Node::Start(system, std::move(options));
  if (!node.ok()) return Complain(node.status().ToString());
  const TallyRef tally = system.Spawn<Tally>(SpawnOptions{.published_as = absl::StrCat(name, "/tally")},
                                             [of = node->get()] { return StatusOf(*of); });
  Say((*node)->address());
  return (*node)->RunUntilSignal(tally.pid());
}

}  // namespace
}  // namespace understudy::net_testing

int main(int argc, char** argv) { return understudy::net_testing::Run(argc, argv); }
