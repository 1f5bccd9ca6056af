// An actor spawns many actors, which tell it that they have started, and keep running. Ending them is not measured.
#include <vector>

#include "understudy/tests/bench/workload.h"

namespace understudy::bench {
namespace {

class Tenant final : public Actor {
 public:
  Mailbox<"leave", int64_t> leave{this};

  explicit Tenant(Channel<int64_t> started) : started_(started) {}

  StartResult Start() override {
    SendOrDie(started_, int64_t{1});
    return staying_;
  }

 private:
  void Leave(int64_t) { context().Stop(); }

  const Channel<int64_t> started_;
  Behavior staying_{"staying", On(leave, &Tenant::Leave)};
};

class Landlord final : public Actor {
 public:
  Mailbox<"start", int64_t> start{this};
  Mailbox<"started", int64_t> started{this, {.capacity_messages = kLargeCapacity}};
  Mailbox<"give_notice", int64_t> give_notice{this};

  explicit Landlord(Finish* finish) : finish_(finish) {}

  StartResult Start() override { return letting_; }

 private:
  void Let(int64_t tenants) {
    left_ = tenants;
    const Channel<int64_t> own = context().ChannelTo(started);
    for (int64_t i = 0; i < tenants; ++i) {
      tenants_.push_back(context().Spawn<Tenant>(SpawnOptions{.link = SpawnLink::kUnlinked}, own));
    }
  }
  void Count(int64_t amount) {
    sum_ += amount;
    if (--left_ == 0) finish_->Report(sum_);
  }
  void GiveNotice(int64_t) {
    for (const Ref<Tenant>& tenant : tenants_) SendOrDie(tenant[&Tenant::leave], int64_t{0});
  }

  Finish* const finish_;
  std::vector<Ref<Tenant>> tenants_;
  int64_t left_ = 0;
  int64_t sum_ = 0;
  Behavior letting_{"letting", On(start, &Landlord::Let), On(started, &Landlord::Count),
                    On(give_notice, &Landlord::GiveNotice)};
};

}  // namespace

Measurement RunSpawnKeep(ActorSystem& system, int64_t operations) {
  Finish finish(system);
  const Ref<Landlord> landlord = system.Spawn<Landlord>(&finish);
  const Stopwatch stopwatch;
  SendOrDie(landlord[&Landlord::start], operations);
  Measurement measured{.count = finish.Await()};
  measured.seconds = stopwatch.Seconds();
  SendOrDie(landlord[&Landlord::give_notice], int64_t{0});
  AwaitActorsLeft(system, 1);
  EndActors(system, {landlord.pid()});
  return measured;
}

}  // namespace understudy::bench
