// All-pairs shortest paths: 36 actors have a block of the matrix of distances each. At step k every actor needs its
// parts of row k and of column k, from the actors that have them. A predicate on the message makes parts for a later
// step, which a faster actor sends, wait.
// Oracle: Floyd's algorithm in one loop gives the same distances.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "understudy/examples/savina/programs.h"

namespace understudy::savina {
namespace {

constexpr size_t kBlocks = 6;  // in each direction

struct Range {
  size_t begin = 0;
  size_t end = 0;
  bool Has(size_t index) const { return begin <= index && index < end; }
};
using Matrix = std::vector<std::vector<int64_t>>;
struct Segment {
  size_t step = 0;
  std::shared_ptr<const std::vector<int64_t>> lengths;
};
// The actors that need this one's parts of a row or column.
struct Mates {
  std::vector<Channel<Segment>> rows, columns;
};
struct Part {
  Range rows, columns;
  Matrix lengths;
};

class Block final : public Actor {
 public:
  Mailbox<"meet", Mates> meet{this};
  Mailbox<"row", Segment> row{this};
  Mailbox<"column", Segment> column{this};

  Block(size_t steps, Part part, Channel<Part> solved) : steps_(steps), part_(std::move(part)), solved_(solved) {}
  StartResult Start() override { return alone_; }

 private:
  Behavior Meet(Mates mates) {
    mates_ = std::move(mates);
    Announce();
    return working_;
  }
  void Announce() {
    if (part_.rows.Has(step_)) Send(mates_.rows, part_.lengths[step_ - part_.rows.begin]);
    if (part_.columns.Has(step_)) {
      std::vector<int64_t> lengths;
      for (const std::vector<int64_t>& each : part_.lengths) lengths.push_back(each[step_ - part_.columns.begin]);
      Send(mates_.columns, std::move(lengths));
    }
  }
  void Send(const std::vector<Channel<Segment>>& mates, std::vector<int64_t> lengths) {
    const Segment segment{step_, std::make_shared<const std::vector<int64_t>>(std::move(lengths))};
    for (const Channel<Segment>& mate : mates) mate.Tell(segment);
  }
  void TakeRow(const Segment& segment) {
    row_ = segment.lengths;
    StepWhenReady();
  }
  void TakeColumn(const Segment& segment) {
    column_ = segment.lengths;
    StepWhenReady();
  }
  void StepWhenReady() {
    if (row_ == nullptr || column_ == nullptr) return;
    for (size_t i = 0; i < part_.lengths.size(); ++i) {
      for (size_t j = 0; j < row_->size(); ++j) {
        part_.lengths[i][j] = std::min(part_.lengths[i][j], (*column_)[i] + (*row_)[j]);
      }
    }
    row_ = column_ = nullptr;
    if (++step_ < steps_) {
      Announce();
    } else {
      solved_.Tell(std::move(part_));
      context().Stop();
    }
  }

  const size_t steps_;
  Part part_;
  const Channel<Part> solved_;
  Mates mates_;
  size_t step_ = 0;
  std::shared_ptr<const std::vector<int64_t>> row_, column_;
  Behavior alone_{"alone", On(meet, &Block::Meet)};
  Behavior working_{
      "working", On(row, &Block::TakeRow).If([this](const Segment& segment) { return segment.step == step_; }),
      On(column, &Block::TakeColumn).If([this](const Segment& segment) { return segment.step == step_; })};
};

class ShortestPaths final : public Program {
 public:
  Mailbox<"solved", Part> solved{this};

  explicit ShortestPaths(int64_t nodes) : nodes_(static_cast<size_t>(nodes)) {}

  StartResult Start() override {
    Random random;
    lengths_.resize(nodes_);
    for (size_t i = 0; i < nodes_; ++i) {
      for (size_t j = 0; j < nodes_; ++j) lengths_[i].push_back(i == j ? 0 : 1 + random.Below(100));
    }
    std::vector<Ref<Block>> blocks;
    for (size_t block = 0; block < kBlocks * kBlocks; ++block) {
      Part part{RangeOf(block / kBlocks), RangeOf(block % kBlocks), {}};
      for (size_t i = part.rows.begin; i < part.rows.end; ++i) {
        part.lengths.emplace_back(lengths_[i].begin() + static_cast<std::ptrdiff_t>(part.columns.begin),
                                  lengths_[i].begin() + static_cast<std::ptrdiff_t>(part.columns.end));
      }
      blocks.push_back(context().Spawn<Block>(nodes_, std::move(part), context().ChannelTo(solved)));
    }
    for (size_t block = 0; block < blocks.size(); ++block) {
      Mates mates;
      for (size_t i = 0; i < kBlocks; ++i) {
        mates.rows.push_back(blocks[i * kBlocks + block % kBlocks][&Block::row]);
        mates.columns.push_back(blocks[block / kBlocks * kBlocks + i][&Block::column]);
      }
      blocks[block][&Block::meet].Tell(std::move(mates));
    }
    return waiting_;
  }

 private:
  Range RangeOf(size_t block) const { return {nodes_ * block / kBlocks, nodes_ * (block + 1) / kBlocks}; }
  Behavior Collect(const Part& part) {
    if (parts_ == 0) SolveInOneLoop();
    for (size_t i = part.rows.begin; i < part.rows.end; ++i) {
      for (size_t j = part.columns.begin; j < part.columns.end; ++j) {
        if (part.lengths[i - part.rows.begin][j - part.columns.begin] == lengths_[i][j]) ++right_;
      }
    }
    if (++parts_ < kBlocks * kBlocks) return waiting_;
    return Done(Checked("distances", static_cast<int64_t>(right_), static_cast<int64_t>(nodes_ * nodes_)));
  }
  void SolveInOneLoop() {
    for (size_t k = 0; k < nodes_; ++k) {
      for (size_t i = 0; i < nodes_; ++i) {
        for (size_t j = 0; j < nodes_; ++j) {
          lengths_[i][j] = std::min(lengths_[i][j], lengths_[i][k] + lengths_[k][j]);
        }
      }
    }
  }

  const size_t nodes_;
  Matrix lengths_;
  size_t parts_ = 0;
  size_t right_ = 0;
  Behavior waiting_{"waiting", On(solved, &ShortestPaths::Collect)};
};

}  // namespace

std::unique_ptr<Actor> MakeShortestPaths(int64_t nodes) { return std::make_unique<ShortestPaths>(nodes); }

}  // namespace understudy::savina
