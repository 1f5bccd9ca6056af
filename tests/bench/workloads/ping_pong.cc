// Two actors: one pings, the other answers each ping with a pong.
#include "understudy/tests/bench/workload.h"

namespace understudy::bench {
namespace {

struct Ping {
  int64_t number = 0;
  Channel<int64_t> pong;
};

class Ponger final : public Actor {
 public:
  Mailbox<"ping", Ping> ping{this};
  Mailbox<"count", Call<int, int64_t>> count{this};

  StartResult Start() override { return answering_; }

 private:
  void Answer(const Ping& ping_message) {
    ++pings_;
    SendOrDie(ping_message.pong, ping_message.number);
  }
  int64_t Count(int) { return pings_; }

  int64_t pings_ = 0;
  Behavior answering_{"answering", On(ping, &Ponger::Answer), On(count, &Ponger::Count)};
};

class Pinger final : public Actor {
 public:
  Mailbox<"start", int64_t> start{this};
  Mailbox<"pong", int64_t> pong{this};

  Pinger(Channel<Ping> ponger, Finish* finish) : ponger_(ponger), finish_(finish) {}

  StartResult Start() override {
    own_pong_ = context().ChannelTo(pong);
    return playing_;
  }

 private:
  void Begin(int64_t round_trips) {
    left_ = round_trips;
    SendOrDie(ponger_, Ping{left_, own_pong_});
  }
  void Pong(int64_t number) {
    UNDERSTUDY_CHECK(number == left_, "pong ", number, " came for ping ", left_);
    ++pongs_;
    if (--left_ == 0) {
      finish_->Report(pongs_);
    } else {
      SendOrDie(ponger_, Ping{left_, own_pong_});
    }
  }

  const Channel<Ping> ponger_;
  Finish* const finish_;
  Channel<int64_t> own_pong_;
  int64_t left_ = 0;
  int64_t pongs_ = 0;
  Behavior playing_{"playing", On(start, &Pinger::Begin), On(pong, &Pinger::Pong)};
};

}  // namespace

Measurement RunPingPong(ActorSystem& system, int64_t operations) {
  Finish finish(system);
  const Ref<Ponger> ponger = system.Spawn<Ponger>();
  const Ref<Pinger> pinger = system.Spawn<Pinger>(ponger[&Ponger::ping], &finish);
  const Stopwatch stopwatch;
  SendOrDie(pinger[&Pinger::start], operations);
  Measurement measured{.count = finish.Await()};
  measured.seconds = stopwatch.Seconds();
  UNDERSTUDY_CHECK(AskOrDie(system, ponger[&Ponger::count], 0) == operations, "pings were lost");
  EndActors(system, {ponger.pid(), pinger.pid()});
  return measured;
}

}  // namespace understudy::bench
