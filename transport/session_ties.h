// SessionTies: what hangs on one session: asks, monitors, links and credit
// between actors here and actors of the peer.
//
// A plain state machine. It sees every signal that goes out and comes in, says
// which of those that come in may be delivered, and at the session's end gives,
// once, what each actor here must be told: NoConnection to each ask, monitor and
// link; an acknowledgement to each unlink; a demonitor for each watcher there.
//
// What a peer may do without a grant: answer asks of ours, report the end of
// what we monitor and are linked to, monitor, and cancel. Exit, kill, request to
// stop and link need one (semantics: Security).
#ifndef UNDERSTUDY_TRANSPORT_SESSION_TIES_H_
#define UNDERSTUDY_TRANSPORT_SESSION_TIES_H_

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
#include "understudy/transport/frame_codec.h"

namespace understudy {

class SessionTies {
 public:
  // ---- Going out ----

  // Room in the window of that mailbox of the peer's.
  bool HasCredit(Pid to, uint32_t mailbox) const;
  void OnSent(Pid from, Pid to, uint32_t mailbox, uint64_t ask);
  void OnPosted(const Signal& signal);

  // ---- Coming in ----

  enum class Verdict {
    kDeliver,
    kDrop,    // too late, or not asked for
    kRefuse,  // not granted, or too many; AnswerTo says what its sender is told
  };
  Verdict OnArrived(const Signal& signal, bool is_granted);
  // False when the peer has exceeded its window: a bad frame.
  [[nodiscard]] bool OnMessageArrived(Pid to, uint32_t mailbox);
  // The reply for our asker, when the message was a call that still waits.
  absl::optional<Signal> OnRefused(const RefusedMessage& message);
  // InvalidArgument when the credit is for what was never sent: a bad frame.
  absl::Status OnCredit(const ReleasedCredit& credit);

  // What the sender of a refused or undeliverable signal is told, if anything.
  static absl::optional<Signal> AnswerTo(const Signal& signal, const ExitReason& reason);

  // ---- Credit to give back ----

  // That many messages of the peer's have left the mailbox. Counts only what
  // this session brought.
  void OnReleased(Pid to, uint32_t mailbox, int64_t count);
  // A message was refused: its credit goes back with the refusal.
  void OnMessageRefused(Pid to, uint32_t mailbox);
  bool owes_credit() const { return owed_total_ > 0; }
  int64_t owed_total() const { return owed_total_; }
  // All that is owed, in parts that one envelope may carry.
  std::vector<ReleasedCredit> TakeOwedCredit();

  // ---- The end ----

  // What the actors here must be told. Leaves nothing behind.
  std::vector<Signal> End(absl::string_view why);

  size_t asks() const { return asks_.size(); }

 private:
  using Channel = std::pair<Pid, uint32_t>;

  void Return(std::map<Channel, int64_t>& window, const Channel& channel, int64_t count);

  std::map<std::pair<Pid, uint64_t>, Pid> asks_;      // (asker, id) to callee
  std::map<std::pair<Pid, uint64_t>, Pid> monitors_;  // (watcher here, id) to target there
  std::set<std::tuple<Pid, Pid, uint64_t>> watched_;  // (watcher there, target here, id)
  std::set<std::pair<Pid, Pid>> links_;               // (here, there)
  std::map<std::pair<Pid, Pid>, uint64_t> unlinks_;   // of ours, not acknowledged
  std::map<Channel, int64_t> sent_;                   // not returned by the peer
  std::map<Channel, int64_t> held_;                   // not returned to the peer
  std::map<Channel, int64_t> owed_;                   // to be returned to the peer
  int64_t owed_total_ = 0;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_SESSION_TIES_H_
