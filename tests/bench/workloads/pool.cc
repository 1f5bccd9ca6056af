// A pool, of one shard or of several, starts and stops children for thousands of clients at once.
#include "understudy/supervision/pool.h"

#include <algorithm>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "understudy/supervision/builders.h"
#include "understudy/supervision/limits.h"
#include "understudy/tests/bench/workload.h"

namespace understudy::bench {
namespace {

// The largest number of clients, in units of kUnit: about ten thousand children start and end at the same time.
constexpr int64_t kClientUnitsMax = 16;
constexpr absl::Duration kPatience = absl::Minutes(5);

class Member final : public Actor {
 public:
  Mailbox<"work", int64_t> work{this};

  explicit Member(int64_t first) : done_(first) {}
  StartResult Start() override { return working_; }

 private:
  void Work(int64_t amount) { done_ += amount; }

  int64_t done_;
  Behavior working_{"working", On(work, &Member::Work)};
};
using Members = Pool<Member(int64_t)>;

// Has the pool start and terminate a child, again and again for the number of times in `begin`.
class Client final : public Actor {
 public:
  Mailbox<"begin", int64_t> begin{this};

  Client(const Members::Ref& pool, Channel<int64_t> done) : pool_(pool), done_(done) {}
  StartResult Start() override { return living_; }

 private:
  Task<> Begin(int64_t rounds) {
    int64_t seen = 0;
    for (int64_t i = 0; i < rounds; ++i) {
      auto starting = pool_.start().Ask(i, kPatience);
      const absl::StatusOr<Ref<Member>> member = co_await starting;
      UNDERSTUDY_CHECK(member.ok(), "a child could not start: ", member.status().ToString());
      TerminateChild request;
      request.pid = member->pid();
      auto ending = pool_.terminate_child().Ask(request, kPatience);
      const absl::StatusOr<ChildDone> ended = co_await ending;
      UNDERSTUDY_CHECK(ended.ok(), "a child could not be terminated: ", ended.status().ToString());
      ++seen;
    }
    SendOrDie(done_, seen);
  }

  const Members::Ref pool_;
  const Channel<int64_t> done_;
  Behavior living_{"living", On(begin, &Client::Begin)};
};

// Adds up the counts of the clients.
class Gatherer final : public Actor {
 public:
  Mailbox<"seen", int64_t> seen{this, {.capacity_messages = kLargeCapacity}};

  Gatherer(Finish* finish, int64_t clients) : finish_(finish), left_(clients) {}
  StartResult Start() override { return gathering_; }

 private:
  void Add(int64_t seen_by_one) {
    sum_ += seen_by_one;
    if (--left_ == 0) finish_->Report(sum_);
  }

  Finish* const finish_;
  int64_t left_;
  int64_t sum_ = 0;
  Behavior gathering_{"gathering", On(seen, &Gatherer::Add)};
};

// Returns the largest number of clients that share the operations evenly.
int64_t ClientsFor(int64_t operations) {
  int64_t units = std::min(kClientUnitsMax, operations / kUnit);
  while (operations / kUnit % units != 0) --units;
  return units * kUnit;
}

Measurement RunPools(ActorSystem& system, int64_t operations, int shards) {
  const int64_t count = ClientsFor(operations);
  Finish finish(system);
  Measurement measured;
  const Ref<Gatherer> gatherer = system.Spawn<Gatherer>(&finish, count);
  const Members::Ref pool = system.Spawn<Members>(PoolOptions{.shards = shards});
  AwaitStarted(system, pool.count_children());
  std::vector<Ref<Client>> clients;
  clients.reserve(static_cast<size_t>(count));
  std::vector<Pid> actors = {gatherer.pid()};
  actors.reserve(static_cast<size_t>(count) + 1);
  for (int64_t i = 0; i < count; ++i) {
    clients.push_back(system.Spawn<Client>(pool, gatherer[&Gatherer::seen]));
    actors.push_back(clients.back().pid());
  }
  const Stopwatch stopwatch;
  for (const Ref<Client>& client : clients) SendOrDie(client[&Client::begin], operations / count);
  measured.count = finish.Await();
  measured.seconds = stopwatch.Seconds();
  system.RequestStop(pool.pid());
  AwaitActorsLeft(system, count + 1);
  EndActors(system, actors);
  return measured;
}

}  // namespace

Measurement RunPool(ActorSystem& system, int64_t operations) { return RunPools(system, operations, /*shards=*/1); }
Measurement RunPoolSharded(ActorSystem& system, int64_t operations) {
  const int threads = static_cast<int>(std::thread::hardware_concurrency());
  return RunPools(system, operations, std::clamp(2 * threads, 2, limits::kPoolShardsMax));
}

}  // namespace understudy::bench
