// How what an actor awaits reaches whoever waits for it outside of all actors: a thread that blocks, or a callback
// (callback_ask.h).
//
//   auto handover = std::make_shared<Handover<absl::StatusOr<int>>>(executor);
//   … an actor that has OutletEnd(handover, cancelled) calls its Give …
//   absl::StatusOr<int> got = handover->Await(deadline, late, cancelled);
//
// Of each Outlet exactly one outcome is taken, the first: what the actor gives, or, if it ends or never comes to be
// before it has given any, the error that its end carries.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_ASKS_THREAD_WAITER_H_
#define UNDERSTUDY_ACTORS_INTERNAL_ASKS_THREAD_WAITER_H_

#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/executor.h"

namespace understudy::internal {

// Where an outcome goes. `T` is a StatusOr. Any thread.
template <class T>
class Outlet {
 public:
  virtual ~Outlet() = default;
  // Drops the outcome if there was one before.
  virtual void Give(T outcome) = 0;
};

// That of a thread that blocks.
template <class T>
class Handover final : public Outlet<T> {
 public:
  explicit Handover(Executor& executor) : executor_(executor) {}

  void Give(T outcome) override {
    {
      absl::MutexLock lock(&mu_);
      if (outcome_.has_value()) return;
      outcome_.emplace(std::move(outcome));  // not by assignment: a reply need only be movable
    }
    executor_.Notify();
  }
  // On a plain thread, once. `late` when nothing was given by `deadline`, `closed` when the executor has nothing left
  // to run that could give it.
  T Await(MonotonicTime deadline, absl::Status late, absl::Status closed) {
    executor_.BlockUntil([this] { return HasOutcome(); }, deadline);
    absl::MutexLock lock(&mu_);
    if (outcome_.has_value()) return *std::move(outcome_);
    return deadline.is_infinite() || executor_.clock().Now() < deadline ? std::move(closed) : std::move(late);
  }

 private:
  bool HasOutcome() {
    absl::MutexLock lock(&mu_);
    return outcome_.has_value();
  }

  Executor& executor_;
  absl::Mutex mu_;
  absl::optional<T> outcome_ ABSL_GUARDED_BY(mu_);
};

// The actor's end of it.
template <class T>
class OutletEnd {
 public:
  using Value = T;
  // `closed` is the outcome if none is given.
  OutletEnd(std::shared_ptr<Outlet<T>> outlet, absl::Status closed)
      : outlet_(std::move(outlet)), closed_(std::move(closed)) {}
  OutletEnd(OutletEnd&&) = default;
  OutletEnd& operator=(OutletEnd&&) = delete;
  ~OutletEnd() {
    if (outlet_ != nullptr) outlet_->Give(T(std::move(closed_)));
  }
  // Once.
  void Give(T given) { std::exchange(outlet_, nullptr)->Give(std::move(given)); }

 private:
  std::shared_ptr<Outlet<T>> outlet_;  // null: moved from, or an outcome was given
  absl::Status closed_;
};

// Awaits for others what `begin` starts in this actor's turn: it is given the context and the time that is left.
template <class T, class Begin>
class ThreadWaiter final : public Actor {
 public:
  using Result = OutletEnd<T>;
  ThreadWaiter(Begin begin, MonotonicTime deadline, Result result)
      : result_(std::move(result)), begin_(std::move(begin)), deadline_(deadline) {}
  StartResult Start() override { return Wait(); }

 private:
  Task<> Wait() {
    const auto pending = begin_(context(), deadline_ - context().Now());
    T got = co_await pending;
    result_.Give(std::move(got));
  }

  Result result_;
  Begin begin_;
  MonotonicTime deadline_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_ASKS_THREAD_WAITER_H_
