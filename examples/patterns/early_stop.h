// A search that stops early, by rank: the first K ways to put N queens on an
// N x N board so that none attacks another.
//
// The boards to look at wait with the master, in a mailbox for each depth, which
// are open while a worker is idle. The deeper have the higher rank: that turns
// the search from broad to deep. A worker extends its board by one queen, or
// solves it alone when it is deep enough, and says so in the mailbox of the
// highest rank. So the first K solutions are found when few boards have been
// looked at, and the rest is never dealt out. Ranks are a preference; nothing is
// wrong without them, only slow (`Order::kArrival`, to compare).
#ifndef UNDERSTUDY_EXAMPLES_PATTERNS_EARLY_STOP_H_
#define UNDERSTUDY_EXAMPLES_PATTERNS_EARLY_STOP_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/channel.h"

namespace understudy::patterns {

// The columns of the queens in the first rows.
using Board = std::vector<int>;

bool IsSafe(const Board& board, int column);
// The ways to complete `board`.
int64_t CountSolutions(const Board& board, int queens);

enum class Order { kRank, kArrival };

struct Search {
  int queens = 8;
  int alone_from = 4;  // queens on a board that one worker solves
  int64_t enough = 1;  // solutions
  int workers = 4;
  Order order = Order::kRank;
  absl::Duration board_takes;  // more than it takes anyway; for simulations
};

struct Found {
  int64_t solutions = 0;
  int64_t boards = 0;  // that workers handled
};

class QueensMaster;

// A worker is idle again. It says how many children its board had: so it does
// not matter whether they are here yet.
struct WorkerIdle {
  size_t worker = 0;
  int64_t solutions = 0;
  int64_t children = 0;
};

class QueensWorker final : public Actor {
 public:
  Mailbox<"board", Board> board{this};

  QueensWorker(Search search, Ref<QueensMaster> master, size_t number)
      : search_(search), master_(master), number_(number) {}
  StartResult Start() override { return idle_; }

 private:
  Behavior Extend(const Board& given);
  Behavior Report();

  Search search_;
  Ref<QueensMaster> master_;
  size_t number_;
  WorkerIdle done_;
  std::vector<Board> children_;
  Behavior idle_{"idle", On(board, &QueensWorker::Extend)};
  Behavior working_{"working", After(search_.board_takes, &QueensWorker::Report)};
};

// Tells `found` once, and stops with its workers.
class QueensMaster final : public Actor {
 public:
  MailboxArray<"board", Board> boards;  // by depth
  Mailbox<"idle", WorkerIdle> idle{this};

  QueensMaster(Search search, Channel<Found> found)
      : boards(this, search.alone_from + 1, {.capacity_messages = 100'000}), search_(search), found_(found) {}
  StartResult Start() override;

 private:
  bool HasIdleWorker() const { return !idle_workers_.empty(); }
  void Deal(Board board);
  void TakeBack(const WorkerIdle& worker);

  Search search_;
  Channel<Found> found_;
  std::vector<Ref<QueensWorker>> workers_;
  std::vector<size_t> idle_workers_;
  int64_t unfinished_ = 1;  // boards, the empty one first
  Found so_far_;
  Behavior deepest_first_{"deepest first",
                          On(boards, &QueensMaster::Deal).When(&QueensMaster::HasIdleWorker).RankByPlace(),
                          On(idle, &QueensMaster::TakeBack).Rank(search_.alone_from + 1)};
  Behavior by_arrival_{"by arrival", On(boards, &QueensMaster::Deal).When(&QueensMaster::HasIdleWorker),
                       On(idle, &QueensMaster::TakeBack)};
};

}  // namespace understudy::patterns

#endif  // UNDERSTUDY_EXAMPLES_PATTERNS_EARLY_STOP_H_
