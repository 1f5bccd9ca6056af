// A* search: 20 workers have the nodes of a cubic grid between them, and search it from one
// corner to the opposite one. A node to visit goes to its owner, into a mailbox whose rank
// is the higher the nearer the node is to the target, so the search goes straight there.
// Nothing is shared: an owner alone knows from where each of its nodes was reached.
// Oracle: from the target the way leads back to the origin, each step to a neighbour.
#include <algorithm>
#include <cstdlib>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "understudy/actors/channel.h"
#include "understudy/examples/savina/programs.h"

namespace understudy::savina {
namespace {

constexpr int64_t kWorkers = 20;
constexpr int64_t kRanks = 30;

struct Grid {
  int64_t width = 0;
  int64_t target() const { return width * width * width - 1; }
  int64_t Coordinate(int64_t node, int axis) const {
    return (axis == 0 ? node : axis == 1 ? node / width : node / width / width) % width;
  }
  int64_t Distance(int64_t a, int64_t b) const {
    int64_t distance = 0;
    for (int axis = 0; axis < 3; ++axis) distance += std::abs(Coordinate(a, axis) - Coordinate(b, axis));
    return distance;
  }
  int64_t RankOf(int64_t node) const {
    return kRanks - 1 - Distance(node, target()) * (kRanks - 1) / std::max<int64_t>(1, 3 * (width - 1));
  }
};

struct Visit {
  int64_t node = 0;
  int64_t from = 0;
};
// A channel for each rank of each worker.
using Routes = std::vector<std::vector<Channel<Visit>>>;

class Worker final : public Actor {
 public:
  Mailbox<"routes", std::shared_ptr<const Routes>> routes{this};
  MailboxArray<"visit", Visit> visit{this, kRanks, {.capacity_messages = 100'000}};
  Mailbox<"origin_of", Call<int64_t, int64_t>> origin_of{this};  // from where that node was reached

  Worker(Grid grid, Channel<int64_t> found) : grid_(grid), found_(found) {}
  StartResult Start() override { return waiting_; }

 private:
  Behavior Begin(std::shared_ptr<const Routes> given) {
    routes_ = std::move(given);
    return searching_;
  }
  void Search(const Visit& at) {
    if (!from_.emplace(at.node, at.from).second) return;
    if (at.node == grid_.target()) return found_.Tell(at.node);
    for (const int64_t stride : {int64_t{1}, grid_.width, grid_.width * grid_.width}) {
      for (const int64_t next : {at.node - stride, at.node + stride}) {
        if (next < 0 || next > grid_.target() || grid_.Distance(at.node, next) != 1) continue;
        (*routes_)[static_cast<size_t>(next % kWorkers)][static_cast<size_t>(grid_.RankOf(next))].Tell({next, at.node});
      }
    }
  }
  int64_t OriginOf(int64_t node) { return from_[node]; }

  const Grid grid_;
  const Channel<int64_t> found_;
  std::shared_ptr<const Routes> routes_;
  std::unordered_map<int64_t, int64_t> from_;
  Behavior waiting_{"waiting", On(routes, &Worker::Begin)};
  Behavior searching_{"searching", On(visit, &Worker::Search).RankByPlace(),
                      On(origin_of, &Worker::OriginOf).Rank(kRanks)};
};

class GuidedSearch final : public Program {
 public:
  Mailbox<"found", int64_t> found{this};

  explicit GuidedSearch(int64_t width) : grid_{width} {}

  StartResult Start() override {
    auto routes = std::make_shared<Routes>();
    for (int64_t i = 0; i < kWorkers; ++i) {
      workers_.push_back(context().Spawn<Worker>(grid_, context().ChannelTo(found)));
      routes->emplace_back();
      for (int64_t rank = 0; rank < kRanks; ++rank) {
        routes->back().push_back(workers_.back().At(&Worker::visit, rank));
      }
    }
    for (const Ref<Worker>& worker : workers_) worker[&Worker::routes].Tell(routes);
    workers_[0].At(&Worker::visit, grid_.RankOf(0)).Tell({0, 0});
    return searching_;
  }

 private:
  Task<Behavior> WalkBack(int64_t node) {
    int64_t steps = 0;
    for (; node != 0; ++steps) {
      auto asked = workers_[static_cast<size_t>(node % kWorkers)][&Worker::origin_of].Ask(node, kPatience);
      absl::StatusOr<int64_t> from = co_await asked;
      if (!from.ok()) co_return Fail(from.status());
      if (grid_.Distance(node, *from) != 1) co_return Done(absl::InternalError("a step leads not to a neighbour"));
      node = *from;
    }
    co_return Done(Checked(absl::StrCat("path of ", steps, " steps"), steps >= grid_.Distance(0, grid_.target())));
  }

  const Grid grid_;
  std::vector<Ref<Worker>> workers_;
  Behavior searching_{"searching", On(found, &GuidedSearch::WalkBack)};
};

}  // namespace

std::unique_ptr<Actor> MakeGuidedSearch(int64_t width) { return std::make_unique<GuidedSearch>(width); }

}  // namespace understudy::savina
