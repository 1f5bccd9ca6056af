// A ring of actors through which one token goes.
#include <vector>

#include "understudy/tests/bench/workload.h"

namespace understudy::bench {
namespace {

class Link final : public Actor {
 public:
  Mailbox<"next", Channel<int64_t>> next{this};
  Mailbox<"token", int64_t> token{this};
  Mailbox<"count", Call<int, int64_t>> count{this};

  explicit Link(Finish* finish) : finish_(finish) {}

  StartResult Start() override { return passing_; }

 private:
  void SetNext(const Channel<int64_t>& channel) { next_ = channel; }
  void Pass(int64_t hops_left) {
    ++hops_;
    if (hops_left == 1) {
      finish_->Report(hops_left);
    } else {
      SendOrDie(next_, hops_left - 1);
    }
  }
  int64_t Count(int) { return hops_; }

  Finish* const finish_;
  Channel<int64_t> next_;
  int64_t hops_ = 0;
  Behavior passing_{"passing", On(next, &Link::SetNext), On(token, &Link::Pass), On(count, &Link::Count)};
};

}  // namespace

Measurement RunRing(ActorSystem& system, int64_t operations) {
  Finish finish(system);
  std::vector<Ref<Link>> links;
  std::vector<Pid> pids;
  for (int i = 0; i < kRingActors; ++i) {
    links.push_back(system.Spawn<Link>(&finish));
    pids.push_back(links.back().pid());
  }
  for (int i = 0; i < kRingActors; ++i) {
    SendOrDie(links[i][&Link::next], links[(i + 1) % kRingActors][&Link::token]);
    // An actor that answers has started and knows its neighbour.
    AskOrDie(system, links[i][&Link::count], 0);
  }
  const Stopwatch stopwatch;
  SendOrDie(links[0][&Link::token], operations);
  finish.Await();
  Measurement measured{.seconds = stopwatch.Seconds()};
  for (const Ref<Link>& link : links) measured.count += AskOrDie(system, link[&Link::count], 0);
  EndActors(system, pids);
  return measured;
}

}  // namespace understudy::bench
