// Fork-join, throughput: an actor sends to each of 60 others in turn, and waits only for room in their mailboxes, not
// for answers.
// Oracle: the number of messages that the 60 have handled.
#include "understudy/examples/savina/programs.h"

namespace understudy::savina {
namespace {

constexpr int kWorkers = 60;

class Worker final : public Actor {
 public:
  Mailbox<"work", int64_t> work{this};

  Worker(int64_t messages, Channel<int64_t> handled) : messages_(messages), handled_(handled) {}
  StartResult Start() override { return working_; }

 private:
  void Work(int64_t message) {
    sum_ += message;
    if (++count_ == messages_) handled_.Tell(sum_);
  }

  const int64_t messages_;
  const Channel<int64_t> handled_;
  int64_t count_ = 0;
  int64_t sum_ = 0;
  Behavior working_{"working", On(work, &Worker::Work)};
};

class ForkJoinThroughput final : public Program {
 public:
  Mailbox<"handled", int64_t> handled{this};

  explicit ForkJoinThroughput(int64_t messages) : messages_(messages) {}
  StartResult Start() override { return Fork(); }

 private:
  Task<StartResult> Fork() {
    std::vector<Ref<Worker>> workers;
    for (int i = 0; i < kWorkers; ++i) {
      workers.push_back(context().Spawn<Worker>(messages_, context().ChannelTo(handled)));
    }
    for (int64_t round = 0; round < messages_; ++round) {
      for (const Ref<Worker>& worker : workers) {
        auto sending = worker[&Worker::work].SendWhenRoom(1, kPatience);
        absl::Status sent = co_await sending;
        if (!sent.ok()) co_return sent;
      }
    }
    co_return joining_;  // what came meanwhile in `handled` has waited
  }
  Behavior Join(int64_t messages) {
    sum_ += messages;
    return ++joined_ < kWorkers ? joining_ : Done(Checked("messages handled", sum_, kWorkers * messages_));
  }

  const int64_t messages_;
  int joined_ = 0;
  int64_t sum_ = 0;
  Behavior joining_{"joining", On(handled, &ForkJoinThroughput::Join)};
};

}  // namespace

std::unique_ptr<Actor> MakeForkJoinThroughput(int64_t messages) {
  return std::make_unique<ForkJoinThroughput>(messages);
}

}  // namespace understudy::savina
