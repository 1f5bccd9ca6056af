#include "understudy/actors/internal/scheduling/own_threads.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "understudy/actors/check.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/error.h"
#include "understudy/actors/limits.h"

namespace understudy::internal {

class OwnThreads::OwnThread final : public Worker {
 public:
  explicit OwnThread(Executor& its_executor) : Worker(its_executor, nullptr) { timer.TimeAll(); }

  bool Start() {
    return thread_.Start("actor", [this] { Work(); });
  }
  void Schedule(Runnable* runnable) {
    absl::MutexLock hold(&mu_);
    UNDERSTUDY_CHECK(next_ == nullptr && !is_ending_, "a thread of an actor's own serves one actor, once at a time");
    next_ = runnable;
    changed_.Signal();
  }
  void End() {
    absl::MutexLock hold(&mu_);
    is_ending_ = true;
    changed_.Signal();
  }
  // True if the thread runs no more turns, so that joining it does not wait for a handler. acquire: pairs with Work's
  // release store.
  bool has_ended() const { return has_ended_.load(std::memory_order_acquire); }
  // Any thread; the value may be stale.
  bool is_in_turn() const { return is_in_turn_.load(std::memory_order_relaxed); }

 private:
  void Work() {
    WorkerScope scope(*this);
    while (Runnable* runnable = Take()) {
      timer.Note(executor.clock().Now());
      ring.NoteTime(static_cast<uint64_t>(timer.noted().nanos()));
      is_in_turn_.store(true, std::memory_order_relaxed);
      RunTurn(*runnable);
      is_in_turn_.store(false, std::memory_order_relaxed);
    }
    // release: pairs with the acquire load in has_ended.
    has_ended_.store(true, std::memory_order_release);
  }
  // Waits for a Runnable. Returns null after End.
  Runnable* Take() {
    absl::MutexLock hold(&mu_);
    while (next_ == nullptr && !is_ending_) changed_.Wait(&mu_);
    return std::exchange(next_, nullptr);
  }

  std::atomic<bool> has_ended_{false};
  std::atomic<bool> is_in_turn_{false};
  absl::Mutex mu_;
  absl::CondVar changed_;
  Runnable* next_ ABSL_GUARDED_BY(mu_) = nullptr;
  bool is_ending_ ABSL_GUARDED_BY(mu_) = false;
  OsThread thread_;
};

OwnThreads::~OwnThreads() {
  // Declared before `lock`, so the threads are joined when mu_ is free again: a turn that runs may need mu_ to finish.
  std::vector<std::shared_ptr<OwnThread>> all;
  absl::MutexLock lock(&mu_);
  for (auto& [id, thread] : threads_) {
    thread->End();
    all.push_back(std::move(thread));
  }
}

void OwnThreads::JoinEnded() {
  ended_.erase(std::remove_if(ended_.begin(), ended_.end(), [](const auto& thread) { return thread->has_ended(); }),
               ended_.end());
}

absl::StatusOr<uint32_t> OwnThreads::New() {
  absl::MutexLock lock(&mu_);
  JoinEnded();
  if (threads_.size() + ended_.size() >= limits::kOwnThreadsMax) {
    return MakeError(
        ErrorKind::kFull,
        absl::StrCat(limits::kOwnThreadsMax, " actors have a thread of their own, the most that an executor allows"));
  }
  auto thread = std::make_shared<OwnThread>(executor_);
  if (!thread->Start()) return MakeError(ErrorKind::kFull, "the operating system refuses another thread for an actor");
  threads_[++last_id_] = std::move(thread);
  return last_id_;
}

void OwnThreads::End(uint32_t id) {
  if (id == 0) return;
  absl::MutexLock lock(&mu_);
  const auto thread = threads_.find(id);
  if (thread == threads_.end()) return;
  thread->second->End();
  ended_.push_back(std::move(thread->second));
  threads_.erase(thread);
}

bool OwnThreads::WhileInUserCode(Runnable* turn, absl::FunctionRef<bool()> is_meant, absl::FunctionRef<void()> action) {
  std::shared_ptr<OwnThread> worker;
  {
    absl::MutexLock lock(&mu_);
    const auto thread = std::find_if(threads_.begin(), threads_.end(), [turn](const auto& entry) {
      // relaxed: the value may be stale; WhileInUserCode checks it again under the seizure.
      return entry.second->current.load(std::memory_order_relaxed) == turn;
    });
    if (thread != threads_.end()) worker = thread->second;
  }
  // Called without mu_, because `action` may call End.
  return worker != nullptr && worker->WhileInUserCode(turn, is_meant, action);
}

std::vector<WorkerInfo> OwnThreads::InUserCode() {
  std::vector<std::shared_ptr<OwnThread>> in_turn;
  {
    absl::MutexLock lock(&mu_);
    for (const auto& [id, thread] : threads_) {
      if (thread->is_in_turn()) in_turn.push_back(thread);
    }
  }
  std::vector<WorkerInfo> threads;
  const MonotonicTime now = executor_.clock().Now();
  for (const std::shared_ptr<OwnThread>& thread : in_turn) {
    if (!thread->TrySeize()) continue;
    Runnable* const turn = thread->current.load(std::memory_order_relaxed);
    threads.push_back({.turn = turn, .doing = turn->Describe(), .running = now - thread->timer.noted()});
    thread->EndSeizure();
  }
  return threads;
}

void OwnThreads::Schedule(Runnable* runnable) {
  absl::MutexLock lock(&mu_);
  const auto thread = threads_.find(runnable->own_thread());
  UNDERSTUDY_CHECK(thread != threads_.end(), "an actor is scheduled on its own thread, which has ended");
  thread->second->Schedule(runnable);
}

int OwnThreads::size() const {
  absl::MutexLock lock(&mu_);
  return static_cast<int>(threads_.size());
}

}  // namespace understudy::internal
