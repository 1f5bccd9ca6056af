// OutstandingRequests: the asks, streams, monitors and links between actors of this node
// and actors of the peer that one session carries, and that end with it. Credit of
// mailboxes has accounts of its own (credit.h), and that of streams too (peer_streams.h).
//
// A state machine without a lock or a clock. It sees every signal that goes out and
// comes in, and decides which incoming signals may be delivered. At the session's end
// it returns, once, what the actors of this node must be told: NoConnection for each
// ask, monitor and link; an acknowledgement for each unlink; and a demonitor for each
// actor of the peer that monitors one of them.
//
// Without a grant a peer may answer asks of this node, with items too, report the end of actors that
// this node's actors monitor or are linked to, monitor, and cancel its own calls.
// Exit, kill, request to stop and link need a grant (semantics 7.11).
#ifndef UNDERSTUDY_TRANSPORT_CORE_OUTSTANDING_REQUESTS_H_
#define UNDERSTUDY_TRANSPORT_CORE_OUTSTANDING_REQUESTS_H_

#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/core/peer_streams.h"
#include "understudy/transport/limits.h"

namespace understudy {

class OutstandingRequests {
 public:
  // ---- Going out ----

  // Whether another call may be sent: fewer than limits::kAsksPerSessionMax are unanswered.
  bool MayAsk() const { return asks_.size() < limits::kAsksPerSessionMax; }
  // A message was sent; `ask` is 0 unless it is a call.
  void OnSent(Pid from, Pid to, uint64_t ask);
  // Returns false if the peer has not answered more than limits::kUnlinksPerSessionMax unlinks. Then the session must
  // be ended, and the signal not sent.
  [[nodiscard]] bool OnPosted(const Signal& signal);
  // An actor of this node posts a signal that IsOfStream. Returns false if it must not be sent, because the stream is
  // over.
  [[nodiscard]] bool OnStreamPosted(const Signal& signal) { return streams_.OnPosted(signal); }
  // This node is about to answer a call of the peer, with a reply or a refusal. Returns
  // false if the call awaits no answer, because it was given up or belongs to an
  // earlier session; then the answer must not be sent.
  bool OnAnswers(Pid asker, uint64_t ask) { return calls_.erase({asker, ask}) > 0; }
  // Besides OnAnswers, for a call with ItemBits. Returns what its callee is to be told.
  absl::optional<Signal> OnStreamsAnswered(Pid asker, uint64_t ask) { return streams_.OnAnswers(asker, ask); }
  // `item` found no room in the session. If its stream is not over, the stream ends at both ends. Returns the signals
  // that tell them.
  absl::optional<PeerStreams::NoRoom> OnNoRoom(const Signal& item, const absl::Status& why);

  // ---- Coming in ----

  enum class Verdict {
    kDeliver,
    kDrop,    // too late, or never requested
    kRefuse,  // not granted, too many, or an unlink without a link; AnswerTo gives the answer to its sender
    kBad,     // an item or credit of a stream beyond what was granted: a bad frame
  };
  Verdict OnArrived(const Signal& signal, bool is_granted);
  // A call of the peer arrived. Returns false (a bad frame) if its asker has an unanswered call with that number
  // already, or if more than 2 * limits::kAsksPerSessionMax calls of the peer are unanswered.
  [[nodiscard]] bool OnCalled(Pid asker, uint64_t ask, Pid callee);
  // The peer refused a message of this node. Returns the reply to its asker if the
  // message was a call that still waits for its answer.
  absl::optional<Signal> OnRefused(const RefusedMessage& message);

  // Returns the answer to the sender of a refused or undeliverable signal: to a link,
  // monitor or unlink. Other signals are not answered.
  static absl::optional<Signal> AnswerTo(const Signal& signal, const ExitReason& reason);

  // ---- The end ----

  // The session is over. Returns the signals to deliver to actors of this node, and
  // forgets everything. `why` is the detail of NoConnection.
  std::vector<Signal> End(absl::string_view why);

  size_t asks() const { return asks_.size(); }
  const PeerStreams& streams() const { return streams_; }
  // The calls of the peer that are not answered yet.
  size_t calls() const { return calls_.size(); }

 private:
  Verdict OnStreamArrived(const Signal& signal);

  std::map<std::pair<Pid, uint64_t>, Pid> asks_;      // (asker, id) to callee
  std::set<std::pair<Pid, uint64_t>> calls_;          // (asker there, id), unanswered calls of the peer
  PeerStreams streams_;                               // of those asks and calls that are streams
  std::map<std::pair<Pid, uint64_t>, Pid> monitors_;  // (watcher here, id) to target there
  std::set<std::tuple<Pid, Pid, uint64_t>> watched_;  // (watcher there, target here, id)
  std::set<std::pair<Pid, Pid>> links_;               // (here, there)
  std::map<std::pair<Pid, Pid>, uint64_t> unlinks_;   // (here, there) to id, unacknowledged unlinks from here
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_CORE_OUTSTANDING_REQUESTS_H_
