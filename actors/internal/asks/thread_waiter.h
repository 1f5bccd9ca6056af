// Outlet: passes the outcome of an ask or lookup from the actor that awaits it to code outside actors: to a plain
// thread that blocks (Handover), or to a callback (callback_ask.h).
//
//   auto handover = std::make_shared<Handover<absl::StatusOr<int>>>(executor);
//   … an actor that owns OutletEnd(handover, cancelled) awaits the answer and calls Give …
//   absl::StatusOr<int> got = handover->Await(deadline, late, cancelled);
//
// Guarantee: an Outlet takes exactly one outcome, the first. That is the one that the actor gives. If the actor ends,
// or could not be spawned, before it has given one, it is the error with which its OutletEnd was made.
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

// The receiver of one outcome. `T` is a StatusOr. Any thread.
template <class T>
class Outlet {
 public:
  virtual ~Outlet() = default;
  // Does nothing if an outcome was given before.
  virtual void Give(T outcome) = 0;
};

// The Outlet of a plain thread that blocks until there is an outcome.
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
  // Call on a plain thread, once. Returns `late` if no outcome was given by `deadline`, and `closed` if the executor
  // has nothing left to run that could give one.
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

// The actor's end of an Outlet. If it is destroyed before Give was called, it gives an error.
template <class T>
class OutletEnd {
 public:
  using Value = T;
  // `closed` is the outcome if Give is never called.
  OutletEnd(std::shared_ptr<Outlet<T>> outlet, absl::Status closed)
      : outlet_(std::move(outlet)), closed_(std::move(closed)) {}
  OutletEnd(OutletEnd&&) = default;
  OutletEnd& operator=(OutletEnd&&) = delete;
  ~OutletEnd() {
    if (outlet_ != nullptr) outlet_->Give(T(std::move(closed_)));
  }
  // Call at most once.
  void Give(T given) { std::exchange(outlet_, nullptr)->Give(std::move(given)); }

 private:
  std::shared_ptr<Outlet<T>> outlet_;  // null after a move from this object, or after Give
  absl::Status closed_;
};

// An actor that awaits, on behalf of code outside actors, the answer to the Pending that `begin` returns, and gives it
// to `result`. `begin` is called in the actor's turn, with the actor's context and the time until `deadline`.
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
