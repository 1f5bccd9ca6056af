// Stream<M>: the items that come in answer to one call whose mailbox is declared as Call<Request, Stream<M>>.
//
//   Mailbox<"Watch", Call<WatchRequest, Stream<Price>>> watch{this};    // the callee's; its handler: stream_writer.h
//
//   Stream<Price> prices = lot.watch().Ask(request);                     // in an actor's turn
//   for (;;) {
//     absl::StatusOr<absl::optional<Price>> price = co_await prices.Next(absl::Seconds(5));
//     if (!price.ok()) co_return Fail(price.status());                   // the error with which the stream ended
//     if (!price->has_value()) break;                                    // the end
//     Use(**price);
//   }
//
// A stream is a call whose answer comes in items; its end is the answer to the call. Ask sends the call at once. The
// items come in the order in which they were written, also in respect of the callee's other signals to this actor. They
// wait in the stream, in no mailbox, until Next takes them. The writer may be ahead by limits::kStreamItemsMax items,
// and by limits::kStreamBytesMax bytes and one item. Next takes no message from a mailbox, and works in every behavior
// of the actor.
//
// Ends: the callee finishes the stream (OK is the end without an error), or it fails as any call does: a refusal (as
// Send), CalleeExited, Unanswered, NoConnection, or the callee's own status. Items that came before the end are given
// first. From then on each Next gives the end again. The call has no deadline: each Next has one. Expired from Next
// ends nothing; another Next continues.
//
// Destroying the Stream cancels the call, which reaches the writer as Cancelled; so does the end of the asker, with its
// exit reason (ExitReasonOf). Items that were not taken are dropped. A Stream that a handler opened for a call in hand
// ends with Cancelled when that call is cancelled in hand.
//
// The handler of a mailbox that is declared as Call<Stream<M>, Reply> takes a Stream<M> by value, in place of the
// request, and reads the items that the asker writes; upload.h has an example and says how it ends. It may keep the
// Stream, and cannot Postpone its call.
//
// Threads: a Stream belongs to the actor that asked, or whose handler got it, and is used, moved and destroyed in its
// turns only. It may be moved into another variable or coroutine of the actor, and not into a message (CHECKed).
#ifndef UNDERSTUDY_ACTORS_STREAM_H_
#define UNDERSTUDY_ACTORS_STREAM_H_

#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/internal/asks/ask_table.h"
#include "understudy/actors/internal/asks/stream_table.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pending.h"
#include "understudy/actors/pid.h"

namespace understudy {
namespace internal {

// The answer to a Next.
template <class M>
struct NextItem {};
template <class M>
struct AnswerOf<NextItem<M>> {
  using type = absl::StatusOr<absl::optional<M>>;
  static type From(Answer answer) {
    if (!answer.status.ok()) return std::move(answer.status);
    if (answer.payload.block() == nullptr) return absl::optional<M>();
    if (absl::Status parsed = answer.payload.ParseAs(TypeOf<M>()); !parsed.ok()) return parsed;
    return absl::optional<M>(std::move(answer.payload.template As<M>()));
  }
};

class StreamBase {
 public:
  StreamBase(const StreamBase&) = delete;
  StreamBase& operator=(const StreamBase&) = delete;

 protected:
  explicit StreamBase(PendingId ask) : owner_(ask.asker), call_(StreamTable::Own(ask.id)) {}
  // The stream of items of the upload that `activation` handles.
  explicit StreamBase(Activation& activation);
  StreamBase(StreamBase&& other) noexcept : owner_(std::exchange(other.owner_, {})), call_(other.call_) { CheckMove(); }
  StreamBase& operator=(StreamBase&& other) noexcept {
    if (this != &other) {
      Close();
      owner_ = std::exchange(other.owner_, {});
      call_ = other.call_;
      CheckMove();
    }
    return *this;
  }
  ~StreamBase() { Close(); }

  PendingId Next(absl::Duration timeout) const;
  // Cancels the call, or tells the writer of an upload, unless the stream has ended or this object was moved from.
  void Close();

 private:
  static void CheckMove();

  Pid owner_;  // the actor that reads; null after Close and when moved from
  // As in the table of `owner_`. Its id is 0 if this object has no stream there: the call was refused without an ask,
  // or it is an upload with the number of one that another Stream has.
  StreamTable::Call call_;
};

}  // namespace internal

template <class M>
class [[nodiscard]] Stream : public internal::StreamBase {
 public:
  using Item = M;

  // For the library (Channel::Ask, Channel::Open).
  explicit Stream(internal::PendingId ask) : StreamBase(ask) {}
  // Takes the upload in hand; for the library.
  explicit Stream(internal::Activation& activation) : StreamBase(activation) {}

  // Awaiting the result gives the next item, nullopt at the end of the stream, or the error with which it ended.
  // Expired if nothing comes within `timeout`, or before the deadline of the call that is being handled. The result may
  // also be awaited in a group (pending_group.h), or later; an item that it has got is lost if it is not awaited by its
  // deadline. Only one Next of a stream may wait at a time (CHECKed). An item that does not parse gives
  // InvalidArgument.
  [[nodiscard]] Pending<internal::NextItem<M>> Next(absl::Duration timeout) const {
    return Pending<internal::NextItem<M>>(StreamBase::Next(timeout));
  }
  // Does what destroying this object does. CHECKs that Next is not called afterwards.
  void Cancel() { Close(); }
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_STREAM_H_
