// Unbalanced cobwebbed tree: each node asks the root how many children it may have, and
// starts them, until the tree has so many nodes. Then every node works: half of them are
// told in a mailbox of higher rank that it is urgent. The counts come back up the tree.
// Oracle: the nodes that have worked are those that the root has granted.
#include <algorithm>

#include "understudy/actors/channel.h"
#include "understudy/examples/savina/programs.h"

namespace understudy::savina {
namespace {

constexpr int64_t kChildrenMax = 10;
constexpr int kWorkSteps = 500;

struct Grow {};
using GrowChannel = Channel<Call<Grow, int64_t>>;

class Node final : public Actor {
 public:
  Mailbox<"urgent", int> urgent{this};
  Mailbox<"regular", int> regular{this};
  Mailbox<"below", int64_t> below{this};  // a child's subtree has so many nodes

  Node(GrowChannel root, Channel<int64_t> parent) : root_(root), parent_(parent) {}
  StartResult Start() override { return Grow(); }

 private:
  Task<StartResult> Grow() {
    auto asked = root_.Ask({}, kPatience);
    absl::StatusOr<int64_t> children = co_await asked;
    if (!children.ok()) co_return children.status();
    for (children_left_ = 0; children_left_ < *children; ++children_left_) {
      const Ref<Node> child = context().Spawn<Node>(root_, context().ChannelTo(below));
      (children_left_ % 2 == 0 ? child[&Node::urgent] : child[&Node::regular]).Tell(kWorkSteps);
    }
    co_return growing_;
  }
  void Work(int steps) {
    for (int i = 0; i < steps; ++i) waste_ += i % 7;
    has_worked_ = true;
    ReportWhenDone();
  }
  void Add(int64_t nodes) {
    nodes_ += nodes;
    --children_left_;
    ReportWhenDone();
  }
  void ReportWhenDone() {
    if (!has_worked_ || children_left_ > 0) return;
    parent_.Tell(nodes_);
    context().Stop();
  }

  const GrowChannel root_;
  const Channel<int64_t> parent_;
  int64_t children_left_ = 0;
  int64_t nodes_ = 1;
  int64_t waste_ = 0;
  bool has_worked_ = false;
  Behavior growing_{"growing", On(urgent, &Node::Work).Rank(1), On(regular, &Node::Work), On(below, &Node::Add)};
};

class Tree final : public Program {
 public:
  Mailbox<"grow", Call<Grow, int64_t>> grow;  // the answer is the number of children
  Mailbox<"below", int64_t> below{this};

  explicit Tree(int64_t nodes) : grow(this, {.capacity_messages = nodes}), nodes_(nodes) {}

  StartResult Start() override {
    const Ref<Node> top = context().Spawn<Node>(Ref<Tree>(context().Self())[&Tree::grow], context().ChannelTo(below));
    top[&Node::regular].Tell(kWorkSteps);
    return growing_;
  }

 private:
  // Each node has at least one child while no other is asking, so that the tree does not end too early.
  int64_t Grant(const Grow& /*request*/) {
    const int64_t wanted = 1 + random_.Below(kChildrenMax);
    const int64_t granted = std::min(wanted, nodes_ - granted_);
    granted_ += granted;
    return granted;
  }
  Behavior Finish(int64_t nodes) { return Done(Checked("nodes", nodes, nodes_)); }

  const int64_t nodes_;
  int64_t granted_ = 1;
  Random random_;
  Behavior growing_{"growing", On(grow, &Tree::Grant), On(below, &Tree::Finish)};
};

}  // namespace

std::unique_ptr<Actor> MakeUnbalancedTree(int64_t nodes) { return std::make_unique<Tree>(nodes); }

}  // namespace understudy::savina
