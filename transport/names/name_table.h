// NameTable: the name table of one node. It has the cluster names of the node's own
// actors, and those that its peers have told it of theirs.
//
// A plain state machine: no threads, clock or socket inside. A node tells each
// peer its own names over their session (name_feed.h). A peer's names are removed when
// its session ends. No node tells the names of another node, so a name that is gone
// cannot come back.
//
// Grants. A claim of a peer that is not granted the name is not entered. If an own
// actor has the name, the peer is sent a refusal. The peer's actor then gives the name
// up if the peer's own grants let this node own the name; otherwise the peer only
// counts the refusal.
//
// Conflicts. A claim is optimistic: OK means that the name was free as far as this node
// knew. When two owners see each other, the older claim wins; of equally old claims,
// that of the node with the smaller name. The ages of claims are told as of the begin of
// a session, so both ends of a session compare the same two numbers, and no wall clock
// is read. But the ages of three nodes are measured in three sessions, so three verdicts
// can form a circle. Therefore a loser offers its claim to the winner, and gives it up
// only when the winner confirms that it owns the name:
//   1. A node that has made an offer makes no other, and confirms none, until the
//      offer is answered, cancelled, or void because the winner's claim is gone.
//   2. A node that has made an offer and gets one from a node with a larger name
//      cancels its own, and when that is acknowledged confirms the other.
//   3. A winner tells its claim again, because the loser may have refused it at a
//      time when it had no owner.
// By 1 the node that gave the last confirmation has no offer under way, so its
// owner stays. In a circle of offers some node has a smaller name than the node
// that offers to it, so by 2 no circle waits for ever. These rules do not depend on
// how the loser is chosen, so a refused claim is given up by the same steps.
//
// A node that owns neither of two conflicting claims does not act on them: it shows the
// older one.
//
// Vacancies. While an actor that owned a name is down and will be started again,
// its supervisor's node keeps the name vacant, and tells its peers. A vacancy is only
// information: it takes no part in conflicts, and a name with an owner on any node is
// not vacant. A vacancy ends when the name is claimed or freed on its node, and at a
// peer also when the session ends.
//
// Compatibility. A claim whose mailboxes have other fingerprints than here is not shown
// until the peer has described their messages and these were compared (peer_protocols.h).
// For conflicts it counts from the beginning.
//
// Removal. Changes of names and Downs travel in the same sequence, and a Down that must
// wait for the release of its actor's name is held (NameFeed). So a peer sees that a
// name is free before it sees the owner's Down.
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
#include "understudy/actors/limits.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/registry.h"
#include "understudy/proto/names.pb.h"
#include "understudy/transport/names/comparison_budgets.h"
#include "understudy/transport/names/name_feed.h"
#include "understudy/transport/names/name_limits.h"
#include "understudy/transport/names/name_signatures.h"
#include "understudy/transport/names/peer_protocols.h"
#include "understudy/transport/protocol/local_types.h"

namespace understudy {

// Whether the stream of a peer's session proved its identity (StreamIdentity::is_proved).
enum class PeerProof : uint8_t { kProved, kUnproved };

// A claim to a name.
struct NameEntry {
  std::string node;
  Pid pid;
  uint64_t number = 0;  // identifies the claim among those of its node; never reused
  // By this node's clock; for a peer's claim, computed from the age that the peer told.
  MonotonicTime claimed;
  // Of a peer's claim; all claims of a session with one set of mailboxes share it. Null until they are compared.
  SharedMailboxes mailboxes;
  uint32_t signatures = 0;  // the number of the peer's set of mailboxes, or 0
  // False while a description of the mailboxes is awaited.
  bool is_compared = true;
};

class NameTable {
 public:
  // Returns whether this node's grants let `peer` own `name`.
  using MayPublish = std::function<bool(absl::string_view peer, absl::string_view name)>;

  // A consequence that the caller must carry out, in the order of TakeChanges.
  struct Change {
    enum class Kind {
      kShow,        // `entry` is now the owner of `name`, as far as this node knows
      kHide,        // `name` is free; `entry` was its last owner
      kVacant,      // a peer keeps `name` vacant, whether or not it has an owner
      kNotVacant,   // no peer keeps `name` vacant any more
      kLost,        // our `entry` lost its name to `peer`: its actor must exit with NameConflict
      kForbidden,   // as kLost, but because `peer` does not grant us the name: exit with NotPermitted
      kRefused,     // `peer` refused us the name, but has no grant for it here, so we keep it; once a session
      kNotGranted,  // `peer` claimed the name without a grant, so the claim is not entered; once a session
      kTooMany,     // as kNotGranted, but because the names of `peer`, or its sets of mailboxes, take all their room
    };
    Kind kind;
    std::string name;
    NameEntry entry;
    std::string peer;
  };

  struct Counters {
    int64_t claims_refused = 0;    // claims of the peer that were not entered: it had no grant, or too many names
    int64_t refusals_ignored = 0;  // refusals by the peer that were ignored, because it had no grant
    int64_t conflicts_lost = 0;    // own names given up to the peer
  };

  // `node` is the name of this node, and `types` are the messages of its actors. No node owns more than `names_max`
  // names; tests have fewer.
  NameTable(std::string node, MayPublish may_publish, LocalTypes types = LocalTypes(),
            size_t names_max = limits::kNamesPerNodeMax);

  // ---- Our own names ----

  // Claims the name for `pid`. Returns OK also if `pid` owns it already. Returns
  // AlreadyExists, with the owner, if this node knows another owner, and
  // ResourceExhausted at `names_max` or a bound of NameSignatures.
  absl::Status Claim(absl::string_view name, Pid pid, MonotonicTime now,
                     const std::vector<proto::MailboxSignature>& mailboxes);
  // Releases the name. Does nothing and returns false unless `pid` owns it.
  bool Release(absl::string_view name, Pid pid);
  // Releases the name if `pid`, which may be null, owns it, and keeps it vacant. Does nothing if another actor of this
  // node owns the name, or at `names_max`.
  void Vacate(absl::string_view name, Pid pid);
  // Ends a vacancy of this node.
  void Free(absl::string_view name);

  // ---- Peers ----

  // `peer_node` is the place of the peer's incarnation, for the pids of its actors.
  void OnSessionBegun(absl::string_view peer, NodePlace peer_node, MonotonicTime now,
                      Fingerprints fingerprints = Fingerprints::kNotTold, PeerProof proof = PeerProof::kProved);
  // Enters a part of the peer's changes; `bytes` are a proto::NameChanges. Returns
  // InvalidArgument if the peer broke a rule, which makes the frame a bad one. Does
  // nothing without a session.
  absl::Status OnChanges(absl::string_view peer, absl::string_view bytes);
  // Call when the changes that an OnChanges led to have been carried out, if it was a part that must be acknowledged
  // (TakeCounted).
  void OnChangesEntered(absl::string_view peer);
  void OnSessionEnded(absl::string_view peer);
  // Returns whether OnChanges took a part that the peer counts as not acknowledged, since the last call.
  bool TakeCounted() { return std::exchange(counted_, false); }
  // Returns whether there is something to be told to another peer than the one that caused it, since the last call.
  bool TakeTellsOthers() { return std::exchange(tells_others_, false); }
  // Call when the result of MayPublish has changed for names of the peer. Removes names
  // that it may not own any more, and asks it to tell all its names again.
  void OnGrantsChanged(absl::string_view peer);

  // Returns what must be sent to the peer now. Call until it returns nullopt.
  absl::optional<NameFeed::Part> TakePart(absl::string_view peer);
  // True if a Down that is sent to the peer now would overtake the release of a name.
  bool MustHold(absl::string_view peer) const;
  // Like NameFeed::Hold, for the feed of `peer`. Requires MustHold. If it fails, the session must be ended.
  absl::Status Hold(absl::string_view peer, std::shared_ptr<const Signal> signal, size_t bytes);
  // Returns the bytes of the signals that are held for the peer; 0 if it has no session.
  size_t HeldBytes(absl::string_view peer) const;

  std::vector<Change> TakeChanges() { return std::exchange(changes_, {}); }

  // ---- Observers ----

  // The owner that this node shows: its own actor, else the peer's actor with the oldest claim that is compared.
  absl::optional<NameEntry> Find(absl::string_view name) const;
  // True if no owner is shown, and this node or a peer keeps the name vacant.
  bool IsVacant(absl::string_view name) const;
  // Zeros without a session.
  Counters counters(absl::string_view peer) const;
  // Null without a session.
  const NameFeed* feed(absl::string_view peer) const;
  // The number of the peer's names that are entered here.
  size_t names_of(absl::string_view peer) const;
  // The number of names that this node owns or keeps vacant.
  size_t own_names() const { return own_.size(); }
  // The whole state as text, for model checking.
  std::string DebugString() const;

 private:
  struct Peer {
    Peer(NodePlace its_node, MonotonicTime begun, Fingerprints fingerprints, PeerProof its_proof)
        : node(its_node), proof(its_proof), feed(begun, fingerprints), signatures(SignatureBytesMax(its_proof)) {}

    NodePlace node;
    PeerProof proof;
    NameFeed feed;
    NameSignatures signatures;
    PeerProtocols protocols;
    std::set<std::string, std::less<>> names;                // names of its claims that are entered
    std::map<std::string, uint64_t, std::less<>> vacancies;  // name to the number of its vacancy
    size_t name_bytes = 0;                                   // EnteredBytes of `names` and of `vacancies`
    uint32_t parts_not_entered = 0;
    std::string budget;  // the name of its budget in comparisons_
    bool refusal_told = false;
    bool not_granted_told = false;
    bool too_many_told = false;
    Counters counters;
  };
  // The bytes of the sets of mailboxes that the peer may define.
  static size_t SignatureBytesMax(PeerProof proof) {
    return proof == PeerProof::kProved ? limits::kNameSignatureBytesMax : limits::kUnprovedNameSignatureBytesMax;
  }
  // Whether one more name of that length may be entered for the peer.
  bool HasRoom(const Peer& peer, absl::string_view name) const;
  using Peers = std::map<std::string, Peer, std::less<>>;
  // The conflict about an own name that another node claims too, or refuses.
  struct Contest {
    std::string offered_to;   // the node to which our claim is offered; empty if to none
    bool cancelling = false;  // our offer was cancelled, and the cancellation is not acknowledged yet
    // Offers to us that wait until ours is decided: the node, and the number of its claim.
    std::map<std::string, uint64_t, std::less<>> asked_by;
    std::set<std::string, std::less<>> refused_by;
  };

  // name_table.cc
  absl::optional<NameEntry> OwnEntry(absl::string_view name) const;
  // The owner as far as this node knows, shown or not.
  absl::optional<NameEntry> Owner(absl::string_view name) const;
  // Returns own_.end() if no actor of this node owns the name, even if it is vacant.
  OwnNames::iterator FindOwn(absl::string_view name);
  void RemoveOwn(OwnNames::iterator own);
  absl::Status OnDefinitions(Peer& peer, const proto::NameChanges& changes);
  absl::Status OnDescription(absl::string_view peer_name, Peer& peer, const proto::Description& description);
  absl::Status OnClaim(absl::string_view peer_name, Peer& peer, const proto::NameClaim& claim);
  void OnRelease(absl::string_view peer_name, Peer& peer, const proto::NameMark& mark);
  // Refuses a claim that is not entered. `kind` is the reason; `is_told` is whether it was told in this session.
  void RefuseClaim(absl::string_view peer_name, Peer& peer, const proto::NameClaim& claim, Change::Kind kind,
                   bool& is_told);
  void RemoveTheirs(absl::string_view peer_name, Peer& peer, const std::string& name);
  absl::Status OnVacancy(absl::string_view peer_name, Peer& peer, const proto::NameMark& mark);
  void EndVacancy(Peer& peer, const std::string& name);
  // Adds a Change if the owner that the table shows differs from `before`.
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
  // Call when the peer's claim to the name is gone, so that offers between it and us are void.
  void ForgetRival(absl::string_view name, absl::string_view peer_name);
  // Unless an offer of ours is under way: confirms the offers that waited, then offers our claim to the winner if
  // another claim wins over it.
  void Reconsider(absl::string_view name);
  const std::string* WinnerOver(absl::string_view name, const OwnName& own) const;

  const std::string node_;
  const MayPublish may_publish_;
  const size_t names_max_;
  OwnNames own_;
  uint64_t last_number_ = 0;
  NameSignatures own_signatures_;
  LocalTypes types_;
  // The claims of peers, by name; seldom more than one.
  std::map<std::string, std::vector<NameEntry>, std::less<>> theirs_;
  // How many peers keep a name vacant.
  std::map<std::string, int, std::less<>> vacant_;
  Peers peers_;
  ComparisonBudgets comparisons_;
  std::map<std::string, Contest, std::less<>> contests_;
  std::vector<Change> changes_;
  bool tells_others_ = false;
  bool counted_ = false;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_NAMES_NAME_TABLE_H_
