// NameTable: the embedded name table of one node: its own actors' cluster names,
// and those that its peers told it of their own.
//
// A plain state machine: no threads, clock or socket inside. A node tells each
// peer its own names over their session (name_feed.h). A peer's names go when its
// session ends. Nobody passes on another's names, so nothing that is gone can come
// back.
//
// Who may publish what. A claim of a peer that is not granted the name is entered
// nowhere. Where an own actor has the name, the peer is told (a refusal), and its
// actor gives way if the peer's own grants let this node own the name; otherwise
// the peer only counts the refusal.
//
// Conflicts. A claim is optimistic: OK means free as far as this node knew. When
// two owners see each other, the older claim wins, then the smaller node name. Each
// node turns the ages of its claims into constants when a session begins, so both
// ends of a session compare the same two numbers, and no wall clock is read.
// Ages of three nodes are measured at three sessions, so three verdicts can form a
// circle. Therefore a loser offers its claim to the winner, and gives it up only
// when the winner confirms that it owns the name:
//   1. A node that has made an offer makes no other, and confirms none, until the
//      offer is answered, cancelled, or void because the winner's claim is gone.
//   2. A node that has made an offer and gets one from a node with a larger name
//      cancels its own, and when that is acknowledged confirms the other.
//   3. A winner tells its claim again, because the loser may have refused it at a
//      time when it had no owner.
// By 1 the node that gave the last confirmation has no offer under way, so its
// owner stays. In a circle of offers some node has a smaller name than the node
// that offers to it, so by 2 no circle waits for ever. Offers do not depend on how
// the verdicts are made, so refusals end in the same way.
//
// Third parties act on nothing: while they see two claims they show the older.
//
// Vacancies. While an actor that owned a name is down and will be started again,
// its supervisor's node keeps the name vacant, and tells its peers. A vacancy is
// only shown: it takes no part in a conflict, and a name with an owner anywhere is
// not vacant. It goes when the name is claimed or freed here, and at a peer also
// when the session ends.
//
// Removal. Names travel the same sequence as Downs, and a Down that must wait for
// the release of its actor's name is held (NameFeed), so a name is seen to be free
// before its owner's Down is.
#ifndef UNDERSTUDY_TRANSPORT_NAMES_NAME_TABLE_H_
#define UNDERSTUDY_TRANSPORT_NAMES_NAME_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"
#include "understudy/proto/names.pb.h"
#include "understudy/transport/names/name_feed.h"
#include "understudy/transport/names/name_signatures.h"

namespace understudy {

// A claim to a name.
struct NameEntry {
  std::string node;
  Pid pid;
  uint64_t number = 0;  // given once by its node
  // By this node's clock: of a peer's claim, as its age says.
  MonotonicTime claimed;
  // Null when they are not known.
  std::shared_ptr<const proto::SignatureSet> mailboxes;
};

class NameTable {
 public:
  // Whether that peer may own that name here.
  using MayPublish = std::function<bool(absl::string_view peer, absl::string_view name)>;

  // What a change leads to, in order.
  struct Change {
    enum class Kind {
      kShow,        // `name` is now `entry`'s, as far as this node knows
      kHide,        // `name` is free; `entry` was its last owner
      kVacant,      // a peer keeps `name` vacant, whether or not it has an owner
      kNotVacant,   // no peer does any more
      kLost,        // our `entry` lost its name to `peer`: its actor must exit NameConflict
      kForbidden,   // the same, because `peer` does not grant us the name: NotPermitted
      kRefused,     // `peer` refused us the name, without the grant to do so: nothing changes
      kNotGranted,  // `peer` claims the name without a grant, the first of its session: it is entered nowhere
    };
    Kind kind;
    std::string name;
    NameEntry entry;
    std::string peer;
  };

  struct Counters {
    int64_t claims_refused = 0;    // of the peer's, for want of a grant
    int64_t refusals_ignored = 0;  // of ours by the peer, for want of a grant
    int64_t conflicts_lost = 0;    // own names given up to the peer
  };

  // `node` is ours.
  NameTable(std::string node, MayPublish may_publish);

  // ---- Our own names ----

  // AlreadyExists, with the owner, when this node knows another one;
  // ResourceExhausted at limits::kNamesPerNodeMax and the bounds of
  // NameSignatures. OK again for the owner.
  absl::Status Claim(absl::string_view name, Pid pid, MonotonicTime now,
                     const std::vector<proto::MailboxSignature>& mailboxes);
  // Does nothing, and gives false, unless `pid` owns it.
  bool Release(absl::string_view name, Pid pid);
  // Releases the name if `pid`, which may be null, owns it, and keeps it vacant. Does nothing while another actor of
  // this node owns it, and, once more as for Claim, at limits::kNamesPerNodeMax.
  void Vacate(absl::string_view name, Pid pid);
  // Ends a vacancy of this node.
  void Free(absl::string_view name);

  // ---- Peers ----

  // The peer's pids have the place `peer_node`.
  void OnSessionBegun(absl::string_view peer, NodePlace peer_node, MonotonicTime now);
  // InvalidArgument when the peer broke a rule: a bad frame. `bytes` are a
  // proto::NameChanges. Without a session it does nothing.
  absl::Status OnChanges(absl::string_view peer, absl::string_view bytes);
  // What the last OnChanges led to has been carried out.
  void OnChangesEntered(absl::string_view peer);
  void OnSessionEnded(absl::string_view peer);
  // MayPublish answers otherwise than before of that peer's names, which it is
  // asked to tell once more.
  void OnGrantsChanged(absl::string_view peer);

  // What the peer is to be told now; call until it gives nothing.
  absl::optional<NameFeed::Part> TakePart(absl::string_view peer);
  // Whether a Down that is sent to the peer now would pass a release.
  bool MustHold(absl::string_view peer) const;
  // Requires MustHold. ResourceExhausted as NameFeed::Hold: the session is to end.
  absl::Status Hold(absl::string_view peer, std::shared_ptr<const Signal> signal, size_t bytes);

  std::vector<Change> TakeChanges() { return std::exchange(changes_, {}); }

  // ---- Observers ----

  // The owner that this node shows.
  absl::optional<NameEntry> Find(absl::string_view name) const;
  // No owner is shown, and this node or a peer keeps it vacant.
  bool IsVacant(absl::string_view name) const;
  // Zeros without a session.
  Counters counters(absl::string_view peer) const;
  // Null without a session.
  const NameFeed* feed(absl::string_view peer) const;
  // Names of that peer that are entered here.
  size_t names_of(absl::string_view peer) const;
  // The whole state, for models.
  std::string DebugString() const;

 private:
  struct Peer {
    Peer(NodePlace its_node, MonotonicTime begun) : node(its_node), feed(begun) {}

    NodePlace node;
    NameFeed feed;
    NameSignatures signatures;
    std::set<std::string, std::less<>> names;                // its claims that are entered
    std::map<std::string, uint64_t, std::less<>> vacancies;  // by name, their numbers
    uint32_t parts_not_entered = 0;
    bool refusal_told = false;
    Counters counters;
  };
  using Peers = std::map<std::string, Peer, std::less<>>;
  // An own name that another node claims too, or refused.
  struct Contest {
    std::string offered_to;  // empty: no offer
    bool cancelling = false;
    std::map<std::string, uint64_t, std::less<>> asked_by;  // offers that wait for ours: node to claim
    std::set<std::string, std::less<>> refused_by;
  };

  // name_table.cc
  absl::optional<NameEntry> OwnEntry(absl::string_view name) const;
  // own_.end() also for what is vacant.
  OwnNames::iterator FindOwn(absl::string_view name);
  void RemoveOwn(OwnNames::iterator own);
  absl::Status OnClaim(absl::string_view peer_name, Peer& peer, const proto::NameClaim& claim);
  void OnRelease(absl::string_view peer_name, Peer& peer, const proto::NameMark& mark);
  void RemoveTheirs(absl::string_view peer_name, Peer& peer, const std::string& name);
  absl::Status OnVacancy(absl::string_view peer_name, Peer& peer, const proto::NameMark& mark);
  void EndVacancy(Peer& peer, const std::string& name);
  // Notes what the table shows, if `before` was shown.
  void NoteShown(absl::string_view name, const absl::optional<NameEntry>& before);

  // name_contest.cc
  absl::Status OnMark(absl::string_view peer_name, Peer& peer, const proto::NameChange& change);
  bool Loses(const OwnName& own, const Peer& peer, const NameEntry& theirs) const;
  void OnRival(absl::string_view name, absl::string_view peer_name);
  void OnRefusal(absl::string_view peer_name, Peer& peer, const proto::NameMark& mark);
  void OnOffer(absl::string_view peer_name, Peer& peer, const proto::NameMark& mark);
  void OnConfirm(absl::string_view peer_name, Peer& peer, const proto::NameMark& mark);
  void OnCancel(absl::string_view peer_name, Peer& peer, const proto::NameMark& mark);
  void OnCancelled(absl::string_view peer_name, const proto::NameMark& mark);
  void CancelOffer(absl::string_view name);
  // The peer's claim to the name is gone: offers between us are void.
  void ForgetRival(absl::string_view name, absl::string_view peer_name);
  // Answers offers that waited, and makes one if there is somebody to yield to.
  void Reconsider(absl::string_view name);
  const std::string* WinnerOver(absl::string_view name, const OwnName& own) const;

  const std::string node_;
  const MayPublish may_publish_;
  OwnNames own_;
  uint64_t last_number_ = 0;
  NameSignatures own_signatures_;
  // By name, the claims of peers; seldom more than one.
  std::map<std::string, std::vector<NameEntry>, std::less<>> theirs_;
  // By name, how many peers keep it vacant.
  std::map<std::string, int, std::less<>> vacant_;
  Peers peers_;
  std::map<std::string, Contest, std::less<>> contests_;
  std::vector<Change> changes_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_NAMES_NAME_TABLE_H_
