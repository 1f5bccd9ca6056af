// Recursive matrix multiplication: a product is divided into eight of half the size, three times. A master keeps the
// tasks in its mailboxes, one for each depth, which are open while a worker is idle. Deeper tasks have a higher rank,
// so few of them wait at a time. The factors never change, so all workers may read them.
// Oracle: the product of (i) and (j) has n i j at (i, j).
#include <array>

#include "absl/strings/str_cat.h"
#include "understudy/examples/savina/programs.h"

namespace understudy::savina {
namespace {

constexpr int kWorkers = 20;
constexpr size_t kDepth = 3;

struct Range {
  size_t begin = 0;
  size_t end = 0;
  size_t size() const { return end - begin; }
  Range Half(size_t which) const {
    const size_t middle = begin + size() / 2;
    return which == 0 ? Range{begin, middle} : Range{middle, end};
  }
};

// To multiply the first factor's part (rows, inner) with the second's (inner, columns).
struct Multiply {
  size_t depth = 0;
  Range rows, inner, columns;
};
struct Factors {
  size_t size = 0;
  std::vector<double> first, second;
};
// A worker's result for its task: the parts into which it divided the task, or the product.
struct Finished {
  size_t worker = 0;
  Multiply task;
  std::vector<Multiply> parts;
  std::vector<double> product;
};

class Worker final : public Actor {
 public:
  Mailbox<"task", Multiply> task{this};

  Worker(size_t number, std::shared_ptr<const Factors> factors, Channel<Finished> finished)
      : number_(number), factors_(std::move(factors)), finished_(finished) {}
  StartResult Start() override { return working_; }

 private:
  void Work(const Multiply& given) {
    Finished done{.worker = number_, .task = given};
    if (given.depth < kDepth) {
      for (size_t i = 0; i < 8; ++i) {
        done.parts.push_back(
            {given.depth + 1, given.rows.Half(i & 1), given.inner.Half(i >> 1 & 1), given.columns.Half(i >> 2)});
      }
    } else {
      done.product.resize(given.rows.size() * given.columns.size());
      auto sum = done.product.begin();
      for (size_t i = given.rows.begin; i < given.rows.end; ++i) {
        for (size_t j = given.columns.begin; j < given.columns.end; ++j, ++sum) {
          for (size_t k = given.inner.begin; k < given.inner.end; ++k) {
            *sum += factors_->first[i * factors_->size + k] * factors_->second[k * factors_->size + j];
          }
        }
      }
    }
    finished_.Tell(std::move(done));
  }

  const size_t number_;
  const std::shared_ptr<const Factors> factors_;
  const Channel<Finished> finished_;
  Behavior working_{"working", On(task, &Worker::Work)};
};

class MatrixMultiplication final : public Program {
 public:
  MailboxArray<"tasks", Multiply> tasks{this, kDepth + 1};
  Mailbox<"finished", Finished> finished{this};

  explicit MatrixMultiplication(int64_t size) : size_(static_cast<size_t>(size)), product_(size_ * size_) {}

  StartResult Start() override {
    auto factors = std::make_shared<Factors>();
    factors->size = size_;
    for (size_t i = 0; i < size_ * size_; ++i) {
      factors->first.push_back(static_cast<double>(i / size_));
      factors->second.push_back(static_cast<double>(i % size_));
    }
    for (size_t i = 0; i < kWorkers; ++i) {
      workers_.push_back(context().Spawn<Worker>(i, factors, context().ChannelTo(finished)));
      idle_.push_back(i);
    }
    const Range all{0, size_};
    context().Tell(tasks[0], {0, all, all, all});
    return multiplying_;
  }

 private:
  bool HasIdleWorker() const { return !idle_.empty(); }
  void Deal(const Multiply& task) {
    workers_[idle_.back()][&Worker::task].Tell(task);
    idle_.pop_back();
  }
  Behavior TakeBack(const Finished& done) {
    idle_.push_back(done.worker);
    for (const Multiply& part : done.parts) context().Tell(tasks[part.depth], part);
    left_ += done.parts.size();
    auto sum = done.product.begin();
    for (size_t i = done.task.rows.begin; sum != done.product.end(); ++i) {
      for (size_t j = done.task.columns.begin; j < done.task.columns.end; ++j) product_[i * size_ + j] += *sum++;
    }
    if (--left_ > 0) return multiplying_;
    bool is_right = true;
    for (size_t i = 0; i < size_ * size_; ++i) {
      is_right = is_right && product_[i] == static_cast<double>(size_ * (i / size_) * (i % size_));
    }
    return Done(Checked(absl::StrCat("product of two matrices of ", size_, " rows"), is_right));
  }

  const size_t size_;
  std::vector<double> product_;
  std::vector<Ref<Worker>> workers_;
  std::vector<size_t> idle_;
  size_t left_ = 1;  // tasks that are not finished
  Behavior multiplying_{"multiplying",
                        On(tasks, &MatrixMultiplication::Deal).When(&MatrixMultiplication::HasIdleWorker).RankByPlace(),
                        On(finished, &MatrixMultiplication::TakeBack).Rank(kDepth + 1)};
};

}  // namespace

std::unique_ptr<Actor> MakeMatrixMultiplication(int64_t size) { return std::make_unique<MatrixMultiplication>(size); }

}  // namespace understudy::savina
