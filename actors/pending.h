// Pending<R>: an answer that is on its way to the actor that asked.
//
//   auto asked = lot.make_offer().Ask(offer, absl::Seconds(1));
//   absl::StatusOr<OfferResult> result = co_await asked;
//
// It is a trivially destructible value: an index and a serial in the asker's
// table, and its deadline. It is awaited at most once, and only by the asker
// (CHECKed). What it stands for is freed when awaited, at its deadline, or with
// the asker, so dropping a Pending leaks nothing; awaited after its deadline it
// answers Expired. Await it in a second statement: GCC 12 destroys aggregate
// temporaries inside a co_await expression twice. Several at once:
// pending_group.h.
#ifndef UNDERSTUDY_ACTORS_PENDING_H_
#define UNDERSTUDY_ACTORS_PENDING_H_

#include <coroutine>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/internal/asks/ask_table.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"

namespace understudy {
namespace internal {

// An entry of the asker's table.
struct PendingId {
  Pid asker;
  uint64_t id = 0;
  MonotonicTime deadline;
};

bool IsAnswered(PendingId pending);
void AwaitAnswer(PendingId pending, std::coroutine_handle<> waiter);
Answer TakeAnswer(PendingId pending);
void CancelPending(PendingId pending);
// What an ask of an actor that was fenced or ends gives: its answer is Cancelled.
PendingId CancelledAsk();

// What awaiting a Pending<R> gives.
template <class R>
struct AnswerOf {
  using type = absl::StatusOr<R>;
};
template <>
struct AnswerOf<void> {
  using type = absl::Status;
};

template <class R>
typename AnswerOf<R>::type ToAnswer(Answer answer) {
  if constexpr (std::is_void_v<R>) {
    return std::move(answer.status);
  } else {
    if (!answer.status.ok()) return std::move(answer.status);
    if (absl::Status parsed = answer.payload.ParseAs(TypeOf<R>()); !parsed.ok()) return parsed;
    return std::move(answer.payload.template As<R>());
  }
}

class PendingAwaiter {
 public:
  explicit PendingAwaiter(PendingId pending) : pending_(pending) {}
  bool await_ready() const { return IsAnswered(pending_); }
  void await_suspend(std::coroutine_handle<> waiter) const { AwaitAnswer(pending_, waiter); }

 protected:
  PendingId pending_;
};

// A type that Understudy lets a Task await.
template <class T>
concept Awaitable = requires { typename std::remove_cvref_t<T>::UnderstudyAwaitable; };
// And lets it be awaited as what it is here: T is an lvalue reference or not.
template <class T>
concept AwaitableAs =
    requires { std::declval<T>().await_ready(); } || requires { std::declval<T>().operator co_await(); };

}  // namespace internal

// `R` may be void: then the answer is only a Status.
template <class R>
class [[nodiscard]] Pending {
 public:
  using UnderstudyAwaitable = void;

  explicit Pending(internal::PendingId id) : id_(id) {}

  // Gives the call up: it is cancelled where it has not been handled, and so is
  // what a handler that awaits has asked for it; the answer is Cancelled. Owner
  // only.
  void Cancel() const { internal::CancelPending(id_); }

  auto operator co_await() const {
    struct Awaiter : internal::PendingAwaiter {
      using internal::PendingAwaiter::PendingAwaiter;
      typename internal::AnswerOf<R>::type await_resume() const {
        return internal::ToAnswer<R>(internal::TakeAnswer(this->pending_));
      }
    };
    return Awaiter(id_);
  }

  // For the library.
  internal::PendingId id() const { return id_; }

 private:
  internal::PendingId id_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_PENDING_H_
