// Pending<R>: an answer that is on its way to the actor that asked.
//
//   auto asked = lot.make_offer().Ask(offer, absl::Seconds(1));
//   absl::StatusOr<OfferResult> result = co_await asked;
//
// It is a trivially destructible value: an index and a serial in the asker's
// table. It is awaited at most once, and only by the asker (CHECKed). What it
// stands for is freed when awaited, at its deadline, or with the asker, so
// dropping a Pending leaks nothing. Await it in a second statement: GCC 12
// destroys aggregate temporaries inside a co_await expression twice.
#ifndef UNDERSTUDY_ACTORS_PENDING_H_
#define UNDERSTUDY_ACTORS_PENDING_H_

#include <coroutine>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"

namespace understudy {
namespace internal {

// An entry of the asker's table.
struct PendingId {
  Pid asker;
  uint64_t id = 0;
};

struct Answer {
  absl::Status status;
  Payload payload;
};

bool IsAnswered(PendingId pending);
void AwaitAnswer(PendingId pending, std::coroutine_handle<> waiter);
Answer TakeAnswer(PendingId pending);
void CancelPending(PendingId pending);
// What an ask of a fenced actor gives: its answer is Cancelled.
PendingId CancelledAsk();

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

}  // namespace internal

template <class R>
class [[nodiscard]] Pending {
 public:
  using UnderstudyAwaitable = void;

  explicit Pending(internal::PendingId id) : id_(id) {}

  // Gives the call up: it is cancelled where it has not been handled, and the
  // answer is Cancelled. Owner only.
  void Cancel() const { internal::CancelPending(id_); }

  auto operator co_await() const {
    struct Awaiter : internal::PendingAwaiter {
      using internal::PendingAwaiter::PendingAwaiter;
      absl::StatusOr<R> await_resume() const {
        internal::Answer answer = internal::TakeAnswer(this->pending_);
        if (!answer.status.ok()) return answer.status;
        if (absl::Status parsed = answer.payload.ParseAs(internal::TypeOf<R>()); !parsed.ok()) return parsed;
        return std::move(answer.payload.template As<R>());
      }
    };
    return Awaiter(id_);
  }

 private:
  internal::PendingId id_;
};

// An answer that is only a status.
template <>
class [[nodiscard]] Pending<void> {
 public:
  using UnderstudyAwaitable = void;

  explicit Pending(internal::PendingId id) : id_(id) {}

  void Cancel() const { internal::CancelPending(id_); }

  auto operator co_await() const {
    struct Awaiter : internal::PendingAwaiter {
      using internal::PendingAwaiter::PendingAwaiter;
      absl::Status await_resume() const { return internal::TakeAnswer(this->pending_).status; }
    };
    return Awaiter(id_);
  }

 private:
  internal::PendingId id_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_PENDING_H_
