// N queens: the master and the workers of examples/patterns/early_stop.h, first for a tenth
// of the solutions, then for all. Solutions and deeper boards have higher ranks, so the
// first search stops before it has handled all boards.
// Oracle: the known number of solutions.
#include <algorithm>
#include <array>

#include "understudy/examples/patterns/early_stop.h"
#include "understudy/examples/savina/programs.h"

namespace understudy::savina {
namespace {

// For boards of 0 to 13 columns.
constexpr std::array<int64_t, 14> kSolutions = {1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14200, 73712};

class NQueens final : public Program {
 public:
  Mailbox<"found", patterns::Found> found{this};

  explicit NQueens(int64_t queens) : queens_(static_cast<size_t>(std::min<int64_t>(queens, kSolutions.size() - 1))) {}

  StartResult Start() override {
    Search(1 + kSolutions[queens_] / 10);
    return first_;
  }

 private:
  void Search(int64_t enough) {
    const int queens = static_cast<int>(queens_);
    const patterns::Search search{.queens = queens, .alone_from = std::min(4, queens), .enough = enough, .workers = 20};
    // A master that has found enough ends with reason Shutdown, which would end an actor that is linked to it.
    context().Spawn<patterns::QueensMaster>(SpawnOptions{.link = SpawnLink::kUnlinked}, search,
                                            context().ChannelTo(found));
  }
  Behavior CheckFirst(const patterns::Found& told) {
    if (told.solutions < kSolutions[queens_] / 10) return Done(absl::InternalError("the first search found too few"));
    Search(kSolutions[queens_] + 1);
    return all_;
  }
  Behavior CheckAll(const patterns::Found& told) {
    return Done(Checked("solutions", told.solutions, kSolutions[queens_]));
  }

  const size_t queens_;
  Behavior first_{"first solutions", On(found, &NQueens::CheckFirst)};
  Behavior all_{"all solutions", On(found, &NQueens::CheckAll)};
};

}  // namespace

std::unique_ptr<Actor> MakeNQueens(int64_t queens) { return std::make_unique<NQueens>(queens); }

}  // namespace understudy::savina
