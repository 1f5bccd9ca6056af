// Pending<R>: an answer that is on its way to the actor that asked.
//
//   auto asked = lot.make_offer().Ask(offer, absl::Seconds(1));
//   absl::StatusOr<OfferResult> result = co_await asked;
//
// A Pending is a trivially destructible value: the id of an entry in the asker's
// table, and the deadline. It may be awaited at most once, and only by the asker
// (CHECKed). The entry is freed when the Pending is awaited, at the deadline, or when
// the asker ends, so dropping a Pending leaks nothing. A Pending that is first awaited
// after its deadline gives Expired. Await it in a second statement, as above: GCC 12
// destroys aggregate temporaries inside a co_await expression twice. To await several
// answers at once see pending_group.h.
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

// True also if there is no entry, so that awaiting it need not suspend.
bool IsAnswered(PendingId pending);
void AwaitAnswer(PendingId pending, std::coroutine_handle<> waiter);
Answer TakeAnswer(PendingId pending);
void CancelPending(PendingId pending);
// Returns the id of an ask that is refused because its actor was fenced or is ending. Its answer is Cancelled.
PendingId CancelledAsk();

// The type of the answer that awaiting a Pending<R> gives, and how it is made. stream.h specializes it.
template <class R>
struct AnswerOf {
  using type = absl::StatusOr<R>;
  static type From(Answer answer) {
    if (!answer.status.ok()) return std::move(answer.status);
    if (absl::Status parsed = answer.payload.ParseAs(TypeOf<R>()); !parsed.ok()) return parsed;
    return std::move(answer.payload.template As<R>());
  }
};
template <>
struct AnswerOf<void> {
  using type = absl::Status;
  static type From(Answer answer) { return std::move(answer.status); }
};

template <class R>
typename AnswerOf<R>::type ToAnswer(Answer answer) {
  return AnswerOf<R>::From(std::move(answer));
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
// True if T may be awaited with this value category. A group, which must not move, may be awaited only as an lvalue.
template <class T>
concept AwaitableAs =
    requires { std::declval<T>().await_ready(); } || requires { std::declval<T>().operator co_await(); };

}  // namespace internal

// If R is void, the answer is only a Status.
template <class R>
class [[nodiscard]] Pending {
 public:
  using UnderstudyAwaitable = void;

  explicit Pending(internal::PendingId id) : id_(id) {}

  // Gives the call up: awaiting this Pending gives Cancelled. The callee does not
  // handle the call any more; if its handler already runs and awaits, the asks that
  // the handler made for this call are cancelled too. Owner's turn only.
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
