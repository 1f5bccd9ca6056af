// Parking (actors/internal/scheduling/parking.h): no work is left in a queue while a worker that could run it sleeps or
// polls.
//
// Parking takes its mutex from Abseil, so this model repeats the steps of Parking and of Polling over ModelAtomics. Two
// pieces of work need both workers at the same time: the worker that runs one piece waits until the other piece is run
// too.
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
  kOutsideWithoutFence,
  kParkWithoutBarrier,
  kParkNeverHeavy,         // a worker that parks assumes that all other workers sleep
  kParkIgnoresThePoller,   // a worker that parks assumes that a polling worker announces nothing
  kParkDoesNotLook,        // a worker does not check for work once others can see that it is parked
  kSleepDoesNotLook,       // a worker does not check whether it is still parked before it sleeps
  kFoundWorkDoesNotLook,   // the last searching worker does not check for more work
  kPollerIsNotWoken,       // a polling worker is not woken through its event source
  kPollerTakesNothingOwn,  // a worker polls again and leaves the work of its event in its own queue
};

// An event source, and the flag of Polling that lets one worker at a time poll it. A signal is an event or a wake-up.
struct Source {
  ModelAtomic<int> is_taken{0};
  ModelAtomic<int> signals{0};
  ModelAtomic<int> events{0};

  bool TryTake() { return is_taken.load(kRelaxed) == 0 && is_taken.exchange(1, std::memory_order_acquire) == 0; }
  void GiveBack() { is_taken.store(0, std::memory_order_release); }
  void Wake() {
    signals.fetch_add(1, std::memory_order_acq_rel);
    ModelAtomics::WakeAll(signals);
  }
  void Post() {
    events.fetch_add(1, std::memory_order_release);
    Wake();
  }
  // Waits for a signal. Returns true if there was an event.
  bool Poll() {
    ModelAtomics::WaitWhile(signals, 0);
    signals.fetch_sub(1, std::memory_order_acq_rel);
    if (events.load(std::memory_order_acquire) == 0) return false;
    events.fetch_sub(1, std::memory_order_acq_rel);
    return true;
  }
};

template <Bug kBug>
class Parking {
  static constexpr int kRuns = 0, kParked = 1, kSleeps = 2;

 public:
  struct Spot {
    ModelAtomic<int> state{kRuns};

    bool is_parked() const { return state.load(kRelaxed) != kRuns; }
    void Sleep() {
      int seen = kParked;
      if (kBug == Bug::kSleepDoesNotLook) {
        state.store(kSleeps, kRelaxed);
      } else if (!state.compare_exchange_strong(seen, kSleeps, kRelaxed, std::memory_order_acquire)) {
        return;
      }
      ModelAtomics::WaitWhile(state, kSleeps);
    }
    bool End() { return state.exchange(kRuns, std::memory_order_release) == kSleeps; }
    void Wake() { ModelAtomics::WakeAll(state); }
  };

  // `source` is null if the process has no event source.
  explicit Parking(Source* source) : source_(source) {}

  // `here` is the spot of the worker that polls on this thread, or null.
  void Announce(Spot* here) {
    if (kBug != Bug::kAnnounceWithoutBarrier) ModelAtomics::LightBarrier();
    WakeOneIfNobodyLooks(here);
  }
  void AnnounceFromOutside() {
    if (kBug != Bug::kOutsideWithoutFence) ModelAtomics::Fence(kSeqCst);
    WakeOneIfNobodyLooks(nullptr);
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
    OrderAgainstAnnounce(Parked(before));
    if (has_more()) WakeOne(nullptr);
  }
  // Calls `on_event` for each event. Returns whether the worker is searching for work when it goes on.
  template <class HasWork, class TakeOwn, class OnEvent>
  bool Park(Spot& spot, bool was_searching, HasWork has_work, TakeOwn take_own, OnEvent on_event) {
    mu_.Lock();
    spots_[parked_] = &spot;
    parked_ = parked_ + 1;
    spot.state.store(kParked, kRelaxed);
    const uint64_t before = state_.fetch_add(kOneParked - (was_searching ? kOneSearching : 0), kSeqCst);
    mu_.Unlock();
    OrderAgainstAnnounce(Parked(before));
    const bool stays = kBug == Bug::kParkDoesNotLook || !has_work();
    bool polls = false;
    if (!stays || (source_ != nullptr && source_->is_taken.load(kSeqCst) == 0)) {
      mu_.Lock();
      if (!stays && spot.is_parked()) Unpark(spot, kOneSearching);
      const bool is_parked = spot.is_parked();
      polls = is_parked && source_ != nullptr && source_->TryTake();
      if (polls) {
        poller_ = &spot;
        has_poller_.store(1, kSeqCst);
        ModelAtomics::Fence(kSeqCst);
      }
      mu_.Unlock();
      if (!is_parked) return true;
    }
    if (!polls) {
      spot.Sleep();
      return true;
    }
    bool took = false;
    do {
      if (source_->Poll()) on_event(&spot);
      took = kBug != Bug::kPollerTakesNothingOwn && take_own();
    } while (!took && spot.is_parked());
    mu_.Lock();
    poller_ = static_cast<Spot*>(nullptr);
    has_poller_.store(0, kSeqCst);
    source_->GiveBack();
    bool is_searching = true;
    if (spot.is_parked()) {
      Unpark(spot, 0);
      is_searching = false;
    }
    mu_.Unlock();
    return is_searching;
  }

 private:
  static constexpr uint64_t kOneSearching = 1;
  static constexpr uint64_t kOneParked = uint64_t{1} << 32;
  static uint64_t Searching(uint64_t state) { return state & (kOneParked - 1); }
  static uint64_t Parked(uint64_t state) { return state >> 32; }

  void OrderAgainstAnnounce(uint64_t parked) {
    if (kBug == Bug::kParkWithoutBarrier) return;
    const bool others_sleep = kBug == Bug::kParkNeverHeavy || parked + 1 >= kWorkers;
    if (others_sleep && (kBug == Bug::kParkIgnoresThePoller || has_poller_.load(kSeqCst) == 0)) {
      ModelAtomics::Fence(kSeqCst);
    } else {
      ModelAtomics::HeavyBarrier();
    }
  }
  void WakeOneIfNobodyLooks(Spot* here) {
    const uint64_t state = state_.load(kRelaxed);
    if (Parked(state) == 0 || Searching(state) != 0) return;
    WakeOne(here);
  }
  void WakeOne(Spot* here) {
    mu_.Lock();
    if (parked_ != 0 && Searching(state_.load(kSeqCst)) == 0) {
      const int parked = parked_;
      Spot* spot = spots_[static_cast<size_t>(parked) - 1];
      Spot* const poller = poller_;
      if (spot == poller && parked > 1) spot = spots_[static_cast<size_t>(parked) - 2];
      if (spot != here) {
        if (Unpark(*spot, kOneSearching)) spot->Wake();
        if (spot == poller && kBug != Bug::kPollerIsNotWoken) source_->Wake();
      }
    }
    mu_.Unlock();
  }
  bool Unpark(Spot& spot, uint64_t then_searching) {
    if (spots_[0] == &spot) spots_[0] = static_cast<Spot*>(spots_[1]);
    parked_ = parked_ - 1;
    state_.fetch_add(then_searching - kOneParked, kSeqCst);
    return spot.End();
  }

  Source* const source_;
  ModelAtomic<uint64_t> state_{0};
  ModelAtomic<int> has_poller_{0};
  ModelMutex mu_;
  std::array<ModelPlain<Spot*>, kWorkers> spots_;
  ModelPlain<int> parked_{0};
  ModelPlain<Spot*> poller_{nullptr};
};

// Where the two pieces of work come from.
enum class From {
  kOutside,   // both from a thread that is not a worker
  kWorker,    // one from such a thread; the worker that runs it makes the other
  kOneEvent,  // both from one event
};

template <Bug kBug>
struct Pool {
  explicit Pool(bool has_source) : parking(has_source ? &source : nullptr) {}

  Source source;
  Parking<kBug> parking;
  std::array<typename Parking<kBug>::Spot, kWorkers> spots;
  ModelAtomic<int> work{0};  // queued
  ModelAtomic<int> runs{0};

  void Push() { work.fetch_add(1, std::memory_order_release); }
  bool Take() {
    int queued = work.load(std::memory_order_acquire);
    while (queued > 0) {
      if (work.compare_exchange_strong(queued, queued - 1, std::memory_order_acq_rel, std::memory_order_acquire)) {
        return true;
      }
    }
    return false;
  }
  // Runs in a thread that is not a worker.
  void Produce(From from) {
    if (from == From::kOneEvent) {
      source.Post();
      return;
    }
    for (int i = 0; i < (from == From::kWorker ? 1 : 2); ++i) {
      Push();
      parking.AnnounceFromOutside();
    }
  }
  // Runs in a worker, until the worker has run one piece of work. Repeats the steps of ThreadPool::Search.
  void Work(size_t worker, From from) {
    const auto has_work = [this] { return work.load(kRelaxed) != 0; };
    const auto take_own = [this] { return Take(); };
    const auto on_event = [this](typename Parking<kBug>::Spot* here) {
      for (int i = 0; i < 2; ++i) {
        Push();
        parking.Announce(here);
      }
    };
    bool is_searching = false;
    bool has_some = false;
    while (!has_some) {
      if (!is_searching) is_searching = parking.StartSearch();
      has_some = Take();
      if (has_some) break;
      bool took = false;
      is_searching = parking.Park(spots[worker], is_searching, has_work, [&] { return took = take_own(); }, on_event);
      has_some = took;
    }
    if (is_searching) parking.FoundWork(has_work);
    if (runs.fetch_add(1, std::memory_order_release) == 0 && from == From::kWorker) {
      Push();
      parking.Announce(nullptr);
    }
    ModelAtomics::WakeAll(runs);
    ModelAtomics::WaitWhile(runs, 1);  // until both have run
  }
};

template <Bug kBug = Bug::kNone>
Outcome ExplorePool(From from, bool has_source, const Bounds& bounds) {
  return Explore(bounds, [&](Program& program) {
    auto pool = std::make_shared<Pool<kBug>>(has_source);
    program.Name(pool->source, "source");
    program.Name(pool->parking, "parking");
    program.Name(pool->spots, "spots");
    program.Name(pool->work, "work");
    program.Name(pool->runs, "runs");
    for (size_t i = 0; i < kWorkers; ++i) program.Thread("worker", [pool, i, from] { pool->Work(i, from); });
    program.Thread("producer", [pool, from] { pool->Produce(from); });
  });
}

constexpr Bounds kFew = {.preemptions_max = 2, .old_reads_max = 1};

TEST(ParkingModelTest, NoWorkIsLeftWhileAWorkerSleeps) {
  for (const From from : {From::kOutside, From::kWorker}) {
    ExpectHolds(ExplorePool<>(from, false, {.preemptions_max = 3, .old_reads_max = 0}), 10'000);
    ExpectHolds(ExplorePool<>(from, false, kFew), 10'000);
  }
}

TEST(ParkingModelTest, NoWorkIsLeftWhileAWorkerPolls) {
  for (const From from : {From::kOutside, From::kWorker, From::kOneEvent}) {
    ExpectHolds(ExplorePool<>(from, true, {.preemptions_max = 2, .old_reads_max = 1}), 10'000);
  }
}

TEST(ParkingModelTest, AMissingBarrierIsFoundOnEitherSide) {
  EXPECT_THAT(ExplorePool<Bug::kAnnounceWithoutBarrier>(From::kWorker, false, kFew).failure,
              HasSubstr("a wake-up was lost"));
  EXPECT_THAT(ExplorePool<Bug::kOutsideWithoutFence>(From::kOutside, false, kFew).failure,
              HasSubstr("a wake-up was lost"));
  EXPECT_THAT(ExplorePool<Bug::kParkWithoutBarrier>(From::kOutside, false, kFew).failure,
              HasSubstr("a wake-up was lost"));
  EXPECT_THAT(ExplorePool<Bug::kParkNeverHeavy>(From::kWorker, false, kFew).failure, HasSubstr("a wake-up was lost"));
}

TEST(ParkingModelTest, AWorkerThatTakesThePollingOneToAnnounceNothingIsFound) {
  EXPECT_THAT(ExplorePool<Bug::kParkIgnoresThePoller>(From::kOneEvent, true, kFew).failure,
              HasSubstr("a wake-up was lost"));
}

TEST(ParkingModelTest, APollingWorkerThatIsNotWokenThroughItsSourceIsFound) {
  EXPECT_THAT(ExplorePool<Bug::kPollerIsNotWoken>(From::kOutside, true, kFew).failure, HasSubstr("a wake-up was lost"));
}

TEST(ParkingModelTest, APollingWorkerThatLeavesItsOwnWorkIsFound) {
  EXPECT_THAT(ExplorePool<Bug::kPollerTakesNothingOwn>(From::kOneEvent, true, kFew).failure,
              HasSubstr("a wake-up was lost"));
}

TEST(ParkingModelTest, AWorkerThatDoesNotLookBeforeItSleepsIsFound) {
  EXPECT_THAT(ExplorePool<Bug::kParkDoesNotLook>(From::kOutside, false, kFew).failure, HasSubstr("a wake-up was lost"));
}

TEST(ParkingModelTest, AWorkerThatSleepsThoughItWasWokenBeforeIsFound) {
  EXPECT_THAT(ExplorePool<Bug::kSleepDoesNotLook>(From::kOutside, false, kFew).failure,
              HasSubstr("a wake-up was lost"));
}

TEST(ParkingModelTest, ALastSearcherThatDoesNotLookForMoreIsFound) {
  EXPECT_THAT(ExplorePool<Bug::kFoundWorkDoesNotLook>(From::kOutside, false, kFew).failure,
              HasSubstr("a wake-up was lost"));
}

}  // namespace
}  // namespace understudy::model
