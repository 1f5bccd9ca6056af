#include "understudy/transport/core/peer_streams.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "understudy/actors/error.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"
#include "understudy/transport/session/handshake.h"

namespace understudy {
namespace {

// Whether the asker sends signals of this kind, which IsOfStream; otherwise the callee does.
bool IsFromAsker(SignalKind kind) {
  return kind == SignalKind::kStreamCredit || kind == SignalKind::kUploadItem || kind == SignalKind::kUploadEnd;
}

bool IsOfAnswers(SignalKind kind) { return kind == SignalKind::kItem || kind == SignalKind::kStreamCredit; }

}  // namespace

bool IsOfStream(SignalKind kind) {
  switch (kind) {
    case SignalKind::kItem:
    case SignalKind::kStreamCredit:
    case SignalKind::kUploadItem:
    case SignalKind::kUploadCredit:
    case SignalKind::kUploadEnd:
    case SignalKind::kUploadCancel:
      return true;
    default:
      return false;
  }
}

uint64_t FeaturesFor(uint64_t ask) {
  if (internal::IsUploadAsk(ask)) return kFeatureStreams | kFeatureUploads;
  return internal::IsStreamAsk(ask) ? kFeatureStreams : 0;
}

PeerStreams::Carried* PeerStreams::Find(Calls& calls, const Signal& signal) {
  const bool from_asker = IsFromAsker(signal.kind);
  const auto found = calls.find({from_asker ? signal.from : signal.to, signal.id});
  if (found == calls.end() || found->second.callee != (from_asker ? signal.to : signal.from)) return nullptr;
  Carried& stream = IsOfAnswers(signal.kind) ? found->second.answers : found->second.upload;
  return stream.state == Carried::State::kOver ? nullptr : &stream;
}

bool PeerStreams::OnPosted(const Signal& signal) {
  Carried* const stream = Find(IsFromAsker(signal.kind) ? asked_ : called_, signal);
  if (stream == nullptr) return false;
  switch (signal.kind) {
    case SignalKind::kItem:
    case SignalKind::kUploadItem:
      return stream->state == Carried::State::kOpen && stream->ledger.Add(signal.payload.bytes());
    case SignalKind::kStreamCredit:
    case SignalKind::kUploadCredit:
      stream->state = Carried::State::kOpen;
      return stream->ledger.Return(internal::ItemsOfCredit(signal));
    default:
      stream->state = Carried::State::kOver;
      return true;
  }
}

absl::optional<PeerStreams::NoRoom> PeerStreams::OnNoRoom(const Signal& item, const absl::Status& why) {
  Carried* const stream = Find(IsFromAsker(item.kind) ? asked_ : called_, item);
  if (stream == nullptr) return absl::nullopt;
  stream->state = Carried::State::kOver;
  NoRoom told{.to_writer = {.from = item.to, .to = item.from, .id = item.id, .status = why},
              .to_reader = {.from = item.from, .to = item.to, .id = item.id, .status = why}};
  if (item.kind == SignalKind::kUploadItem) {
    told.to_writer.kind = SignalKind::kUploadCancel;
    told.to_reader.kind = SignalKind::kUploadEnd;
  } else {
    told.to_writer.kind = SignalKind::kCancel;
    told.to_reader.kind = SignalKind::kReply;
    called_.erase({item.to, item.id});
  }
  return told;
}

PeerStreams::Verdict PeerStreams::OnArrived(const Signal& signal) {
  if (signal.kind == SignalKind::kCancel) (void)OnAnswers(signal.from, signal.id);  // the cancel tells the callee
  if (signal.kind == SignalKind::kReply) OnAnswered(signal.to, signal.id);
  if (!IsOfStream(signal.kind)) return Verdict::kDeliver;
  Carried* const stream = Find(IsFromAsker(signal.kind) ? called_ : asked_, signal);
  if (stream == nullptr) return Verdict::kDrop;
  switch (signal.kind) {
    case SignalKind::kItem:
    case SignalKind::kUploadItem:
      if (stream->state != Carried::State::kOpen) return Verdict::kBad;
      return stream->ledger.Add(signal.payload.bytes()) ? Verdict::kDeliver : Verdict::kBad;
    case SignalKind::kStreamCredit:
    case SignalKind::kUploadCredit: {
      // Credit for no item says only that an upload is read, so it comes once. A peer could send any number of it.
      const bool is_first = std::exchange(stream->state, Carried::State::kOpen) == Carried::State::kAwaitsReader;
      const uint64_t items = internal::ItemsOfCredit(signal);
      return (items > 0 || is_first) && stream->ledger.Return(items) ? Verdict::kDeliver : Verdict::kBad;
    }
    case SignalKind::kUploadEnd:
      // The asker ends the items of an upload that is read. Of another the actor would not keep it.
      if (stream->state == Carried::State::kAwaitsReader) return Verdict::kBad;
      [[fallthrough]];
    default:
      stream->state = Carried::State::kOver;
      return Verdict::kDeliver;
  }
}

absl::optional<Signal> PeerStreams::OnAnswers(Pid asker, uint64_t ask) {
  const auto found = called_.find({asker, ask});
  if (found == called_.end()) return absl::nullopt;
  const Pid callee = found->second.callee;
  const bool is_read = found->second.upload.state == Carried::State::kOpen;
  called_.erase(found);
  if (!is_read) return absl::nullopt;
  return Signal{.kind = SignalKind::kUploadEnd,
                .from = asker,
                .to = callee,
                .id = ask,
                .status = MakeError(ErrorKind::kCancelled, "the call was answered")};
}

std::vector<Signal> PeerStreams::End(absl::string_view why) {
  const absl::Status status = MakeError(ErrorKind::kNoConnection, why);
  std::vector<Signal> told;
  told.reserve(called_.size());
  for (const auto& [ask, call] : called_) {
    if (call.answers.state == Carried::State::kOver && call.upload.state == Carried::State::kOver) continue;
    told.push_back(
        {.kind = SignalKind::kCancel, .from = ask.first, .to = call.callee, .id = ask.second, .status = status});
  }
  *this = PeerStreams();
  return told;
}

}  // namespace understudy
