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

// Null if there is none.
IncomingStream* FindIncoming(ActorCore& core, uint64_t ask) {
  AskTable* const asks = core.parts().known_asks();
  StreamTable* const streams = asks == nullptr ? nullptr : asks->known_streams();
  IncomingStream* const stream = streams == nullptr ? nullptr : streams->FindIncoming(ask);
  // A Next whose deadline has passed, or that was cancelled, waits no longer.
  if (stream != nullptr && stream->next() != 0 && IsAnswered(core, stream->next())) stream->StopWaiting();
  return stream;
}

OutgoingStream* FindOutgoing(ActorCore& core, Pid asker, uint64_t ask) {
  AskTable* const asks = core.parts().known_asks();
  StreamTable* const streams = asks == nullptr ? nullptr : asks->known_streams();
  OutgoingStream* const stream = streams == nullptr ? nullptr : streams->FindOutgoing({asker, ask});
  if (stream != nullptr && stream->wait() != 0 && IsAnswered(core, stream->wait())) stream->StopWaiting();
  return stream;
}

void ReturnCredit(ActorCore& core, uint64_t ask, IncomingStream& stream) {
  const size_t items = stream.TakeReturn();
  if (items == 0) return;
  core.system().Post({.kind = SignalKind::kStreamCredit,
                      .from = core.self(),
                      .to = core.parts().asks().CalleeOf(ask),
                      .id = ask,
                      .payload = Payload::Of(StreamCredit{.items = items})});
}

// Answers the Next that waits, if any.
void EndNext(ActorCore& core, IncomingStream& stream, const absl::Status& end) {
  const uint64_t next = stream.next();
  if (next == 0) return;
  stream.StopWaiting();
  AnswerAsk(core, next, end, {});
}

void SendItem(ActorCore& core, Pid asker, uint64_t ask, Payload item) {
  core.system().Post(
      {.kind = SignalKind::kItem, .from = core.self(), .to = asker, .id = ask, .payload = std::move(item)});
}

// Stores in `bytes`, and in the block of `item`, the size with which the item counts: at an asker of another node, its
// size on the wire. Returns InvalidArgument if the item cannot travel there.
absl::Status SetBytes(ActorCore& core, Pid asker, Payload& item, size_t& bytes) {
  if (!core.system().IsLocal(asker)) {
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

ActorCore& OwnerOfWriter(Pid callee) {
  ActorCore* const core = ActorCore::OfThisTurn(callee);
  UNDERSTUDY_CHECK(core != nullptr, "a StreamWriter of ", callee.ToString(), " is used by another actor or thread");
  return *core;
}

// The writer leaves the table. A Write that waits is answered, unless the actor is ending, and its item is not sent.
void RemoveOutgoing(ActorCore& core, Pid asker, uint64_t ask) {
  OutgoingStream* const stream = FindOutgoing(core, asker, ask);
  if (stream == nullptr) return;
  const absl::Status why = MakeError(ErrorKind::kCancelled, "the stream was finished while a Write waited");
  const uint64_t wait = stream->Close(why);
  if (wait != 0 && !core.stage().is_ending()) AnswerAsk(core, wait, why, {});
  for (Payload& kept : core.parts().asks().streams().RemoveOutgoing({asker, ask})) DestroyLater(std::move(kept));
}

}  // namespace

absl::Status WhyStreamIsCancelled(const ActorCore& core) {
  if (!core.stage().is_ending()) return absl::OkStatus();
  return AskerExitedError(core.self().ToString(), *core.ending());
}

void OnStreamEnd(ActorCore& core, uint64_t id) {
  absl::optional<Answer> answer = core.parts().asks().Take(id);
  IncomingStream* const stream = FindIncoming(core, id);
  if (!answer.has_value()) return;
  if (stream != nullptr) {
    stream->OnEnd(std::move(answer->status));
    EndNext(core, *stream, stream->end());
  }
  DestroyLater(std::move(answer->payload));
}

void OnStreamItem(ActorCore& core, Signal signal) {
  IncomingStream* const stream = FindIncoming(core, signal.id);
  const IncomingStream::Arrival arrival =
      stream == nullptr ? IncomingStream::Arrival::kIsTooLate : stream->OnItem(signal.payload);
  switch (arrival) {
    case IncomingStream::Arrival::kWaits:
      return;
    case IncomingStream::Arrival::kAnswersNext: {
      const uint64_t next = stream->next();
      stream->StopWaiting();
      AnswerAsk(core, next, absl::OkStatus(), std::move(signal.payload));
      ReturnCredit(core, signal.id, *stream);
      return;
    }
    case IncomingStream::Arrival::kIsTooLate:
      core.system().counts().late_replies.Add();
      break;
    case IncomingStream::Arrival::kBeyondCredit:
      GiveUpAsk(core, signal.id, absl::InternalError("an item of the stream came without credit for it"));
      break;
  }
  DestroyLater(std::move(signal.payload));
}

void OnStreamCancel(ActorCore& core, const Signal& signal) {
  OutgoingStream* const stream = FindOutgoing(core, signal.from, signal.id);
  if (stream == nullptr) return;
  const absl::Status why =
      signal.status.ok() ? MakeError(ErrorKind::kCancelled, "the asker cancelled the stream") : signal.status;
  if (const uint64_t wait = stream->Close(why); wait != 0) AnswerAsk(core, wait, why, {});
}

void OnStreamCredit(ActorCore& core, Signal& signal) {
  OutgoingStream* const stream = FindOutgoing(core, signal.from, signal.id);
  // Credit beyond what was given is not used.
  if (stream == nullptr || !stream->OnCredit(ItemsOfCredit(signal))) return;
  uint64_t wait = 0;
  absl::optional<Payload> item = stream->TakeSendable(wait);
  if (!item.has_value()) return;
  SendItem(core, signal.from, signal.id, *std::move(item));
  AnswerAsk(core, wait, absl::OkStatus(), {});
}

// ---- stream.h ----

PendingId StreamBase::Next(absl::Duration timeout) const {
  const KernelCode kernel;
  if (kernel.is_refused()) return CancelledAsk();
  ActorCore* const core = ActorCore::OfThisTurn(ask_.asker);
  UNDERSTUDY_CHECK(core != nullptr,
                   "Next of a Stream of another actor or thread, or one that was cancelled or moved from");
  if (ask_.id == 0) return ask_;
  IncomingStream* const found = FindIncoming(*core, ask_.id);
  if (found == nullptr) return CancelledAsk();  // the actor's object is being destroyed
  IncomingStream& stream = *found;
  UNDERSTUDY_CHECK(stream.next() == 0, "Next of a Stream while another Next waits; await that one first");
  const PendingId next = NewAsk(*core, Pid(), DeadlineWithin(*core, timeout));
  if (next.id == 0) return next;
  Payload item;
  switch (stream.Next(next.id, item)) {
    case IncomingStream::Step::kItem:
      AnswerAsk(*core, next.id, absl::OkStatus(), std::move(item));
      ReturnCredit(*core, ask_.id, stream);
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
  const PendingId ask = std::exchange(ask_, {});
  if (ask.id == 0) return;
  const KernelCode kernel;
  // Null if the actor has ended, which has cancelled the stream.
  ActorCore* const core = ActorCore::OfThisTurn(ask.asker);
  if (core == nullptr || kernel.is_fenced()) return;
  IncomingStream* const stream = FindIncoming(*core, ask.id);
  if (stream == nullptr) return;
  const uint64_t next = stream->next();
  for (Payload& item : core->parts().asks().streams().RemoveIncoming(ask.id)) DestroyLater(std::move(item));
  if (core->stage().is_ending()) return;  // EndAsks cancels it, with the reason
  CancelAsk(*core, ask.id);
  if (next != 0) AnswerAsk(*core, next, MakeError(ErrorKind::kCancelled, "the Stream was destroyed"), {});
}

void StreamBase::CheckMove() {
  UNDERSTUDY_CHECK(!TransferScope::IsUnderWay(),
                   "a Stream is moved into a message; it stays with the actor that asked");
}

// ---- stream_writer.h ----

StreamWriterBase::StreamWriterBase(Activation& activation) : ReplierBase(activation) {
  const KernelCode kernel;
  if (!kernel.is_fenced()) activation.core().parts().asks().streams().AddOutgoing({asker(), ask()});
}

bool StreamWriterBase::is_cancelled() const {
  UNDERSTUDY_CHECK(is_open(), "is_cancelled of a StreamWriter that has finished or was moved from");
  const KernelCode kernel;
  if (kernel.is_refused()) return true;
  ActorCore& core = OwnerOfWriter(callee());
  const OutgoingStream* const stream = FindOutgoing(core, asker(), ask());
  return stream == nullptr || stream->is_closed();
}

PendingId StreamWriterBase::Write(Payload item, size_t bytes, absl::Duration timeout) {
  UNDERSTUDY_CHECK(is_open(), "Write of a StreamWriter that has finished or was moved from");
  const KernelCode kernel;
  if (kernel.is_refused()) {
    DestroyLater(std::move(item));
    return CancelledAsk();
  }
  ActorCore& core = OwnerOfWriter(callee());
  OutgoingStream* const found = FindOutgoing(core, asker(), ask());
  if (found == nullptr) {  // the actor's object is being destroyed
    DestroyLater(std::move(item));
    return CancelledAsk();
  }
  OutgoingStream& stream = *found;
  UNDERSTUDY_CHECK(stream.wait() == 0, "Write of a StreamWriter while another Write waits; await that one first");
  // The item of an earlier Write that was not sent.
  if (absl::optional<Payload> unwritten = stream.TakeKept()) DestroyLater(*std::move(unwritten));
  absl::Status fits = SetBytes(core, asker(), item, bytes);
  if (!fits.ok()) {
    const PendingId refused = NewAsk(core, Pid(), DeadlineWithin(core, timeout));
    stream.Keep(std::move(item), bytes, /*wait=*/0);
    AnswerAsk(core, refused.id, std::move(fits), {});
    return refused;
  }
  const OutgoingStream::Step step = stream.Write(bytes);
  if (step == OutgoingStream::Step::kSend) {
    SendItem(core, asker(), ask(), std::move(item));
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
  ActorCore& core = OwnerOfWriter(callee());
  OutgoingStream* const stream = FindOutgoing(core, asker(), ask());
  if (stream == nullptr || stream->wait() != 0) return Payload();
  absl::optional<Payload> item = stream->TakeKept();
  return item.has_value() ? *std::move(item) : Payload();
}

void StreamWriterBase::End(absl::Status status) {
  UNDERSTUDY_CHECK(is_open(), "Finish of a StreamWriter that has finished or was moved from");
  Leave();
  Post(std::move(status), {});
}

void StreamWriterBase::Leave() {
  if (!is_open()) return;
  const KernelCode kernel;
  ActorCore* const core = ActorCore::OfThisTurn(callee());
  if (core != nullptr && !kernel.is_fenced()) RemoveOutgoing(*core, asker(), ask());
}

void StreamWriterBase::CheckMove() {
  UNDERSTUDY_CHECK(!TransferScope::IsUnderWay(),
                   "a StreamWriter is moved into a message; it stays with the actor whose handler got it");
}

}  // namespace understudy::internal
