#include "understudy/examples/patterns/early_stop.h"

#include <cstdlib>
#include <utility>

namespace understudy::patterns {

bool IsSafe(const Board& board, int column) {
  const int row = static_cast<int>(board.size());
  for (int above = 0; above < row; ++above) {
    const int other = board[static_cast<size_t>(above)];
    if (other == column || std::abs(other - column) == row - above) return false;
  }
  return true;
}

int64_t CountSolutions(const Board& board, int queens) {
  if (static_cast<int>(board.size()) == queens) return 1;
  int64_t solutions = 0;
  Board child = board;
  for (int column = 0; column < queens; ++column) {
    if (!IsSafe(board, column)) continue;
    child.push_back(column);
    solutions += CountSolutions(child, queens);
    child.pop_back();
  }
  return solutions;
}

Behavior QueensWorker::Extend(const Board& given) {
  done_ = {.worker = number_};
  if (static_cast<int>(given.size()) >= search_.alone_from) {
    done_.solutions = CountSolutions(given, search_.queens);
    return working_;
  }
  for (int column = 0; column < search_.queens; ++column) {
    if (!IsSafe(given, column)) continue;
    children_.push_back(given);
    children_.back().push_back(column);
  }
  done_.children = static_cast<int64_t>(children_.size());
  return working_;
}

Behavior QueensWorker::Report() {
  for (Board& child : children_) master_.At(&QueensMaster::boards, child.size()).Tell(std::move(child));
  children_.clear();
  master_[&QueensMaster::idle].Tell(done_);
  return idle_;
}

StartResult QueensMaster::Start() {
  const Ref<QueensMaster> self(context().Self());
  for (int i = 0; i < search_.workers; ++i) {
    idle_workers_.push_back(workers_.size());
    workers_.push_back(context().Spawn<QueensWorker>(search_, self, workers_.size()));
  }
  self.At(&QueensMaster::boards, 0).Tell(Board());
  return search_.order == Order::kRank ? deepest_first_ : by_arrival_;
}

void QueensMaster::Deal(Board board) {
  workers_[idle_workers_.back()][&QueensWorker::board].Tell(std::move(board));
  idle_workers_.pop_back();
}

void QueensMaster::TakeBack(const WorkerIdle& worker) {
  idle_workers_.push_back(worker.worker);
  ++so_far_.boards;
  so_far_.solutions += worker.solutions;
  unfinished_ += worker.children - 1;
  if (so_far_.solutions < search_.enough && unfinished_ > 0) return;
  found_.Tell(so_far_);
  // Also ends the workers, which are linked to this actor. Boards that still wait are dropped.
  context().Stop(ExitReason::Shutdown());
}

}  // namespace understudy::patterns
