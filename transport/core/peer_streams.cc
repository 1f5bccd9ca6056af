#include "understudy/transport/core/peer_streams.h"

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "understudy/actors/error.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"

namespace understudy {
PeerStreams::Carried* PeerStreams::Find(Streams& streams, Pid asker, uint64_t ask, Pid callee) {
  const auto found = streams.find({asker, ask});
  return found == streams.end() || found->second.callee != callee ? nullptr : &found->second;
}

bool PeerStreams::OnPosted(const Signal& signal) {
  switch (signal.kind) {
    case SignalKind::kItem: {
      Carried* const stream = Find(writing_, signal.to, signal.id, signal.from);
      return stream != nullptr && stream->ledger.Add(signal.payload.bytes());
    }
    case SignalKind::kStreamCredit: {
      Carried* const stream = Find(reading_, signal.from, signal.id, signal.to);
      return stream != nullptr && stream->ledger.Return(internal::ItemsOfCredit(signal));
    }
    default:
      return true;
  }
}

absl::optional<Signal> PeerStreams::OnNoRoom(const Signal& item, const absl::Status& why) {
  if (writing_.erase({item.to, item.id}) == 0) return absl::nullopt;
  return Signal{.kind = SignalKind::kCancel, .from = item.to, .to = item.from, .id = item.id, .status = why};
}

PeerStreams::Verdict PeerStreams::OnArrived(const Signal& signal) {
  switch (signal.kind) {
    case SignalKind::kItem: {
      Carried* const stream = Find(reading_, signal.to, signal.id, signal.from);
      if (stream == nullptr) return Verdict::kDrop;
      return stream->ledger.Add(signal.payload.bytes()) ? Verdict::kDeliver : Verdict::kBad;
    }
    case SignalKind::kStreamCredit: {
      Carried* const stream = Find(writing_, signal.from, signal.id, signal.to);
      if (stream == nullptr) return Verdict::kDrop;
      return stream->ledger.Return(internal::ItemsOfCredit(signal)) ? Verdict::kDeliver : Verdict::kBad;
    }
    case SignalKind::kCancel:
      OnAnswers(signal.from, signal.id);
      return Verdict::kDeliver;
    case SignalKind::kReply:
      OnAnswered(signal.to, signal.id);
      return Verdict::kDeliver;
    default:
      return Verdict::kDeliver;
  }
}

std::vector<Signal> PeerStreams::End(absl::string_view why) {
  const absl::Status status = MakeError(ErrorKind::kNoConnection, why);
  std::vector<Signal> told;
  told.reserve(writing_.size());
  for (const auto& [ask, stream] : writing_) {
    told.push_back(
        {.kind = SignalKind::kCancel, .from = ask.first, .to = stream.callee, .id = ask.second, .status = status});
  }
  *this = PeerStreams();
  return told;
}

}  // namespace understudy
