#include "understudy/tools/understudy/cluster.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <ostream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "understudy/actors/printable_text.h"
#include "understudy/proto/ops.grpc.pb.h"
#include "understudy/proto/ops.pb.h"
#include "understudy/tools/understudy/arguments.h"
#include "understudy/tools/understudy/dot.h"
#include "understudy/tools/understudy/ops_channel.h"
#include "understudy/tools/understudy/tables.h"
#include "understudy/tools/understudy/tree_pages.h"

namespace understudy::tool {
namespace {

using Stub = proto::Ops::Stub;

constexpr std::chrono::seconds kAnswersWithin{5};

// The answers of all nodes, put together.
struct Answers {
  proto::GetTreeReply tree;
  std::vector<proto::ActorDetails> actors;
  std::vector<proto::NodePeers> peers;
  proto::ListNamesReply names;
};

absl::Status AddTree(OpsChannel& node, Answers& all) {
  absl::StatusOr<proto::GetTreeReply> tree =
      AllTreePages({}, [&node](const auto& request) { return node.Ask(&Stub::GetTree, request, kAnswersWithin); });
  if (!tree.ok()) return tree.status();
  if (all.tree.clock_nanos() != 0) MoveClock(all.tree.clock_nanos(), *tree);
  all.tree.MergeFrom(*tree);
  return absl::OkStatus();
}

absl::Status AddTop(OpsChannel& node, Answers& all, proto::TopOrder by) {
  proto::TopActorsRequest request;
  request.set_at_most(kTopActors);
  request.set_by(by);
  const absl::StatusOr<proto::ListActorsReply> top = node.Ask(&Stub::TopActors, request, kAnswersWithin);
  if (!top.ok()) return top.status();
  all.actors.insert(all.actors.end(), top->actors().begin(), top->actors().end());
  return absl::OkStatus();
}

// All actors that `request` asks for.
absl::Status AddActors(OpsChannel& node, Answers& all, proto::ListActorsRequest request = {}) {
  const absl::StatusOr<std::vector<proto::ActorDetails>> actors = AllActorPages(
      std::move(request),
      [&node](const proto::ListActorsRequest& page) { return node.Ask(&Stub::ListActors, page, kAnswersWithin); });
  if (actors.ok()) all.actors.insert(all.actors.end(), actors->begin(), actors->end());
  return actors.status();
}

absl::Status AddPeers(OpsChannel& node, Answers& all) {
  absl::StatusOr<proto::NodePeers> peers = ReadNodePeers(node, kAnswersWithin);
  if (peers.ok()) all.peers.push_back(*std::move(peers));
  return peers.status();
}

// Adds the actors that wait for answers.
absl::Status AddWaits(OpsChannel& node, Answers& all) {
  proto::ListActorsRequest request;
  request.set_asking_only(true);
  return AddActors(node, all, request);
}

absl::Status AddNames(OpsChannel& node, Answers& all) {
  const absl::StatusOr<proto::ListNamesReply> names =
      AllNamePages("", [&node](const auto& page) { return node.Ask(&Stub::ListNames, page, kAnswersWithin); });
  if (names.ok()) all.names.MergeFrom(*names);
  return names.status();
}

// Keeps each name once for each of its owners.
void KeepDistinct(proto::ListNamesReply& names) {
  using Key = std::tuple<const std::string&, bool, const std::string&, const std::string&>;
  const auto key = [](const proto::NameDetails& name) {
    return Key(name.name(), name.is_of_cluster(), name.pid(), name.kept_by());
  };
  std::sort(names.mutable_names()->begin(), names.mutable_names()->end(),
            [&](const auto& a, const auto& b) { return key(a) < key(b); });
  const auto end = std::unique(names.mutable_names()->begin(), names.mutable_names()->end(),
                               [&](const auto& a, const auto& b) { return key(a) == key(b); });
  names.mutable_names()->erase(end, names.mutable_names()->end());
}

// Keeps the first actors in the order of TopActors.
void KeepTop(proto::TopOrder by, std::vector<proto::ActorDetails>& actors) {
  const auto stuck_for = [](const proto::ActorDetails& actor) {
    return actor.state() == proto::STUCK ? actor.doing_for_nanos() : 0;
  };
  std::sort(actors.begin(), actors.end(), [&](const proto::ActorDetails& a, const proto::ActorDetails& b) {
    const auto first_by = [&](const proto::ActorDetails& actor) {
      return by == proto::BY_AGE             ? actor.oldest_age_nanos()
             : by == proto::BY_WAITING_BYTES ? actor.waiting_bytes()
                                             : stuck_for(actor);
    };
    return std::tuple(first_by(b), b.waiting(), a.pid()) < std::tuple(first_by(a), a.waiting(), b.pid());
  });
  if (actors.size() > kTopActors) actors.resize(kTopActors);
}

void Write(const Arguments& arguments, const Answers& all, std::ostream& out) {
  const std::string& what = arguments.operands[0];
  if (arguments.dot) {
    out << (what == "tree" ? TreeDot(all.tree) : what == "waits" ? WaitsDot(all.actors) : PeersDot(all.peers));
    return;
  }
  if (!arguments.json) {
    out << (what == "tree"    ? FormatTree(all.tree)
            : what == "peers" ? FormatNodePeers(all.peers)
            : what == "waits" ? FormatWaits(all.actors)
            : what == "names" ? FormatNames(all.names)
                              : FormatActors(all.actors));
    return;
  }
  if (what == "tree") out << FormatJson(all.tree);
  if (what == "names") out << FormatJson(all.names);
  for (const proto::ActorDetails& actor : all.actors) out << FormatJson(actor);
  for (const proto::NodePeers& node : all.peers) out << FormatJson(node);
}

}  // namespace

absl::StatusOr<proto::NodePeers> ReadNodePeers(OpsChannel& node, std::chrono::milliseconds within) {
  const absl::StatusOr<proto::NodeDetails> details = node.Ask(&Stub::GetNode, proto::GetNodeRequest(), within);
  if (!details.ok()) return details.status();
  absl::StatusOr<proto::ListPeersReply> peers = node.Ask(&Stub::ListPeers, proto::ListPeersRequest(), within);
  if (!peers.ok()) return peers.status();
  proto::NodePeers read;
  read.set_node(details->name());
  read.mutable_peers()->Swap(peers->mutable_peers());
  return read;
}

absl::Status RunCluster(const Arguments& arguments, const Terminal& terminal) {
  const std::string& what = arguments.operands[0];
  const proto::TopOrder by = arguments.by == "age"             ? proto::BY_AGE
                             : arguments.by == "waiting-bytes" ? proto::BY_WAITING_BYTES
                                                               : proto::BY_WAITING;
  const std::map<std::string, std::function<absl::Status(OpsChannel&, Answers&)>> shown = {
      {"tree", &AddTree},
      {"top", [by](OpsChannel& node, Answers& all) { return AddTop(node, all, by); }},
      {"ps", [](OpsChannel& node, Answers& all) { return AddActors(node, all); }},
      {"waits", &AddWaits},
      {"peers", &AddPeers},
      {"names", &AddNames}};
  const auto& add = shown.at(what);
  Answers all;
  size_t failed = 0;
  for (size_t i = 1; i < arguments.operands.size(); ++i) {
    const OpsTarget target{.address = arguments.operands[i], .tls = arguments.tls};
    absl::Status added = CheckTarget(target);
    if (added.ok()) {
      OpsChannel node(target);
      added = add(node, all);
    }
    if (added.ok()) continue;
    ++failed;
    terminal.prompt << PrintableText(target.address, Backslashes::kKeep) << ": "
                    << PrintableText(added.message(), Backslashes::kKeep) << "\n";
  }
  if (what == "top") KeepTop(by, all.actors);
  if (what == "names") KeepDistinct(all.names);
  Write(arguments, all, terminal.out);
  if (failed == 0) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat(failed, " of ", arguments.operands.size() - 1, " nodes did not answer, and are not shown"));
}

}  // namespace understudy::tool
