// Multicasts: a director sends the same message to each of its members, round after round. The paper on event-based
// actors measured these three:
//
// simple: no member answers, except to the last round. ack: each member acknowledges each round, and the next round
// begins when all members have. group: as ack, and the director also tells all members when all have acknowledged. A
// third of the messages goes to 10 members, a third to 100, and a third to 1,000, or to 200 if 1,000 does not divide
// that third.
#include <vector>

#include "understudy/tests/bench/workload.h"

namespace understudy::bench {
namespace {

enum class Knows { kNobody, kDirector, kGroup };

struct Round {
  int64_t number = 0;
  bool wants_ack = false;
};
struct Heard {
  int64_t rounds = 0;
  int64_t ends = 0;
};

class Member final : public Actor {
 public:
  Mailbox<"round", Round> round{this, {.capacity_messages = kLargeCapacity}};
  Mailbox<"all_have", Round> all_have{this, {.capacity_messages = kLargeCapacity}};
  Mailbox<"heard", Call<int, Heard>> heard{this};

  explicit Member(Channel<Round> acks) : acks_(acks) {}

  StartResult Start() override { return listening_; }

 private:
  void Hear(const Round& begun) {
    ++heard_.rounds;
    UNDERSTUDY_CHECK(begun.number == heard_.rounds, "round ", begun.number, " came as the ", heard_.rounds, "th");
    if (begun.wants_ack) SendOrDie(acks_, begun);
  }
  void AllHave(const Round& /*ended*/) { ++heard_.ends; }
  Heard Report(int) { return heard_; }

  const Channel<Round> acks_;
  Heard heard_;
  Behavior listening_{"listening", On(round, &Member::Hear), On(all_have, &Member::AllHave),
                      On(heard, &Member::Report)};
};

class Director final : public Actor {
 public:
  Mailbox<"members", std::vector<Ref<Member>>> members{this};
  Mailbox<"start", int64_t> start{this};
  Mailbox<"ack", Round> ack{this, {.capacity_messages = kLargeCapacity}};
  Mailbox<"ready", Call<int, int>> ready{this};

  Director(Knows knows, Finish* finish) : knows_(knows), finish_(finish) {}

  StartResult Start() override { return directing_; }

 private:
  void Meet(const std::vector<Ref<Member>>& group) {
    for (const Ref<Member>& member : group) {
      rounds_.push_back(member[&Member::round]);
      ends_.push_back(member[&Member::all_have]);
    }
  }
  void Begin(int64_t rounds) {
    last_ = rounds;
    BeginRounds();
  }
  // Sends rounds until one of them asks for acknowledgements.
  void BeginRounds() {
    bool wants_ack = false;
    while (!wants_ack) {
      ++number_;
      wants_ack = knows_ != Knows::kNobody || number_ == last_;
      for (const Channel<Round>& member : rounds_) SendOrDie(member, Round{number_, wants_ack});
    }
  }
  void Acknowledge(const Round& ended) {
    UNDERSTUDY_CHECK(ended.number == number_, "an ack of round ", ended.number, " in round ", number_);
    if (++acks_ < std::ssize(rounds_)) return;
    acks_ = 0;
    if (knows_ == Knows::kGroup) {
      for (const Channel<Round>& member : ends_) SendOrDie(member, ended);
    }
    if (number_ < last_) {
      BeginRounds();
    } else {
      finish_->Report(number_);
    }
  }

  const Knows knows_;
  Finish* const finish_;
  std::vector<Channel<Round>> rounds_;
  std::vector<Channel<Round>> ends_;
  int64_t last_ = 0;
  int64_t number_ = 0;
  int64_t acks_ = 0;
  Behavior directing_{"directing", On(members, &Director::Meet), On(start, &Director::Begin),
                      On(ack, &Director::Acknowledge), On(ready, [](int) { return 0; })};
};

void AddMulticast(ActorSystem& system, Knows knows, int64_t size, int64_t messages, Measurement& measured) {
  Finish finish(system);
  const Ref<Director> director = system.Spawn<Director>(knows, &finish);
  std::vector<Ref<Member>> members;
  std::vector<Pid> pids{director.pid()};
  for (int64_t i = 0; i < size; ++i) {
    members.push_back(system.Spawn<Member>(director[&Director::ack]));
    pids.push_back(members.back().pid());
  }
  for (const Ref<Member>& member : members) AwaitStarted(system, member[&Member::heard]);
  SendOrDie(director[&Director::members], members);
  AwaitStarted(system, director[&Director::ready]);
  const int64_t rounds = messages / size;
  const Stopwatch stopwatch;
  SendOrDie(director[&Director::start], rounds);
  finish.Await();
  measured.seconds += stopwatch.Seconds();
  for (const Ref<Member>& member : members) {
    const Heard heard = AskOrDie(system, member[&Member::heard], 0);
    measured.count += heard.rounds;
    const int64_t ends = knows == Knows::kGroup ? rounds : 0;
    UNDERSTUDY_CHECK(heard.ends == ends, heard.ends, " rounds were told to have ended, of ", ends);
  }
  EndActors(system, pids);
}

Measurement RunMulticasts(ActorSystem& system, Knows knows, int64_t operations) {
  Measurement measured;
  const int64_t third = operations / 3;
  for (const int64_t size : {10, 100, third % 1000 == 0 ? 1000 : 200}) {
    AddMulticast(system, knows, size, third, measured);
  }
  return measured;
}

}  // namespace

Measurement RunMulticastSimple(ActorSystem& system, int64_t operations) {
  return RunMulticasts(system, Knows::kNobody, operations);
}
Measurement RunMulticastAck(ActorSystem& system, int64_t operations) {
  return RunMulticasts(system, Knows::kDirector, operations);
}
Measurement RunMulticastGroup(ActorSystem& system, int64_t operations) {
  return RunMulticasts(system, Knows::kGroup, operations);
}

}  // namespace understudy::bench
