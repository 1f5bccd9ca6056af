// A search that stops early, by rank: the first K ways to put N queens on an
// N x N board so that none attacks another.
//
// The boards to search wait at the master, in one mailbox for each depth. These
// mailboxes are open while a worker is idle. Deeper boards have a higher rank, so
// the search goes deep before it goes broad. A worker extends its board by one
// queen, or solves the board alone if it is deep enough, and reports in the
// mailbox with the highest rank. The first K solutions are therefore found after
// few boards, and the other boards are never given to workers. Ranks are only a
// preference: without them the result is the same, but later (`Order::kArrival`).
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
// The number of ways to complete `board`.
int64_t CountSolutions(const Board& board, int queens);

enum class Order { kRank, kArrival };

struct Search {
  int queens = 8;
  int alone_from = 4;  // one worker alone solves a board with this many queens
  int64_t enough = 1;  // the search stops after this many solutions
  int workers = 4;
  Order order = Order::kRank;
  absl::Duration board_takes;  // extra time for each board; for simulations
};

struct Found {
  int64_t solutions = 0;
  int64_t boards = 0;  // the number of boards that workers handled
};

class QueensMaster;

// A worker is idle again. `children` is the number of boards that the worker made
// from its board and sent, so the master counts them before they arrive.
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

// Sends the result to `found` once, and stops together with its workers.
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
  int64_t unfinished_ = 1;  // boards that are not handled yet; at first only the empty one
  Found so_far_;
  Behavior deepest_first_{"deepest first",
                          On(boards, &QueensMaster::Deal).When(&QueensMaster::HasIdleWorker).RankByPlace(),
                          On(idle, &QueensMaster::TakeBack).Rank(search_.alone_from + 1)};
  Behavior by_arrival_{"by arrival", On(boards, &QueensMaster::Deal).When(&QueensMaster::HasIdleWorker),
                       On(idle, &QueensMaster::TakeBack)};
};

}  // namespace understudy::patterns

#endif  // UNDERSTUDY_EXAMPLES_PATTERNS_EARLY_STOP_H_
