// Parking (actors/internal/parking.h): no work is left in a queue while a
// worker sleeps that could run it.
//
// Parking takes its mutex from Abseil, so these are its steps, over
// ModelAtomics. Two pieces of work need both workers at the same time: whoever
// runs one waits in it until the other is run too.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/tests/model/expect_holds.h"
#include "understudy/tests/model/model_atomics.h"
#include "understudy/tests/model/model_mutex.h"
#include "understudy/tests/model/schedules.h"

namespace understudy::model {
namespace {

using ::testing::HasSubstr;

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr auto kSeqCst = std::memory_order_seq_cst;
constexpr size_t kWorkers = 2;

enum class Bug {
  kNone,
  kAnnounceWithoutBarrier,
  kParkWithoutBarrier,
  kParkDoesNotLook,       // for work, when others can see that it sleeps
  kFoundWorkDoesNotLook,  // for more work, when nobody looks any more
};

template <Bug kBug>
class Parking {
 public:
  struct Spot {
    ModelAtomic<int> is_parked{0};
  };

  void Announce() {
    if (kBug != Bug::kAnnounceWithoutBarrier) ModelAtomics::LightBarrier();
    const uint64_t state = state_.load(kRelaxed);
    if (Parked(state) == 0 || Searching(state) != 0) return;
    WakeOne();
  }
  bool StartSearch() {
    if (Searching(state_.load(kRelaxed)) * 2 >= kWorkers) return false;
    state_.fetch_add(kOneSearching, kSeqCst);
    return true;
  }
  template <class HasWork>
  void FoundWork(HasWork has_more) {
    const uint64_t before = state_.fetch_sub(kOneSearching, kSeqCst);
    if (Searching(before) != 1 || Parked(before) == 0 || kBug == Bug::kFoundWorkDoesNotLook) return;
    ModelAtomics::HeavyBarrier();
    if (has_more()) WakeOne();
  }
  template <class HasWork>
  void Park(Spot& spot, bool was_searching, HasWork has_work) {
    mu_.Lock();
    spots_[parked_] = &spot;
    parked_ = parked_ + 1;
    spot.is_parked.store(1, kRelaxed);
    state_.fetch_add(kOneParked - (was_searching ? kOneSearching : 0), kSeqCst);
    mu_.Unlock();
    if (kBug != Bug::kParkWithoutBarrier) ModelAtomics::HeavyBarrier();
    const bool stays = kBug == Bug::kParkDoesNotLook || !has_work();
    mu_.Lock();
    if (!stays && spot.is_parked.load(kRelaxed) != 0) Unpark(spot);
    while (spot.is_parked.load(kRelaxed) != 0) {
      mu_.Unlock();
      ModelAtomics::WaitWhile(spot.is_parked, 1);
      mu_.Lock();
    }
    mu_.Unlock();
  }

 private:
  static constexpr uint64_t kOneSearching = 1;
  static constexpr uint64_t kOneParked = uint64_t{1} << 32;
  static uint64_t Searching(uint64_t state) { return state & (kOneParked - 1); }
  static uint64_t Parked(uint64_t state) { return state >> 32; }

  void WakeOne() {
    mu_.Lock();
    if (parked_ != 0 && Searching(state_.load(kSeqCst)) == 0) {
      Spot& spot = *spots_[static_cast<size_t>(static_cast<int>(parked_)) - 1];
      Unpark(spot);
      ModelAtomics::WakeAll(spot.is_parked);
    }
    mu_.Unlock();
  }
  void Unpark(Spot& spot) {
    if (spots_[0] == &spot) spots_[0] = static_cast<Spot*>(spots_[1]);
    parked_ = parked_ - 1;
    spot.is_parked.store(0, kRelaxed);
    state_.fetch_add(kOneSearching - kOneParked, kSeqCst);
  }

  ModelAtomic<uint64_t> state_{0};
  ModelMutex mu_;
  std::array<ModelPlain<Spot*>, kWorkers> spots_;
  ModelPlain<int> parked_{0};
};

template <Bug kBug>
struct Pool {
  Parking<kBug> parking;
  std::array<typename Parking<kBug>::Spot, kWorkers> spots;
  ModelAtomic<int> work{0};  // queued
  ModelAtomic<int> runs{0};

  // A thread that makes two actors runnable.
  void Produce() {
    for (int i = 0; i < 2; ++i) {
      work.fetch_add(1, std::memory_order_release);
      parking.Announce();
    }
  }
  bool Take() {
    int queued = work.load(std::memory_order_acquire);
    while (queued > 0) {
      if (work.compare_exchange_strong(queued, queued - 1, std::memory_order_acq_rel, std::memory_order_acquire)) {
        return true;
      }
    }
    return false;
  }
  // A worker, until it has run one. As ThreadPool::Search.
  void Work(size_t worker) {
    const auto has_work = [this] { return work.load(kRelaxed) != 0; };
    bool is_searching = false;
    for (;;) {
      if (!is_searching) is_searching = parking.StartSearch();
      if (Take()) {
        if (is_searching) parking.FoundWork(has_work);
        break;
      }
      parking.Park(spots[worker], is_searching, has_work);
      is_searching = true;
    }
    runs.fetch_add(1, std::memory_order_release);
    ModelAtomics::WakeAll(runs);
    ModelAtomics::WaitWhile(runs, 1);  // until both have run
  }
};

template <Bug kBug = Bug::kNone>
Outcome ExplorePool(const Bounds& bounds) {
  return Explore(bounds, [](Program& program) {
    auto pool = std::make_shared<Pool<kBug>>();
    program.Name(pool->parking, "parking");
    program.Name(pool->spots, "spots");
    program.Name(pool->work, "work");
    program.Name(pool->runs, "runs");
    for (size_t i = 0; i < kWorkers; ++i) program.Thread("worker", [pool, i] { pool->Work(i); });
    program.Thread("producer", [pool] { pool->Produce(); });
  });
}

TEST(ParkingModelTest, NoWorkIsLeftWhileAWorkerSleeps) {
  ExpectHolds(ExplorePool<>({.preemptions_max = 3, .old_reads_max = 0}), 200'000);
  ExpectHolds(ExplorePool<>({.preemptions_max = 2, .old_reads_max = 1}), 90'000);
}

constexpr Bounds kFew = {.preemptions_max = 2, .old_reads_max = 1};

TEST(ParkingModelTest, AMissingBarrierIsFoundOnEitherSide) {
  EXPECT_THAT(ExplorePool<Bug::kAnnounceWithoutBarrier>(kFew).failure, HasSubstr("a wake-up was lost"));
  EXPECT_THAT(ExplorePool<Bug::kParkWithoutBarrier>(kFew).failure, HasSubstr("a wake-up was lost"));
}

TEST(ParkingModelTest, AWorkerThatDoesNotLookBeforeItSleepsIsFound) {
  EXPECT_THAT(ExplorePool<Bug::kParkDoesNotLook>(kFew).failure, HasSubstr("a wake-up was lost"));
}

TEST(ParkingModelTest, ALastSearcherThatDoesNotLookForMoreIsFound) {
  EXPECT_THAT(ExplorePool<Bug::kFoundWorkDoesNotLook>(kFew).failure, HasSubstr("a wake-up was lost"));
}

}  // namespace
}  // namespace understudy::model
