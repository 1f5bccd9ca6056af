// How much memory idle actors take, and how much memory is left when actors have ended.
#include <algorithm>
#include <array>
#include <vector>

#include "understudy/tests/bench/measuring.h"
#include "understudy/tests/bench/resident_memory.h"

namespace understudy::bench {
namespace {

enum class Then { kStay, kLeave };

// An amount, padded to kBytes.
template <size_t kBytes>
struct Note {
  int64_t amount = 0;
  std::array<int64_t, kBytes / sizeof(int64_t) - 1> more{};
};

// An actor with two mailboxes that gets one message, and then stays idle or ends.
template <size_t kBytes>
class Tenant final : public Actor {
 public:
  Mailbox<"hello", Note<kBytes>> hello{this};
  Mailbox<"other", Note<kBytes>> other{this};

  Tenant(Channel<Note<kBytes>> told, Then then) : told_(told), then_(then) {}

  StartResult Start() override { return living_; }

 private:
  void Hello(const Note<kBytes>& note) {
    SendOrDie(told_, note);
    if (then_ == Then::kLeave) context().Stop();
  }
  void Other(const Note<kBytes>&) {}

  const Channel<Note<kBytes>> told_;
  const Then then_;
  Behavior living_{"living", On(hello, &Tenant::Hello), On(other, &Tenant::Other)};
};

// Spawns tenants in batches, so that mainly the tenants take up the measured memory, and not messages on their way.
template <size_t kBytes>
class Landlord final : public Actor {
 public:
  Mailbox<"start", int64_t> start{this};
  Mailbox<"told", Note<kBytes>> told{this, {.capacity_messages = kLargeCapacity}};

  Landlord(Then then, Finish* finish) : then_(then), finish_(finish) {}

  StartResult Start() override {
    own_told_ = context().ChannelTo(told);
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
      const Ref<Tenant<kBytes>> tenant =
          context().template Spawn<Tenant<kBytes>>(SpawnOptions{.link = SpawnLink::kUnlinked}, own_told_, then_);
      SendOrDie(tenant[&Tenant<kBytes>::hello], Note<kBytes>{.amount = 1});
    }
  }
  void Told(const Note<kBytes>& note) {
    told_sum_ += note.amount;
    if (--batch_ > 0) return;
    if (left_ > 0) {
      SpawnBatch();
    } else {
      finish_->Report(told_sum_);
    }
  }

  const Then then_;
  Finish* const finish_;
  Channel<Note<kBytes>> own_told_;
  int64_t left_ = 0;
  int64_t batch_ = 0;
  int64_t told_sum_ = 0;
  Behavior letting_{"letting", On(start, &Landlord::Begin), On(told, &Landlord::Told)};
};

// Spawns `tenants` actors and sends each a message; returns how many have handled it.
template <size_t kBytes>
int64_t Let(ActorSystem& system, Then then, int64_t tenants) {
  const int64_t before = system.live_actors();
  Finish finish(system);
  const Ref<Landlord<kBytes>> landlord = system.Spawn<Landlord<kBytes>>(then, &finish);
  SendOrDie(landlord[&Landlord<kBytes>::start], tenants);
  const int64_t told = finish.Await();
  system.Exit(landlord.pid(), ExitReason::Shutdown());
  AwaitActorsLeft(system, then == Then::kStay ? before + tenants : before);
  return told;
}

}  // namespace

Measurement RunIdleMemory(ActorSystem& system, int64_t operations) {
  // This first batch makes the process set up its structures, which are not to be counted.
  Let<8>(system, Then::kStay, kSpawnBatch);
  const int64_t before = ResidentBytes();
  const Stopwatch stopwatch;
  Measurement measured{.count = Let<8>(system, Then::kStay, operations)};
  measured.seconds = stopwatch.Seconds();
  measured.bytes = ResidentBytes() - before;
  // The tenants have no parent that would end them, so Shutdown kills them.
  (void)system.Shutdown(absl::ZeroDuration());
  return measured;
}

template <size_t kBytes>
std::vector<int64_t> ResidentAfterRounds(ActorSystem& system, int64_t actors, int rounds) {
  std::vector<int64_t> resident;
  for (int i = 0; i < rounds; ++i) {
    const int64_t told = Let<kBytes>(system, Then::kLeave, actors);
    UNDERSTUDY_CHECK(told == actors, told, " were told, of ", actors);
    resident.push_back(ResidentBytes());
  }
  return resident;
}

template std::vector<int64_t> ResidentAfterRounds<8>(ActorSystem&, int64_t, int);
template std::vector<int64_t> ResidentAfterRounds<80>(ActorSystem&, int64_t, int);

}  // namespace understudy::bench
