// StreamWriter<M>: writes the items of one stream. The handler of a mailbox that is declared as
// Call<Request, Stream<M>> takes it as its second argument, as handlers of other calls take a Replier. The asker of an
// upload has a StreamWriter too; upload.h says how that one differs.
//
//   Task<> Watch(const WatchRequest& request, StreamWriter<Price> writer) {
//     for (const Price& price : prices_) {
//       absl::Status written = co_await writer.Write(price, absl::Seconds(5));
//       if (!written.ok()) co_return;            // the asker has gone, or took nothing for 5 s
//     }
//     writer.Finish(absl::OkStatus());
//   }
//
// Write sends at once if the reader has given credit, and otherwise waits for it, up to its timeout. Credit is counted
// in items and in bytes, per stream: limits::kStreamItemsMax and limits::kStreamBytesMax; the reader returns it as its
// program takes items. An item acts as a reply does: it goes to no mailbox, and arrives in order with the other
// messages and signals of this actor to the reader. The actor may become other behaviors meanwhile, and keep the writer
// among its members.
//
// The stream ends when the writer finishes it. A StreamWriter that is destroyed unused ends it as a Replier would:
// with CalleeExited if its actor ends, with the handler's error if the handler destroys it and returns one, and with
// Unanswered otherwise. Items that were written before that still arrive. If the asker cancels the stream or ends, or
// its session ends, Write gives Cancelled (with the asker's exit reason, see ExitReasonOf) or NoConnection at once,
// also to a Write that waits; Finish then does nothing.
//
// Threads: a StreamWriter belongs to the actor whose handler got it, or that opened the upload, and is used, moved and
// destroyed in its turns only. It may be moved within the actor, and not into a message (CHECKed).
#ifndef UNDERSTUDY_ACTORS_STREAM_WRITER_H_
#define UNDERSTUDY_ACTORS_STREAM_WRITER_H_

#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/internal/asks/ask_table.h"
#include "understudy/actors/internal/asks/stream_table.h"
#include "understudy/actors/message.h"
#include "understudy/actors/message_bytes.h"
#include "understudy/actors/pending.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/replier.h"

namespace understudy {
namespace internal {

// The writer of a stream of answers holds the open Replier of the call, whose answer ends the stream. The writer of an
// upload holds no call.
class StreamWriterBase : private ReplierBase {
 public:
  StreamWriterBase(StreamWriterBase&& other) noexcept
      : ReplierBase(static_cast<ReplierBase&&>(other)),
        is_open_(std::exchange(other.is_open_, false)),
        owner_(other.owner_),
        reader_(other.reader_),
        call_(other.call_) {
    CheckMove();
  }
  StreamWriterBase& operator=(StreamWriterBase&& other) noexcept {
    if (this != &other) {
      Leave();
      ReplierBase::operator=(static_cast<ReplierBase&&>(other));
      is_open_ = std::exchange(other.is_open_, false);
      owner_ = other.owner_;
      reader_ = other.reader_;
      call_ = other.call_;
      CheckMove();
    }
    return *this;
  }
  ~StreamWriterBase() { Leave(); }

  // True if the stream was not finished and this object was not moved from.
  bool is_open() const { return is_open_; }
  // The actor that reads the stream. If a plain thread or gRPC client reads it, the actor that does so on its behalf.
  Pid reader() const { return reader_; }
  // True if Write would fail, because the reader has cancelled the stream or is gone. CHECKs is_open().
  bool is_cancelled() const;

 protected:
  explicit StreamWriterBase(Activation& activation);
  // The writer of the upload whose call is `ask`.
  StreamWriterBase(PendingId ask, Pid reader);
  PendingId Write(Payload item, size_t bytes, absl::Duration timeout);
  // An empty payload if there is none.
  Payload TakeUnwritten();
  void End(absl::Status status);

 private:
  static void CheckMove();
  bool is_upload() const { return call_.first.is_null(); }
  // Removes the stream from its actor's table, and ends an upload that was not finished.
  void Leave();

  bool is_open_ = true;
  Pid owner_;  // the actor that writes
  Pid reader_;
  // As in the table of `owner_`. Its id is 0 if this object has no stream there: the upload was refused without an ask,
  // or the call has the number of one that another StreamWriter has.
  StreamTable::Call call_;
};

}  // namespace internal

template <class M>
class StreamWriter : public internal::StreamWriterBase {
 public:
  // Takes the right to answer from the call in hand; for the library.
  explicit StreamWriter(internal::Activation& activation) : StreamWriterBase(activation) {}
  // The writer of an upload that `reader` is asked to read; for the library (Channel::Open).
  StreamWriter(internal::PendingId ask, Pid reader) : StreamWriterBase(ask, reader) {}

  // Writes `item`, at once or when there is credit for it. Awaiting the result gives OK when the item was sent, Expired
  // if there was no credit within `timeout` or before the deadline of the call that is being handled, and otherwise the
  // reason why the reader reads no more items. Need not be awaited, but one Write at a time may wait for credit
  // (CHECKed). CHECKs is_open().
  [[nodiscard]] Pending<void> Write(M item, absl::Duration timeout) {
    const size_t bytes = internal::BytesOf(item);
    return Pending<void>(StreamWriterBase::Write(internal::Payload::ForMailbox<M>(std::move(item)), bytes, timeout));
  }
  // Returns the item of the last Write, if that has ended with an error. Nullopt if it has not, if the actor was
  // fenced, if the upload was refused because the actor has limits::kAsksPerActorMax asks, or if another node has given
  // two calls one number and this is the second. CHECKs is_open().
  absl::optional<M> TakeUnwritten() {
    internal::Payload item = StreamWriterBase::TakeUnwritten();
    return item.is_typed() ? absl::optional<M>(std::move(item.template As<M>())) : absl::nullopt;
  }

  // Ends the stream: with OK, or with the error that the reader gets after the items. A Write that still waits gets
  // Cancelled, and its item is not sent. CHECKs is_open().
  void Finish(absl::Status status) { End(std::move(status)); }
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_STREAM_WRITER_H_
