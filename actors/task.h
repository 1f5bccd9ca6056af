// Task<T>: a coroutine of an actor. A handler or Start that returns a Task may
// await answers. Meanwhile the actor handles no other message, unless the
// handler's clause is Interleaved().
//
//   Task<absl::StatusOr<OfferResult>> Bid(Offer offer) {
//     auto asked = book_->record().Ask(offer, absl::Seconds(5));
//     auto recorded = co_await asked;
//     if (!recorded.ok()) co_return recorded.status();
//     co_return OfferResult();
//   }
//
// A Task starts when it is awaited, or when the actor runs it as the result of a handler. It
// may be awaited once (CHECKed), and awaits only Understudy's awaitables and other Tasks.
// Owner's turn only: each awaitable CHECKs that the actor to which it belongs awaits it.
//
// Destroying a Task destroys its frame, suspended or not. Of Tasks that await each other, the
// innermost is destroyed first, as by an exception. The stack needed for that is bounded,
// however many Tasks there are.
#ifndef UNDERSTUDY_ACTORS_TASK_H_
#define UNDERSTUDY_ACTORS_TASK_H_

#include <coroutine>
#include <exception>
#include <type_traits>
#include <utility>

#include "absl/types/optional.h"
#include "understudy/actors/check.h"
#include "understudy/actors/pending.h"

namespace understudy {

template <class T = void>
class Task;

namespace internal {

template <class T>
struct IsTask : std::false_type {};
template <class T>
struct IsTask<Task<T>> : std::true_type {};

// Resumes one coroutine after another in a loop, so that the stack does not grow with the number of Tasks that await
// each other. Returning the next handle from await_suspend would not do: compilers make that a tail call only if they
// optimise.
class Relay {
 public:
  // Resumes `first`. When a coroutine has suspended or ended, resumes the one that it named by SetNext, if any.
  static void Run(std::coroutine_handle<> first) {
    for (; first != nullptr; first = std::exchange(next_, nullptr)) first.resume();
  }
  // Names the coroutine that Run resumes next on this thread. Call from await_suspend, which must then return.
  static void SetNext(std::coroutine_handle<> next) { next_ = next; }

 private:
  static inline constinit thread_local std::coroutine_handle<> next_ __attribute__((tls_model("initial-exec"))) = {};
};

class TaskOwner;

class TaskPromiseBase {
 public:
  std::suspend_always initial_suspend() noexcept { return {}; }

  struct Final {
    bool await_ready() noexcept { return false; }
    template <class P>
    void await_suspend(std::coroutine_handle<P> done) noexcept {
      Relay::SetNext(done.promise().continuation_);
    }
    void await_resume() noexcept {}
  };
  Final final_suspend() noexcept { return {}; }

  void unhandled_exception() noexcept { exception_ = std::current_exception(); }

  template <class A>
  decltype(auto) await_transform(A&& awaitable) {
    static_assert(
        Awaitable<A> || IsTask<std::remove_cvref_t<A>>::value,
        "a Task awaits only Understudy's awaitables (of Ask, SendWhenRoom, Lookup, Sleep, Publish, Receive and "
        "groups of asks) and other Tasks");
    static_assert(!Awaitable<A> || AwaitableAs<A>,
                  "this awaitable stays where it is until it is awaited: keep it in a variable, and await that");
    return std::forward<A>(awaitable);
  }

  // Notes that `continuation` awaits this frame. `owner` is the Task that owns this frame.
  template <class P>
  void BeginAwait(TaskOwner& owner, std::coroutine_handle<P> continuation) {
    UNDERSTUDY_CHECK(continuation_ == nullptr,
                     "a Task is awaited a second time; await each once, and keep what it gives");
    continuation_ = continuation;
    if constexpr (std::is_base_of_v<TaskPromiseBase, P>) {
      awaiter_ = &continuation.promise();
      awaiter_->awaited_ = &owner;
    }
  }
  std::coroutine_handle<> frame() const { return frame_; }
  void EndAwait() {
    if (awaiter_ == nullptr) return;
    awaiter_->awaited_ = nullptr;
    awaiter_ = nullptr;
  }

 protected:
  void RethrowIfFailed() {
#if defined(__cpp_exceptions)
    if (exception_ != nullptr) std::rethrow_exception(exception_);
#endif
  }

  std::coroutine_handle<> frame_;

 private:
  friend TaskOwner;

  std::coroutine_handle<> continuation_;  // the coroutine that awaits this frame; null until it is awaited
  TaskPromiseBase* awaiter_ = nullptr;    // the promise of the Task that awaits this frame, if any
  TaskOwner* awaited_ = nullptr;          // the Task that this frame awaits, if any
  std::exception_ptr exception_;
};

// The base of all Tasks: owns a coroutine frame.
class TaskOwner {
 protected:
  explicit TaskOwner(TaskPromiseBase* promise) : promise_(promise) {}
  TaskOwner(TaskOwner&& other) noexcept : promise_(std::exchange(other.promise_, nullptr)) { TellAwaiter(); }
  TaskOwner& operator=(TaskOwner&& other) noexcept {
    std::swap(promise_, other.promise_);
    TellAwaiter();
    other.TellAwaiter();
    return *this;
  }
  ~TaskOwner() {
    if (promise_ != nullptr) DestroyFrames();
  }

  TaskPromiseBase* promise_;  // null if this Task was moved from, or DestroyFrames has destroyed its frame

 private:
  // Corrects the awaiter's pointer to this Task, which has moved.
  void TellAwaiter() {
    if (promise_ != nullptr && promise_->awaiter_ != nullptr) promise_->awaiter_->awaited_ = this;
  }
  // Destroys this frame and all frames that it awaits, directly or not, the innermost first, because an awaited frame
  // may refer to variables of the frame that awaits it. The Task that owns an awaited frame is a variable of the
  // awaiting frame; its promise_ is set to null, so that its destructor does not destroy the frame again.
  void DestroyFrames() {
    TaskPromiseBase* last = promise_;
    while (last->awaited_ != nullptr) last = last->awaited_->promise_;
    while (last != promise_) {
      TaskPromiseBase* const awaiter = last->awaiter_;
      std::exchange(awaiter->awaited_, nullptr)->promise_ = nullptr;
      last->frame_.destroy();
      last = awaiter;
    }
    promise_->frame_.destroy();
  }
};

template <class T>
class TaskPromise : public TaskPromiseBase {
 public:
  Task<T> get_return_object();
  template <class U>
    requires std::is_convertible_v<U&&, T>
  void return_value(U&& value) {
    value_.emplace(std::forward<U>(value));
  }
  T Take() {
    RethrowIfFailed();
    return std::move(*value_);
  }

 private:
  absl::optional<T> value_;
};

template <>
class TaskPromise<void> : public TaskPromiseBase {
 public:
  Task<void> get_return_object();
  void return_void() {}
  void Take() { RethrowIfFailed(); }
};

}  // namespace internal

template <class T>
class [[nodiscard]] Task : private internal::TaskOwner {
 public:
  using promise_type = internal::TaskPromise<T>;

  explicit Task(promise_type& promise) : TaskOwner(&promise) {}
  Task(Task&&) noexcept = default;
  Task& operator=(Task&&) noexcept = default;

  class Awaiter {
   public:
    explicit Awaiter(Task& task) : task_(task), promise_(static_cast<promise_type&>(*task.promise_)) {}
    bool await_ready() const { return false; }
    template <class P>
    void await_suspend(std::coroutine_handle<P> waiter) {
      promise_.BeginAwait(task_, waiter);
      internal::Relay::SetNext(promise_.frame());
    }
    T await_resume() {
      promise_.EndAwait();
      return promise_.Take();
    }

   private:
    Task& task_;  // not used after await_suspend: the Task may have been moved by then
    promise_type& promise_;
  };
  // The Task must live until the co_await expression has been evaluated. CHECKs that it was not moved from.
  Awaiter operator co_await() {
    UNDERSTUDY_CHECK(promise_ != nullptr, "the Task was moved from");
    return Awaiter(*this);
  }
};

template <class T>
Task<T> internal::TaskPromise<T>::get_return_object() {
  frame_ = std::coroutine_handle<TaskPromise>::from_promise(*this);
  return Task<T>(*this);
}

inline Task<void> internal::TaskPromise<void>::get_return_object() {
  frame_ = std::coroutine_handle<TaskPromise>::from_promise(*this);
  return Task<void>(*this);
}

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_TASK_H_
