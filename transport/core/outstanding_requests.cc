#include "understudy/transport/core/outstanding_requests.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "understudy/actors/error.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"
#include "understudy/transport/codec/frame_codec.h"

namespace understudy {

// ---- Going out ----

void OutstandingRequests::OnSent(Pid from, Pid to, uint64_t ask) {
  if (ask == 0) return;
  asks_[{from, ask}] = to;
  if (internal::ItemBits(ask) != 0) streams_.OnSent(from, ask, to);
}

bool OutstandingRequests::OnPosted(const Signal& signal) {
  switch (signal.kind) {
    case SignalKind::kExit:
      if (signal.is_link) links_.erase({signal.from, signal.to});
      break;
    case SignalKind::kLink:
      links_.insert({signal.from, signal.to});
      break;
    case SignalKind::kUnlink:
      links_.erase({signal.from, signal.to});
      unlinks_[{signal.from, signal.to}] = signal.id;
      return unlinks_.size() <= limits::kUnlinksPerSessionMax;
    case SignalKind::kMonitor:
      monitors_[{signal.from, signal.id}] = signal.to;
      break;
    case SignalKind::kDemonitor:
      monitors_.erase({signal.from, signal.id});
      break;
    case SignalKind::kDown:
      watched_.erase({signal.to, signal.from, signal.id});
      break;
    case SignalKind::kCancel:
      asks_.erase({signal.from, signal.id});
      streams_.OnAnswered(signal.from, signal.id);
      break;
    case SignalKind::kKill:
    case SignalKind::kUnlinkAck:
    case SignalKind::kRequestStop:
    case SignalKind::kReply:
    case SignalKind::kItem:
    case SignalKind::kStreamCredit:
    case SignalKind::kUploadItem:
    case SignalKind::kUploadCredit:
    case SignalKind::kUploadEnd:
    case SignalKind::kUploadCancel:
      break;
  }
  return true;
}

absl::optional<PeerStreams::NoRoom> OutstandingRequests::OnNoRoom(const Signal& item, const absl::Status& why) {
  absl::optional<PeerStreams::NoRoom> told = streams_.OnNoRoom(item, why);
  if (told.has_value() && item.kind == SignalKind::kItem) calls_.erase({item.to, item.id});
  return told;
}

// ---- Coming in ----

OutstandingRequests::Verdict OutstandingRequests::OnArrived(const Signal& signal, bool is_granted) {
  const auto deliver_if = [](bool condition) { return condition ? Verdict::kDeliver : Verdict::kDrop; };
  switch (signal.kind) {
    case SignalKind::kExit:
      if (signal.is_link) return deliver_if(links_.erase({signal.to, signal.from}) > 0);
      return is_granted ? Verdict::kDeliver : Verdict::kRefuse;
    case SignalKind::kKill:
    case SignalKind::kRequestStop:
      return is_granted ? Verdict::kDeliver : Verdict::kRefuse;
    case SignalKind::kLink:
      if (!is_granted || links_.size() >= limits::kTiesPerSessionMax) return Verdict::kRefuse;
      links_.insert({signal.to, signal.from});
      return Verdict::kDeliver;
    case SignalKind::kUnlink:
      // Without a link there is nothing to deliver; AnswerTo makes the acknowledgement that the peer waits for.
      return links_.erase({signal.to, signal.from}) > 0 ? Verdict::kDeliver : Verdict::kRefuse;
    case SignalKind::kUnlinkAck: {
      const auto unlink = unlinks_.find({signal.to, signal.from});
      if (unlink == unlinks_.end() || unlink->second != signal.id) return Verdict::kDrop;
      unlinks_.erase(unlink);
      return Verdict::kDeliver;
    }
    case SignalKind::kMonitor:
      if (watched_.size() >= limits::kTiesPerSessionMax) return Verdict::kRefuse;
      watched_.insert({signal.from, signal.to, signal.id});
      return Verdict::kDeliver;
    case SignalKind::kDemonitor:
      return deliver_if(watched_.erase({signal.from, signal.to, signal.id}) > 0);
    case SignalKind::kDown: {
      const auto monitor = monitors_.find({signal.to, signal.id});
      if (monitor == monitors_.end() || monitor->second != signal.from) return Verdict::kDrop;
      monitors_.erase(monitor);
      return Verdict::kDeliver;
    }
    case SignalKind::kCancel: {
      // For each cancel the callee looks through the calls that wait in its mailboxes.
      const bool is_known = calls_.erase({signal.from, signal.id}) > 0;
      const Verdict verdict = OnStreamArrived(signal);
      return is_known ? verdict : Verdict::kDrop;
    }
    case SignalKind::kReply:
      (void)OnStreamArrived(signal);
      return deliver_if(asks_.erase({signal.to, signal.id}) > 0);
    case SignalKind::kItem:
    case SignalKind::kStreamCredit:
    case SignalKind::kUploadItem:
    case SignalKind::kUploadCredit:
    case SignalKind::kUploadEnd:
    case SignalKind::kUploadCancel:
      return OnStreamArrived(signal);
  }
  return Verdict::kDrop;
}

OutstandingRequests::Verdict OutstandingRequests::OnStreamArrived(const Signal& signal) {
  switch (streams_.OnArrived(signal)) {
    case PeerStreams::Verdict::kDeliver:
      return Verdict::kDeliver;
    case PeerStreams::Verdict::kBad:
      return Verdict::kBad;
    case PeerStreams::Verdict::kDrop:
      break;
  }
  return Verdict::kDrop;
}

bool OutstandingRequests::OnCalled(Pid asker, uint64_t ask, Pid callee) {
  if (!calls_.emplace(asker, ask).second) return false;
  if (internal::ItemBits(ask) != 0) streams_.OnCalled(asker, ask, callee);
  return calls_.size() <= 2 * limits::kAsksPerSessionMax;
}

absl::optional<Signal> OutstandingRequests::OnRefused(const RefusedMessage& message) {
  if (message.ask == 0 || asks_.erase({message.from, message.ask}) == 0) return absl::nullopt;
  streams_.OnAnswered(message.from, message.ask);
  return Signal{
      .kind = SignalKind::kReply, .from = message.to, .to = message.from, .id = message.ask, .status = message.status};
}

absl::optional<Signal> OutstandingRequests::AnswerTo(const Signal& signal, const ExitReason& reason) {
  Signal answer{.from = signal.to, .to = signal.from, .id = signal.id, .reason = reason};
  switch (signal.kind) {
    case SignalKind::kLink:
      answer.kind = SignalKind::kExit;
      answer.is_link = true;
      return answer;
    case SignalKind::kMonitor:
      answer.kind = SignalKind::kDown;
      return answer;
    case SignalKind::kUnlink:
      answer.kind = SignalKind::kUnlinkAck;
      return answer;
    default:
      return absl::nullopt;
  }
}

// ---- The end ----

std::vector<Signal> OutstandingRequests::End(absl::string_view why) {
  const ExitReason reason = ExitReason::NoConnection(why);
  const absl::Status status = MakeError(ErrorKind::kNoConnection, why);
  std::vector<Signal> told = streams_.End(why);
  told.reserve(told.size() + asks_.size() + links_.size() + monitors_.size() + watched_.size() + unlinks_.size());
  for (const auto& [ask, callee] : asks_) {
    told.push_back({.kind = SignalKind::kReply, .from = callee, .to = ask.first, .id = ask.second, .status = status});
  }
  for (const auto& [here, there] : links_) {
    told.push_back({.kind = SignalKind::kExit, .from = there, .to = here, .is_link = true, .reason = reason});
  }
  for (const auto& [pair, id] : unlinks_) {
    told.push_back({.kind = SignalKind::kUnlinkAck, .from = pair.second, .to = pair.first, .id = id});
  }
  for (const auto& [monitor, target] : monitors_) {
    told.push_back(
        {.kind = SignalKind::kDown, .from = target, .to = monitor.first, .id = monitor.second, .reason = reason});
  }
  for (const auto& [watcher, target, id] : watched_) {
    told.push_back({.kind = SignalKind::kDemonitor, .from = watcher, .to = target, .id = id});
  }
  *this = OutstandingRequests();
  return told;
}

}  // namespace understudy
