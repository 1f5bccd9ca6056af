#include "understudy/tools/understudy/dot.h"

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "understudy/tools/understudy/tables.h"

namespace understudy::tool {
namespace {

// The lines as a label. In a label a backslash begins an escape and an ampersand an entity.
std::string Label(const std::vector<std::string>& lines) {
  const std::string text = absl::StrJoin(lines, "\n");
  return absl::StrCat("label=\"",
                      absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"\"", "\\\""}, {"&", "&amp;"}, {"\n", "\\n"}}), "\"");
}

// A graph whose nodes are told by keys. The text numbers the nodes, so that keys need not be written.
class Graph {
 public:
  // Adds the node, unless it is there.
  void AddNode(const std::string& key, const std::vector<std::string>& lines) {
    if (!numbers_.emplace(key, numbers_.size()).second) return;
    absl::StrAppend(&nodes_, "  n", numbers_.size() - 1, " [", Label(lines), "];\n");
  }
  // Both nodes must be there.
  void AddEdge(const std::string& from, const std::string& to, const std::string& attributes = "") {
    absl::StrAppend(&edges_, "  n", numbers_.at(from), " -> n", numbers_.at(to),
                    attributes.empty() ? "" : absl::StrCat(" [", attributes, "]"), ";\n");
  }
  std::string Text(absl::string_view name) const {
    return absl::StrCat("digraph ", name, " {\n  node [shape=box];\n", nodes_, edges_, "}\n");
  }

 private:
  std::map<std::string, size_t> numbers_;
  std::string nodes_;
  std::string edges_;
};

std::string NameOf(const proto::ActorDetails& actor) {
  return actor.names().empty() ? actor.label() : absl::StrJoin(actor.names(), ", ");
}

std::vector<std::string> WithoutEmpty(const std::vector<std::string>& lines) {
  std::vector<std::string> kept;
  for (const std::string& line : lines) {
    if (!line.empty()) kept.push_back(line);
  }
  return kept;
}

// A child that does not run has no pid.
std::string KeyOf(const proto::SupervisorDetails& supervisor, const proto::ChildDetails& child) {
  return child.pid().empty() ? absl::StrCat(supervisor.pid(), "\nchild ", child.id()) : child.pid();
}

}  // namespace

std::string TreeDot(const proto::GetTreeReply& tree) {
  Graph graph;
  // A supervisor that is a child is shown as its supervisor tells it.
  for (const proto::SupervisorDetails& supervisor : tree.supervisors()) {
    for (const proto::ChildDetails& child : supervisor.children()) {
      graph.AddNode(
          KeyOf(supervisor, child),
          WithoutEmpty({child.id(), child.pid(), absl::StrCat(child.state(), ", ", child.kind(), ", ", child.restart()),
                        child.restarts() == 0 ? "" : absl::StrCat("restarts: ", child.restarts())}));
    }
  }
  for (const proto::SupervisorDetails& supervisor : tree.supervisors()) {
    const std::string& pid = supervisor.pid();
    graph.AddNode(pid, {supervisor.names().empty() ? "supervisor" : absl::StrJoin(supervisor.names(), ", "), pid});
    for (const proto::ChildDetails& child : supervisor.children()) graph.AddEdge(pid, KeyOf(supervisor, child));
  }
  return graph.Text("tree");
}

std::string WaitsDot(const std::vector<proto::ActorDetails>& actors) {
  Graph graph;
  for (const proto::ActorDetails& actor : actors) {
    if (!actor.asks().empty()) graph.AddNode(actor.pid(), WithoutEmpty({NameOf(actor), actor.pid()}));
  }
  for (const proto::ActorDetails& actor : actors) {
    for (const std::string& callee : actor.asks()) {
      graph.AddNode(callee, {callee});
      graph.AddEdge(actor.pid(), callee, Label({DoingText(actor)}));
    }
  }
  return graph.Text("waits");
}

std::string PeersDot(const std::vector<proto::NodePeers>& nodes) {
  Graph graph;
  for (const proto::NodePeers& node : nodes) graph.AddNode(node.node(), {node.node()});
  for (const proto::NodePeers& node : nodes) {
    for (const proto::PeerDetails& peer : node.peers()) {
      graph.AddNode(peer.node(), {peer.node()});
      const std::string label =
          Label({peer.is_live() ? absl::StrCat(PeerStateText(peer), ", epoch ", peer.epoch()) : PeerStateText(peer)});
      graph.AddEdge(node.node(), peer.node(), absl::StrCat(label, peer.is_up() ? "" : ", style=dashed"));
    }
  }
  return graph.Text("peers");
}

}  // namespace understudy::tool
