// Ping-pong: one actor sends a ping, another one answers with a pong, many times. The
// message says where its answer is to go.
// Oracle: the number of pings that were answered.
#include "understudy/examples/savina/programs.h"

namespace understudy::savina {
namespace {

class Ponger final : public Actor {
 public:
  Mailbox<"ping", Channel<int64_t>> ping{this};

  StartResult Start() override { return playing_; }

 private:
  void Answer(const Channel<int64_t>& pong) { pong.Tell(++pings_); }

  int64_t pings_ = 0;
  Behavior playing_{"playing", On(ping, &Ponger::Answer)};
};

class Pinger final : public Program {
 public:
  Mailbox<"pong", int64_t> pong{this};  // the number of pings that were answered

  explicit Pinger(int64_t rounds) : rounds_(rounds) {}

  StartResult Start() override {
    ponger_ = context().Spawn<Ponger>();
    Ping();
    return playing_;
  }

 private:
  void Ping() { ponger_[&Ponger::ping].Tell(context().ChannelTo(pong)); }
  Behavior Count(int64_t answered) {
    if (++pongs_ == rounds_) return Done(Checked("pings were answered", answered, rounds_));
    Ping();
    return playing_;
  }

  const int64_t rounds_;
  int64_t pongs_ = 0;
  Ref<Ponger> ponger_;
  Behavior playing_{"playing", On(pong, &Pinger::Count)};
};

}  // namespace

std::unique_ptr<Actor> MakePingPong(int64_t rounds) { return std::make_unique<Pinger>(rounds); }

}  // namespace understudy::savina
