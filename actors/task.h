// Task<T>: a coroutine of an actor. A handler or Start that returns one may
// await answers; the actor is held meanwhile, unless its clause is
// Interleaved().
//
//   Task<absl::StatusOr<OfferResult>> Bid(Offer offer) {
//     auto asked = book_->record().Ask(offer, absl::Seconds(5));
//     auto recorded = co_await asked;
//     if (!recorded.ok()) co_return recorded.status();
//     co_return OfferResult();
//   }
//
// Starts when awaited, which it is once (CHECKed), or run by the actor. Awaits only Understudy's awaitables
// and other Tasks. Owner's turn only: its handle never leaves the actor (what it awaits is CHECKed). The
// frame is destroyed with the Task, suspended or not. Of Tasks that await each other the innermost is destroyed first,
// as by an exception, and however many they are, this takes a bounded stack.
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

// Resumes one coroutine after another, so that the stack does not grow with the Tasks that await each other. A transfer
// from one to the next by await_suspend would be a tail call only where the compiler optimises.
class Relay {
 public:
  // Resumes `first`, and then the next as long as the one that has suspended or ended named one.
  static void Run(std::coroutine_handle<> first) {
    for (; first != nullptr; first = std::exchange(next_, nullptr)) first.resume();
  }
  // For await_suspend, which then returns: nothing runs on this thread before Run has resumed `next`.
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

  // `owner` is this frame's.
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

  std::coroutine_handle<> continuation_;  // null until it is awaited, which begins it
  TaskPromiseBase* awaiter_ = nullptr;    // while it is awaited by a Task: that one's
  TaskOwner* awaited_ = nullptr;          // while it awaits a Task: that one
  std::exception_ptr exception_;
};

// A Task of any type: owns a frame.
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

  TaskPromiseBase* promise_;  // null: it was moved from, or its frame was destroyed before it

 private:
  void TellAwaiter() {
    if (promise_ != nullptr && promise_->awaiter_ != nullptr) promise_->awaiter_->awaited_ = this;
  }
  // The frame, and before it those that it awaits, which may refer to what lies in it. Each of these has its owner in
  // the frame that awaits it; emptied, that owner's destructor does not destroy it again.
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
    Task& task_;  // until it is awaited; then it may be moved
    promise_type& promise_;
  };
  // The Task lives until the awaiting expression is over.
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
