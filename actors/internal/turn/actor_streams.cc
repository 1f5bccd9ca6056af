#include "understudy/actors/internal/turn/actor_streams.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/check.h"
#include "understudy/actors/error.h"
#include "understudy/actors/internal/asks/stream_table.h"
#include "understudy/actors/internal/memory/destruction_queue.h"
#include "understudy/actors/internal/scheduling/worker.h"
#include "understudy/actors/internal/turn/actor_asks.h"
#include "understudy/actors/internal/turn/actor_core.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/stream.h"
#include "understudy/actors/stream_writer.h"

namespace understudy::internal {
namespace {

using Call = StreamTable::Call;

bool IsOwn(const Call& call) { return call.first.is_null(); }

// True if the call has the number of one whose stream another object of this actor has. See StreamTable::AddIncoming.
bool IsTaken(const Call& call) { return call.second == 0 && !IsOwn(call); }

// The Next or Write of an object whose call IsTaken.
PendingId RefuseTaken(ActorCore& core, absl::Duration timeout) {
  const PendingId refused = NewAsk(core, Pid(), DeadlineWithin(core, timeout));
  AnswerAsk(
      core, refused.id,
      MakeError(ErrorKind::kCancelled, "the call has the number of another call whose stream this actor still has"),
      {});
  return refused;
}

StreamTable* KnownStreams(ActorCore& core) {
  AskTable* const asks = core.parts().known_asks();
  return asks == nullptr ? nullptr : asks->known_streams();
}

// Null if there is none.
IncomingStream* FindIncoming(ActorCore& core, const Call& call) {
  StreamTable* const streams = KnownStreams(core);
  IncomingStream* const stream = streams == nullptr ? nullptr : streams->FindIncoming(call);
  // A Next whose deadline has passed, or that was cancelled, waits no longer.
  if (stream != nullptr && stream->next() != 0 && IsAnswered(core, stream->next())) stream->StopWaiting();
  return stream;
}

OutgoingStream* FindOutgoing(ActorCore& core, const Call& call) {
  StreamTable* const streams = KnownStreams(core);
  OutgoingStream* const stream = streams == nullptr ? nullptr : streams->FindOutgoing(call);
  if (stream != nullptr && stream->wait() != 0 && IsAnswered(core, stream->wait())) stream->StopWaiting();
  return stream;
}

// The actor at the other end of the call's streams. An own ask has an entry as long as one of its streams is open.
Pid PeerOf(ActorCore& core, const Call& call) {
  return IsOwn(call) ? core.parts().asks().CalleeOf(call.second) : call.first;
}

// Posts a signal of one of the call's streams to its other end.
void PostOf(ActorCore& core, const Call& call, SignalKind kind, absl::Status status, Payload payload) {
  core.system().Post({.kind = kind,
                      .from = core.self(),
                      .to = PeerOf(core, call),
                      .id = call.second,
                      .status = std::move(status),
                      .payload = std::move(payload)});
}

void PostCredit(ActorCore& core, const Call& call, size_t items) {
  PostOf(core, call, IsOwn(call) ? SignalKind::kStreamCredit : SignalKind::kUploadCredit, absl::OkStatus(),
         Payload::Of(StreamCredit{.items = items}));
}

void ReturnCredit(ActorCore& core, const Call& call, IncomingStream& stream) {
  if (const size_t items = stream.TakeReturn(); items != 0) PostCredit(core, call, items);
}

// Answers the Next that waits, if any.
void EndNext(ActorCore& core, IncomingStream& stream, const absl::Status& end) {
  const uint64_t next = stream.next();
  if (next == 0) return;
  stream.StopWaiting();
  AnswerAsk(core, next, end, {});
}

void EndIncoming(ActorCore& core, const Call& call, absl::Status end) {
  IncomingStream* const stream = FindIncoming(core, call);
  if (stream == nullptr) return;
  stream->OnEnd(std::move(end));
  EndNext(core, *stream, stream->end());
}

void SendItem(ActorCore& core, const Call& call, Payload item) {
  PostOf(core, call, IsOwn(call) ? SignalKind::kUploadItem : SignalKind::kItem, absl::OkStatus(), std::move(item));
}

// Requires that the stream is there.
void DropOutgoing(ActorCore& core, const Call& call) {
  for (Payload& kept : core.parts().asks().streams().RemoveOutgoing(call)) DestroyLater(std::move(kept));
}

// The stream can be written no more. A Write that waits gets `why`, and so do later ones.
void CloseOutgoing(ActorCore& core, const Call& call, const absl::Status& why) {
  OutgoingStream* const stream = FindOutgoing(core, call);
  if (stream == nullptr) return;
  if (const uint64_t wait = stream->Close(why); wait != 0) AnswerAsk(core, wait, why, {});
  if (stream->finished().has_value()) DropOutgoing(core, call);  // nobody writes it any more
}

// Stores in `bytes`, and in the block of `item`, the size with which the item counts: at a reader of another node, its
// size on the wire. Returns InvalidArgument if the item cannot travel there.
absl::Status SetBytes(ActorCore& core, Pid reader, Payload& item, size_t& bytes) {
  if (!core.system().IsLocal(reader)) {
    const MessageType& type = *item.type();
    if (!type.is_wire) {
      return absl::InvalidArgumentError(absl::StrCat(
          "an item of type ", type.name(), " cannot be sent to another node: ", "only Protocol Buffers messages can"));
    }
    std::string wire;
    if (!type.serialize(item.value(), &wire)) {
      return absl::InvalidArgumentError(absl::StrCat("the item, a ", type.name(), ", does not serialise"));
    }
    if (wire.size() > limits::kMessageBytesMax) {
      return absl::InvalidArgumentError(absl::StrCat("an item of ", wire.size(), " bytes does not travel: at most ",
                                                     limits::kMessageBytesMax, " are allowed between nodes"));
    }
    bytes = wire.size();
  }
  item.block()->call().bytes = bytes;
  return absl::OkStatus();
}

ActorCore& OwnerOfWriter(Pid owner) {
  ActorCore* const core = ActorCore::OfThisTurn(owner);
  UNDERSTUDY_CHECK(core != nullptr, "a StreamWriter of ", owner.ToString(), " is used by another actor or thread");
  return *core;
}

// The writer is gone or has finished. A Write that waits is answered, unless the actor is ending, and its item is not
// sent. Returns the stream, null if there is none.
OutgoingStream* EndWrites(ActorCore& core, const Call& call) {
  OutgoingStream* const stream = FindOutgoing(core, call);
  if (stream == nullptr) return nullptr;
  const uint64_t wait = stream->wait();
  stream->StopWaiting();
  if (wait != 0 && !core.stage().is_ending()) {
    AnswerAsk(core, wait, MakeError(ErrorKind::kCancelled, "the stream was finished while a Write waited"), {});
  }
  return stream;
}

// The program ends an upload with `end`. A reader that is not there yet is told when it is.
void FinishUpload(ActorCore& core, const Call& call, absl::Status end) {
  OutgoingStream* const stream = EndWrites(core, call);
  if (stream == nullptr) return;
  if (!stream->is_closed() && !stream->has_reader()) {
    if (absl::optional<Payload> unwritten = stream->TakeKept()) DestroyLater(*std::move(unwritten));
    stream->Finish(std::move(end));
    return;
  }
  if (!stream->is_closed()) PostOf(core, call, SignalKind::kUploadEnd, std::move(end), {});
  DropOutgoing(core, call);
}

}  // namespace

absl::Status WhyStreamIsCancelled(const ActorCore& core) {
  if (!core.stage().is_ending()) return absl::OkStatus();
  return AskerExitedError(core.self().ToString(), *core.ending());
}

void OnStreamsAnswered(ActorCore& core, uint64_t id) {
  const Call call = StreamTable::Own(id);
  if (IsUploadAsk(id)) {
    const absl::Status answer = core.parts().asks().StatusOf(id);
    const OutgoingStream* const upload = FindOutgoing(core, call);
    // A handler that has answered may still have its Stream. Without an entry the ask has expired, and its cancel
    // tells.
    if (upload != nullptr && upload->has_reader() && !upload->is_closed() && core.parts().asks().Has(id)) {
      PostOf(core, call, SignalKind::kUploadEnd, MakeError(ErrorKind::kCancelled, "the call was answered"), {});
    }
    CloseOutgoing(
        core, call,
        answer.ok() ? MakeError(ErrorKind::kCancelled, "the callee has answered, and reads no more") : answer);
  }
  if (!IsStreamAsk(id)) return;
  absl::optional<Answer> answer = core.parts().asks().Take(id);
  if (!answer.has_value()) return;
  EndIncoming(core, call, std::move(answer->status));
  DestroyLater(std::move(answer->payload));
}

void OnItemsCancel(ActorCore& core, const Signal& signal) {
  const Call call{signal.from, signal.id};
  const absl::Status why =
      signal.status.ok() ? MakeError(ErrorKind::kCancelled, "the asker cancelled the call") : signal.status;
  CloseOutgoing(core, call, why);
  EndIncoming(core, call, why);
}

void OnItem(ActorCore& core, Signal signal) {
  const Call call = signal.kind == SignalKind::kItem ? StreamTable::Own(signal.id) : Call{signal.from, signal.id};
  IncomingStream* const stream = FindIncoming(core, call);
  const IncomingStream::Arrival arrival =
      stream == nullptr ? IncomingStream::Arrival::kIsTooLate : stream->OnItem(signal.payload);
  switch (arrival) {
    case IncomingStream::Arrival::kWaits:
      return;
    case IncomingStream::Arrival::kAnswersNext: {
      const uint64_t next = stream->next();
      stream->StopWaiting();
      AnswerAsk(core, next, absl::OkStatus(), std::move(signal.payload));
      ReturnCredit(core, call, *stream);
      return;
    }
    case IncomingStream::Arrival::kIsTooLate:
      core.system().counts().late_replies.Add();
      break;
    case IncomingStream::Arrival::kBeyondCredit: {
      absl::Status error = absl::InternalError("an item of the stream came without credit for it");
      if (IsOwn(call)) GiveUpAsk(core, signal.id, error);
      EndIncoming(core, call, std::move(error));
      break;
    }
  }
  DestroyLater(std::move(signal.payload));
}

void OnItemCredit(ActorCore& core, const Signal& signal) {
  const Call call =
      signal.kind == SignalKind::kStreamCredit ? Call{signal.from, signal.id} : StreamTable::Own(signal.id);
  OutgoingStream* const stream = FindOutgoing(core, call);
  // Credit beyond what was given is not used.
  if (stream == nullptr || !stream->OnCredit(ItemsOfCredit(signal))) return;
  if (stream->finished().has_value()) {
    PostOf(core, call, SignalKind::kUploadEnd, *stream->finished(), {});
    DropOutgoing(core, call);
    return;
  }
  uint64_t wait = 0;
  absl::optional<Payload> item = stream->TakeSendable(wait);
  if (!item.has_value()) return;
  SendItem(core, call, *std::move(item));
  AnswerAsk(core, wait, absl::OkStatus(), {});
}

void OnUploadEnd(ActorCore& core, const Signal& signal) { EndIncoming(core, {signal.from, signal.id}, signal.status); }

void OnUploadCancel(ActorCore& core, const Signal& signal) {
  CloseOutgoing(
      core, StreamTable::Own(signal.id),
      signal.status.ok() ? MakeError(ErrorKind::kCancelled, "the callee reads no more of the upload") : signal.status);
}

void EndUploads(ActorCore& core) {
  const StreamTable* const streams = KnownStreams(core);
  if (streams == nullptr) return;
  for (const Call& call : streams->OpenUploads()) {
    PostOf(core, call, SignalKind::kUploadCancel, CalleeExitedError(core.self().ToString(), *core.ending()), {});
  }
}

// ---- stream.h ----

StreamBase::StreamBase(Activation& activation)
    : owner_(activation.core().self()), call_(activation.asker(), activation.ask()) {
  const KernelCode kernel;
  activation.SetMoved();
  if (kernel.is_fenced()) return;
  ActorCore& core = activation.core();
  if (core.parts().asks().streams().AddIncoming(call_) == nullptr) {
    call_.second = 0;
    return;
  }
  PostCredit(core, call_, 0);  // there is a reader
}

PendingId StreamBase::Next(absl::Duration timeout) const {
  const KernelCode kernel;
  if (kernel.is_refused()) return CancelledAsk();
  ActorCore* const core = ActorCore::OfThisTurn(owner_);
  UNDERSTUDY_CHECK(core != nullptr,
                   "Next of a Stream of another actor or thread, or one that was cancelled or moved from");
  if (call_ == StreamTable::Own(0)) return {.asker = owner_};
  if (IsTaken(call_)) return RefuseTaken(*core, timeout);
  IncomingStream* const found = FindIncoming(*core, call_);
  if (found == nullptr) return CancelledAsk();  // the actor's object is being destroyed
  IncomingStream& stream = *found;
  UNDERSTUDY_CHECK(stream.next() == 0, "Next of a Stream while another Next waits; await that one first");
  const PendingId next = NewAsk(*core, Pid(), DeadlineWithin(*core, timeout));
  if (next.id == 0) return next;
  Payload item;
  switch (stream.Next(next.id, item)) {
    case IncomingStream::Step::kItem:
      AnswerAsk(*core, next.id, absl::OkStatus(), std::move(item));
      ReturnCredit(*core, call_, stream);
      break;
    case IncomingStream::Step::kEnd:
      AnswerAsk(*core, next.id, stream.end(), {});
      break;
    case IncomingStream::Step::kWaits:
      break;
  }
  return next;
}

void StreamBase::Close() {
  const Pid owner = std::exchange(owner_, {});
  if (owner.is_null() || call_.second == 0) return;
  const KernelCode kernel;
  // Null if the actor has ended, which has cancelled the stream.
  ActorCore* const core = ActorCore::OfThisTurn(owner);
  if (core == nullptr || kernel.is_fenced()) return;
  IncomingStream* const stream = FindIncoming(*core, call_);
  if (stream == nullptr) return;
  const uint64_t next = stream->next();
  const bool has_ended = stream->has_ended();
  for (Payload& item : core->parts().asks().streams().RemoveIncoming(call_)) DestroyLater(std::move(item));
  if (!IsOwn(call_) && !has_ended) {
    const ExitReason* const ending = core->ending();
    PostOf(*core, call_, SignalKind::kUploadCancel,
           ending == nullptr ? absl::OkStatus() : CalleeExitedError(core->self().ToString(), *ending), {});
  }
  if (core->stage().is_ending()) return;  // EndAsks cancels an own call, with the reason
  if (IsOwn(call_)) CancelAsk(*core, call_.second);
  if (next != 0) AnswerAsk(*core, next, MakeError(ErrorKind::kCancelled, "the Stream was destroyed"), {});
}

void StreamBase::CheckMove() {
  UNDERSTUDY_CHECK(!TransferScope::IsUnderWay(),
                   "a Stream is moved into a message; it stays with the actor that asked, or whose handler got it");
}

// ---- stream_writer.h ----

StreamWriterBase::StreamWriterBase(Activation& activation)
    : ReplierBase(activation), owner_(callee()), reader_(asker()), call_(asker(), ask()) {
  const KernelCode kernel;
  if (kernel.is_fenced()) return;
  if (activation.core().parts().asks().streams().AddOutgoing(call_) == nullptr) call_.second = 0;
}

StreamWriterBase::StreamWriterBase(PendingId ask, Pid reader)
    : owner_(ask.asker), reader_(reader), call_(StreamTable::Own(ask.id)) {}

bool StreamWriterBase::is_cancelled() const {
  UNDERSTUDY_CHECK(is_open(), "is_cancelled of a StreamWriter that has finished or was moved from");
  const KernelCode kernel;
  if (kernel.is_refused()) return true;
  const OutgoingStream* const stream = FindOutgoing(OwnerOfWriter(owner_), call_);
  return stream == nullptr || stream->is_closed();
}

PendingId StreamWriterBase::Write(Payload item, size_t bytes, absl::Duration timeout) {
  UNDERSTUDY_CHECK(is_open(), "Write of a StreamWriter that has finished or was moved from");
  const KernelCode kernel;
  if (kernel.is_refused()) {
    DestroyLater(std::move(item));
    return CancelledAsk();
  }
  ActorCore& core = OwnerOfWriter(owner_);
  OutgoingStream* const found = FindOutgoing(core, call_);
  if (found == nullptr) {  // the actor's object is being destroyed, or the upload was refused without an ask
    DestroyLater(std::move(item));
    return IsTaken(call_) ? RefuseTaken(core, timeout) : CancelledAsk();
  }
  OutgoingStream& stream = *found;
  UNDERSTUDY_CHECK(stream.wait() == 0, "Write of a StreamWriter while another Write waits; await that one first");
  // The item of an earlier Write that was not sent.
  if (absl::optional<Payload> unwritten = stream.TakeKept()) DestroyLater(*std::move(unwritten));
  absl::Status fits = stream.is_closed() ? absl::OkStatus() : SetBytes(core, reader_, item, bytes);
  if (!fits.ok()) {
    const PendingId refused = NewAsk(core, Pid(), DeadlineWithin(core, timeout));
    stream.Keep(std::move(item), bytes, /*wait=*/0);
    AnswerAsk(core, refused.id, std::move(fits), {});
    return refused;
  }
  const OutgoingStream::Step step = stream.Write(bytes);
  if (step == OutgoingStream::Step::kSend) {
    SendItem(core, call_, std::move(item));
    return {.asker = core.self(), .id = AskTable::kDone};
  }
  const PendingId written = NewAsk(core, Pid(), DeadlineWithin(core, timeout));
  const bool waits = step == OutgoingStream::Step::kKeep && written.id != 0;
  stream.Keep(std::move(item), bytes, waits ? written.id : 0);
  if (step == OutgoingStream::Step::kClosed) AnswerAsk(core, written.id, stream.why(), {});
  return written;
}

Payload StreamWriterBase::TakeUnwritten() {
  UNDERSTUDY_CHECK(is_open(), "TakeUnwritten of a StreamWriter that has finished or was moved from");
  const KernelCode kernel;
  if (kernel.is_fenced()) return Payload();
  OutgoingStream* const stream = FindOutgoing(OwnerOfWriter(owner_), call_);
  if (stream == nullptr || stream->wait() != 0) return Payload();
  absl::optional<Payload> item = stream->TakeKept();
  return item.has_value() ? *std::move(item) : Payload();
}

void StreamWriterBase::End(absl::Status status) {
  UNDERSTUDY_CHECK(is_open(), "Finish of a StreamWriter that has finished or was moved from");
  if (!is_upload()) {
    Leave();
    Post(std::move(status), {});
    return;
  }
  is_open_ = false;
  const KernelCode kernel;
  ActorCore* const core = ActorCore::OfThisTurn(owner_);
  if (core != nullptr && !kernel.is_fenced()) FinishUpload(*core, call_, std::move(status));
}

void StreamWriterBase::Leave() {
  if (!std::exchange(is_open_, false)) return;
  const KernelCode kernel;
  ActorCore* const core = ActorCore::OfThisTurn(owner_);
  if (core == nullptr || kernel.is_fenced()) return;
  if (is_upload() && !core->stage().is_ending()) {
    FinishUpload(*core, call_, MakeError(ErrorKind::kCancelled, "the StreamWriter was destroyed before Finish"));
  } else if (EndWrites(*core, call_) != nullptr) {
    DropOutgoing(*core, call_);  // of an upload at its actor's end, whose call EndAsks cancels with the reason
  }
}

void StreamWriterBase::CheckMove() {
  UNDERSTUDY_CHECK(!TransferScope::IsUnderWay(),
                   "a StreamWriter is moved into a message; it stays with the actor whose handler got it, or that ",
                   "opened the upload");
}

}  // namespace understudy::internal
