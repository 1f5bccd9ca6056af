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
// frame is destroyed with the Task, suspended or not.
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

  void set_continuation(std::coroutine_handle<> continuation) {
    UNDERSTUDY_CHECK(continuation_ == nullptr,
                     "a Task is awaited a second time; await each once, and keep what it gives");
    continuation_ = continuation;
  }

 protected:
  void RethrowIfFailed() {
#if defined(__cpp_exceptions)
    if (exception_ != nullptr) std::rethrow_exception(exception_);
#endif
  }

 private:
  std::coroutine_handle<> continuation_;  // null until it is awaited, which begins it
  std::exception_ptr exception_;
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
class [[nodiscard]] Task {
 public:
  using promise_type = internal::TaskPromise<T>;
  using Handle = std::coroutine_handle<promise_type>;

  explicit Task(Handle handle) : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Task() {
    if (handle_ != nullptr) handle_.destroy();
  }

  class Awaiter {
   public:
    explicit Awaiter(Handle handle) : handle_(handle) {}
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> waiter) {
      handle_.promise().set_continuation(waiter);
      internal::Relay::SetNext(handle_);
    }
    T await_resume() { return handle_.promise().Take(); }

   private:
    Handle handle_;
  };
  // The Task lives until the awaiting expression is over.
  Awaiter operator co_await() const {
    UNDERSTUDY_CHECK(handle_ != nullptr, "the Task was moved from");
    return Awaiter(handle_);
  }

 private:
  Handle handle_;
};

template <class T>
Task<T> internal::TaskPromise<T>::get_return_object() {
  return Task<T>(std::coroutine_handle<TaskPromise>::from_promise(*this));
}

inline Task<void> internal::TaskPromise<void>::get_return_object() {
  return Task<void>(std::coroutine_handle<TaskPromise>::from_promise(*this));
}

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_TASK_H_
