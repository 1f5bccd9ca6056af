// Savina's "big": each of many actors pings a random other one, waits for its pong, and pings the next.
#include <memory>
#include <utility>
#include <vector>

#include "understudy/tests/bench/workload.h"

namespace understudy::bench {
namespace {

struct Ping {
  int64_t sender = 0;
  Channel<int64_t> pong;
};
struct Counts {
  int64_t pings = 0;
  int64_t pongs = 0;
};
using Players = std::vector<Channel<Ping>>;

// Counts the players that are done.
class Referee final : public Actor {
 public:
  Mailbox<"done", int64_t> done{this};

  explicit Referee(Finish* finish) : finish_(finish) {}

  StartResult Start() override { return watching_; }

 private:
  void Done(int64_t pongs) {
    pongs_ += pongs;
    if (++players_done_ == kBigActors) finish_->Report(pongs_);
  }

  Finish* const finish_;
  int players_done_ = 0;
  int64_t pongs_ = 0;
  Behavior watching_{"watching", On(done, &Referee::Done)};
};

class Player final : public Actor {
 public:
  Mailbox<"meet", std::shared_ptr<const Players>> meet{this};
  Mailbox<"start", int64_t> start{this};
  Mailbox<"ping", Ping> ping{this, {.capacity_messages = kLargeCapacity}};
  Mailbox<"pong", int64_t> pong{this};
  Mailbox<"counts", Call<int, Counts>> counts{this};

  Player(int64_t number, Channel<int64_t> referee) : number_(number), referee_(referee), random_(number + 1) {}

  StartResult Start() override {
    own_pong_ = context().ChannelTo(pong);
    return playing_;
  }

 private:
  void Meet(std::shared_ptr<const Players> players) { players_ = std::move(players); }
  void Begin(int64_t pings) {
    left_ = pings;
    PingSomebody();
  }
  void Answer(const Ping& message) {
    ++counts_.pings;
    SendOrDie(message.pong, number_);
  }
  void Pong(int64_t from) {
    UNDERSTUDY_CHECK(from == expected_, "pong of ", from, ", not of ", expected_);
    ++counts_.pongs;
    if (--left_ == 0) {
      SendOrDie(referee_, counts_.pongs);
    } else {
      PingSomebody();
    }
  }
  // Pings a random other player. The sequence of players is the same as in the peers' programs.
  void PingSomebody() {
    random_ = (random_ * 1103515245 + 12345) & 0x7fffffff;
    expected_ = (number_ + 1 + (random_ >> 8) % (kBigActors - 1)) % kBigActors;
    SendOrDie((*players_)[expected_], Ping{number_, own_pong_});
  }
  Counts Report(int) { return counts_; }

  const int64_t number_;
  const Channel<int64_t> referee_;
  int64_t random_;
  Channel<int64_t> own_pong_;
  std::shared_ptr<const Players> players_;
  int64_t left_ = 0;
  int64_t expected_ = 0;
  Counts counts_;
  Behavior playing_{"playing",
                    On(meet, &Player::Meet),
                    On(start, &Player::Begin),
                    On(ping, &Player::Answer),
                    On(pong, &Player::Pong),
                    On(counts, &Player::Report)};
};

}  // namespace

Measurement RunBig(ActorSystem& system, int64_t operations) {
  Finish finish(system);
  const Ref<Referee> referee = system.Spawn<Referee>(&finish);
  std::vector<Ref<Player>> players;
  std::vector<Pid> pids{referee.pid()};
  auto pings = std::make_shared<Players>();
  for (int i = 0; i < kBigActors; ++i) {
    players.push_back(system.Spawn<Player>(i, referee[&Referee::done]));
    pids.push_back(players.back().pid());
    pings->push_back(players.back()[&Player::ping]);
  }
  for (const Ref<Player>& player : players) {
    SendOrDie(player[&Player::meet], std::shared_ptr<const Players>(pings));
    AskOrDie(system, player[&Player::counts], 0);
  }
  const Stopwatch stopwatch;
  for (const Ref<Player>& player : players) SendOrDie(player[&Player::start], operations / kBigActors);
  Measurement measured{.count = finish.Await()};
  measured.seconds = stopwatch.Seconds();
  int64_t answered = 0;
  for (const Ref<Player>& player : players) answered += AskOrDie(system, player[&Player::counts], 0).pings;
  UNDERSTUDY_CHECK(answered == operations, answered, " pings were answered, of ", operations);
  EndActors(system, pids);
  return measured;
}

}  // namespace understudy::bench
