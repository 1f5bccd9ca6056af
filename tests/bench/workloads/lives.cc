// What actors cost that are idle, and what those leave behind that have ended.
#include <algorithm>
#include <vector>

#include "understudy/tests/bench/resident_memory.h"
#include "understudy/tests/bench/workload.h"

namespace understudy::bench {
namespace {

// Has two mailboxes; is told something in one, and then idle or gone.
class Tenant final : public Actor {
 public:
  enum class Then { kStay, kLeave };

  Mailbox<"hello", int64_t> hello{this};
  Mailbox<"other", int64_t> other{this};

  Tenant(Channel<int64_t> told, Then then) : told_(told), then_(then) {}

  Next Start() override { return living_; }

 private:
  void Hello(int64_t amount) {
    SendOrDie(told_, amount);
    if (then_ == Then::kLeave) context().Stop();
  }
  void Other(int64_t) {}

  const Channel<int64_t> told_;
  const Then then_;
  Behavior living_{"living", On(hello, &Tenant::Hello), On(other, &Tenant::Other)};
};

// Spawns tenants a batch at a time, so that what is measured is they and not
// the messages on their way.
class Landlord final : public Actor {
 public:
  Mailbox<"start", int64_t> start{this};
  Mailbox<"told", int64_t> told{this, {.capacity_messages = kLargeCapacity}};

  Landlord(Tenant::Then then, Finish* finish) : then_(then), finish_(finish) {}

  Next Start() override {
    own_told_ = Ref<Landlord>(context().Self())[&Landlord::told];
    return letting_;
  }

 private:
  void Begin(int64_t tenants) {
    left_ = tenants;
    SpawnBatch();
  }
  void SpawnBatch() {
    batch_ = std::min<int64_t>(left_, kSpawnBatch);
    left_ -= batch_;
    for (int64_t i = 0; i < batch_; ++i) {
      const Ref<Tenant> tenant = context().Spawn<Tenant>(SpawnOptions{.link = SpawnLink::kUnlinked}, own_told_, then_);
      SendOrDie(tenant[&Tenant::hello], int64_t{1});
    }
  }
  void Told(int64_t amount) {
    told_sum_ += amount;
    if (--batch_ > 0) return;
    if (left_ > 0) {
      SpawnBatch();
    } else {
      finish_->Report(told_sum_);
    }
  }

  const Tenant::Then then_;
  Finish* const finish_;
  Channel<int64_t> own_told_;
  int64_t left_ = 0;
  int64_t batch_ = 0;
  int64_t told_sum_ = 0;
  Behavior letting_{"letting", On(start, &Landlord::Begin), On(told, &Landlord::Told)};
};

// Spawns `tenants` and tells each something; gives how many were told.
int64_t Let(ActorSystem& system, Tenant::Then then, int64_t tenants) {
  const int64_t before = system.live_actors();
  Finish finish(system);
  const Ref<Landlord> landlord = system.Spawn<Landlord>(then, &finish);
  SendOrDie(landlord[&Landlord::start], tenants);
  const int64_t told = finish.Await();
  system.Exit(landlord.pid(), ExitReason::Shutdown());
  AwaitActorsLeft(system, then == Tenant::Then::kStay ? before + tenants : before);
  return told;
}

}  // namespace

Measurement RunIdleMemory(ActorSystem& system, int64_t operations) {
  // What the first actors make the process set up once is not counted.
  Let(system, Tenant::Then::kStay, kSpawnBatch);
  const int64_t before = ResidentBytes();
  const Stopwatch stopwatch;
  Measurement measured{.count = Let(system, Tenant::Then::kStay, operations)};
  measured.seconds = stopwatch.Seconds();
  measured.bytes = ResidentBytes() - before;
  // Nobody's children: they are killed.
  (void)system.Shutdown(absl::ZeroDuration());
  return measured;
}

std::vector<int64_t> ResidentAfterRounds(ActorSystem& system, int64_t actors, int rounds) {
  std::vector<int64_t> resident;
  for (int i = 0; i < rounds; ++i) {
    const int64_t told = Let(system, Tenant::Then::kLeave, actors);
    UNDERSTUDY_CHECK(told == actors, told, " were told, of ", actors);
    resident.push_back(ResidentBytes());
  }
  return resident;
}

}  // namespace understudy::bench
