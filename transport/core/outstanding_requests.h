// OutstandingRequests: what hangs on one session: asks, monitors and links between
// actors here and actors of the peer. Credit has accounts of its own (credit.h).
//
// A plain state machine. It sees every signal that goes out and comes in, says
// which of those that come in may be delivered, and at the session's end gives,
// once, what each actor here must be told: NoConnection to each ask, monitor and
// link; an acknowledgement to each unlink; a demonitor for each watcher there.
//
// What a peer may do without a grant: answer asks of ours, report the end of
// what we monitor and are linked to, monitor, and cancel. Exit, kill, request to
// stop and link need one (semantics 7.11).
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
#include "understudy/transport/limits.h"

namespace understudy {

class OutstandingRequests {
 public:
  // ---- Going out ----

  // Another call may be sent: fewer than limits::kAsksPerSessionMax have no answer.
  bool MayAsk() const { return asks_.size() < limits::kAsksPerSessionMax; }
  void OnSent(Pid from, Pid to, uint64_t ask);
  void OnPosted(const Signal& signal);
  // A call of the peer's is answered, by a reply or a refusal. False when it waits
  // for none: it was given up, or is of an earlier session, and is not answered.
  bool OnAnswers(Pid asker, uint64_t ask) { return calls_.erase({asker, ask}) > 0; }

  // ---- Coming in ----

  enum class Verdict {
    kDeliver,
    kDrop,    // too late, or not asked for
    kRefuse,  // not granted, or too many; AnswerTo says what its sender is told
  };
  Verdict OnArrived(const Signal& signal, bool is_granted);
  // A call came. False when the peer has too many that wait for an answer: a bad
  // frame.
  [[nodiscard]] bool OnCalled(Pid asker, uint64_t ask);
  // The reply for our asker, when the message was a call that still waits.
  absl::optional<Signal> OnRefused(const RefusedMessage& message);

  // What the sender of a refused or undeliverable signal is told, if anything.
  static absl::optional<Signal> AnswerTo(const Signal& signal, const ExitReason& reason);

  // ---- The end ----

  // What the actors here must be told. Leaves nothing behind.
  std::vector<Signal> End(absl::string_view why);

  size_t asks() const { return asks_.size(); }

 private:
  std::map<std::pair<Pid, uint64_t>, Pid> asks_;      // (asker, id) to callee
  std::set<std::pair<Pid, uint64_t>> calls_;          // of the peer's (asker, id), without an answer
  std::map<std::pair<Pid, uint64_t>, Pid> monitors_;  // (watcher here, id) to target there
  std::set<std::tuple<Pid, Pid, uint64_t>> watched_;  // (watcher there, target here, id)
  std::set<std::pair<Pid, Pid>> links_;               // (here, there)
  std::map<std::pair<Pid, Pid>, uint64_t> unlinks_;   // of ours, not acknowledged
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_CORE_OUTSTANDING_REQUESTS_H_
