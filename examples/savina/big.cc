// Big: each of 120 actors asks a random other one, waits for the answer, and asks the
// next. Its handler is interleaved, so that it answers the others meanwhile; without that
// all would soon wait for each other.
// Oracle: each answer comes from the one that was asked, and all are counted.
#include "understudy/actors/channel.h"
#include "understudy/examples/savina/programs.h"

namespace understudy::savina {
namespace {

constexpr int64_t kPlayers = 120;

struct Ping {};
using Players = std::vector<Channel<Call<Ping, int64_t>>>;

class Player final : public Actor {
 public:
  Mailbox<"meet", std::shared_ptr<const Players>> meet{this};
  Mailbox<"ping", Call<Ping, int64_t>> ping{this};  // the answer is the number of the player

  Player(int64_t number, int64_t pings, Channel<int64_t> ended)
      : number_(number), pings_(pings), ended_(ended), random_(number) {}
  StartResult Start() override { return playing_; }

 private:
  Task<absl::Status> Play(std::shared_ptr<const Players> players) {
    for (int64_t i = 0; i < pings_; ++i) {
      const int64_t other = (number_ + 1 + random_.Below(kPlayers - 1)) % kPlayers;  // never itself
      auto asked = (*players)[static_cast<size_t>(other)].Ask(Ping(), kPatience);
      absl::StatusOr<int64_t> answer = co_await asked;
      if (!answer.ok()) co_return Fail(answer.status());
      if (*answer != other) co_return Fail(absl::InternalError("another player has answered"));
      ++pongs_;
    }
    ended_.Tell(pongs_);
    co_return absl::OkStatus();
  }
  int64_t Answer(const Ping& /*ping*/) { return number_; }

  const int64_t number_;
  const int64_t pings_;
  const Channel<int64_t> ended_;
  Random random_;
  int64_t pongs_ = 0;
  Behavior playing_{"playing", On(meet, &Player::Play).Interleaved(), On(ping, &Player::Answer)};
};

class Big final : public Program {
 public:
  Mailbox<"ended", int64_t> ended{this};

  explicit Big(int64_t pings) : pings_(pings) {}

  StartResult Start() override {
    std::vector<Ref<Player>> players;
    auto channels = std::make_shared<Players>();
    for (int64_t number = 0; number < kPlayers; ++number) {
      players.push_back(context().Spawn<Player>(number, pings_, context().ChannelTo(ended)));
      channels->push_back(players.back()[&Player::ping]);
    }
    for (const Ref<Player>& player : players) player[&Player::meet].Tell(channels);
    return counting_;
  }

 private:
  Behavior Count(int64_t pongs) {
    pongs_ += pongs;
    return ++ended_ < kPlayers ? counting_ : Done(Checked("pings were answered", pongs_, kPlayers * pings_));
  }

  const int64_t pings_;
  int64_t ended_ = 0;
  int64_t pongs_ = 0;
  Behavior counting_{"counting", On(ended, &Big::Count)};
};

}  // namespace

std::unique_ptr<Actor> MakeBig(int64_t pings) { return std::make_unique<Big>(pings); }

}  // namespace understudy::savina
