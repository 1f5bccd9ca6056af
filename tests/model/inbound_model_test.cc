// Explores the inbound word (actors/internal/send/inbound.h): each node that is pushed is taken once or refused, in
// order, and the thread that takes a node sees its contents.
#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/internal/send/inbound.h"
#include "understudy/tests/model/expect_holds.h"
#include "understudy/tests/model/model_atomics.h"
#include "understudy/tests/model/schedules.h"
#include "understudy/tests/model/weakened.h"

namespace understudy::model {
namespace {

using internal::Inbound;
using internal::Pushed;
using ::testing::HasSubstr;

struct alignas(64) Node {
  ModelPlain<Node*> next{nullptr};
  ModelPlain<int> payload{0};
  size_t sender = 0;
  int number = 0;
};

constexpr size_t kSenders = 2;

// Two senders push `pushes` nodes each; the owner takes nodes `takes` times, then closes its inbound list.
template <class Atomics>
struct Script {
  explicit Script(int pushes_each, int takes) : pushes(pushes_each), takes(takes) {
    for (size_t sender = 0; sender < kSenders; ++sender) {
      nodes[sender] = std::vector<Node>(static_cast<size_t>(pushes));
    }
    inbound.Open();
  }
  void Send(size_t sender) {
    for (int i = 0; i < pushes; ++i) {
      Node& node = nodes[sender][static_cast<size_t>(i)];
      node.sender = sender;
      node.number = i;
      node.payload = 10 + i;
      const Pushed pushed = inbound.Push(&node, true);
      if (pushed == Pushed::kClosed) {
        node.payload = 0;  // a refused node still belongs to its sender
        ++refused[sender];
        Expect(final_words == 1, "who is told of the death sees what came before it");
      } else {
        Expect(pushed == Pushed::kPushed, "a running actor need not be scheduled");
        Expect(refused[sender] == 0, "nothing is accepted after the death");
        ++accepted[sender];
      }
    }
  }
  void Run() {
    for (int i = 0; i < takes; ++i) {
      const bool had_nodes = inbound.HasNodes();
      Node* const newest = inbound.TakeAll();
      Expect(!had_nodes || newest != nullptr, "nobody else takes");
      Account(newest);
    }
    final_words = 1;
    Account(inbound.Close());
  }
  void Account(Node* newest) {
    for (Node* node = Inbound<Node, Atomics>::Reverse(newest); node != nullptr; node = node->next) {
      Expect(node->payload == 10 + node->number, "the payload arrives with its node");
      Expect(node->number == taken[node->sender], "each sender's nodes arrive once and in order");
      ++taken[node->sender];
      node->payload = -1;  // the owner may write to the node, for example to return it to its slab
    }
  }
  void Check() const {
    for (size_t sender = 0; sender < kSenders; ++sender) {
      Expect(taken[sender] == accepted[sender], "what was accepted is taken");
      Expect(accepted[sender] + refused[sender] == pushes, "each push has an outcome");
    }
    Expect(!inbound.IsLive() && !inbound.HasNodes(), "dead, and empty");
  }

  const int pushes, takes;
  Inbound<Node, Atomics> inbound;
  std::array<std::vector<Node>, kSenders> nodes;
  ModelPlain<int> final_words{0};
  std::array<int, kSenders> accepted = {}, refused = {}, taken = {};
};

template <class Atomics>
Outcome ExploreScript(const Bounds& bounds, int pushes, int takes) {
  return Explore(bounds, [=](Program& program) {
    auto script = std::make_shared<Script<Atomics>>(pushes, takes);
    program.Name(script->inbound, "inbound");
    program.Name(script->final_words, "final words");
    for (size_t sender = 0; sender < kSenders; ++sender) {
      for (size_t i = 0; i < script->nodes[sender].size(); ++i) {
        const std::string name = "node " + std::to_string(sender) + std::to_string(i);
        program.Name(script->nodes[sender][i].payload, name + ".payload");
        program.Name(script->nodes[sender][i], name);
      }
    }
    program.Thread("sender 0", [script] { script->Send(0); });
    program.Thread("sender 1", [script] { script->Send(1); });
    program.Thread("owner", [script] { script->Run(); });
    program.AtEnd([script] { script->Check(); });
  });
}

TEST(InboundModelTest, EveryNodeIsTakenOnceInOrderOrRefused) {
  const Outcome outcome = ExploreScript<ModelAtomics>({}, 2, 1);
  ExpectHolds(outcome, 1'000'000);
}

TEST(InboundModelTest, AlsoWithMoreNodesAndAtMostThreePreemptions) {
  const Outcome outcome = ExploreScript<ModelAtomics>({.preemptions_max = 3, .old_reads_max = 1}, 3, 2);
  ExpectHolds(outcome, 50'000);
}

TEST(InboundModelTest, RelaxedWhereReleaseIsNeededIsFound) {
  EXPECT_THAT((ExploreScript<WithoutRelease>({}, 1, 1).failure), HasSubstr("race: owner reads"));
}

TEST(InboundModelTest, RelaxedWhereAcquireIsNeededIsFound) {
  EXPECT_THAT((ExploreScript<WithoutAcquire>({}, 1, 1).failure), HasSubstr("race: "));
}

}  // namespace
}  // namespace understudy::model
