// NameFeed: decides what one peer is told of this node's own names, in which order,
// and how much at a time. There is one feed for each session. A plain value without
// threads, clock or socket.
//
// Guarantees. The peer is told every own name: first a snapshot in the order of the
// names, and meanwhile every change of a name that it has been told already. A change
// of a name that the snapshot has not reached needs no telling, because the snapshot
// tells the name as it is then. At most limits::kNamePartsUntakenMax parts are on their
// way, so names never fill a session, however many there are. A name that changes
// several times before the peer is told is told once, so the feed keeps at most one
// entry for each own name, and for each name that the peer knows and must forget.
//
// Descriptions. A peer may ask for the messages of the mailboxes in a set that it was told, once for each set. Each
// description travels in a part of its own. It is empty when descriptions have cost the peer all its steps
// (comparison_budgets.h); then the peer does not compare the messages.
//
// Order. The changes of one name keep their order. A signal that must not overtake
// earlier releases of names, such as the Down of an owner, is held until they are told.
#ifndef UNDERSTUDY_TRANSPORT_NAMES_NAME_FEED_H_
#define UNDERSTUDY_TRANSPORT_NAMES_NAME_FEED_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"
#include "understudy/proto/names.pb.h"
#include "understudy/transport/names/name_signatures.h"
#include "understudy/transport/protocol/local_types.h"

namespace understudy {

// A name that an actor of this node owns, or that is kept vacant here.
struct OwnName {
  Pid pid;              // null if the name is vacant
  uint64_t number = 0;  // identifies this claim or vacancy; never reused by this node
  MonotonicTime claimed;
  uint32_t signatures = 0;  // the number of its mailboxes in this node's NameSignatures
};
using OwnNames = std::map<std::string, OwnName, std::less<>>;

// Whether two nodes tell each other the fingerprints of mailboxes, and describe messages. They do if both have that
// feature (kFeatureFingerprints in session/handshake.h).
enum class Fingerprints : uint8_t { kNotTold, kTold };

class NameFeed {
 public:
  // The session began at `begun`; the ages of claims are told as of that time.
  explicit NameFeed(MonotonicTime begun, Fingerprints fingerprints = Fingerprints::kNotTold)
      : begun_(begun), fingerprints_(fingerprints) {}

  // ---- Adding what the peer must be told ----

  // Call when the name was claimed, vacated or released. `is_owned` is false after a
  // release. `number_before` is the number of the claim or vacancy that ended, or 0.
  // Discards what the peer has not yet been told about the earlier claim.
  void OnChanged(absl::string_view name, uint64_t number_before, bool is_owned);
  // The functions below require that this node owns the name now, by the claim with the
  // number `own`. `theirs` is the number of the peer's claim.

  // Tells the claim, even if it was told before.
  void TellAgain(absl::string_view name, uint64_t own);
  void Refuse(absl::string_view name, uint64_t own, uint64_t theirs);
  void Offer(absl::string_view name, uint64_t own);
  // Withdraws an offer. Returns true if the offer had not been sent yet, so that no
  // answer will come.
  bool Cancel(absl::string_view name, uint64_t own);
  void Confirm(absl::string_view name, uint64_t own, uint64_t theirs);
  void Cancelled(absl::string_view name, uint64_t own, uint64_t theirs);

  // True if changes wait, so that a signal which must come after them has to be held.
  bool has_changes() const { return !order_.empty(); }
  // Holds a signal of that size until the present changes are told. Returns
  // ResourceExhausted if the signals that are held would exceed
  // limits::kHeldSignalBytesMax, because the peer takes no parts.
  absl::Status Hold(std::shared_ptr<const Signal> signal, size_t bytes);
  // Call when this node's grants have changed. Asks the peer to tell all its names again.
  void AskAgain() { ask_again_ = true; }
  // Call when the peer asks for all names again.
  void OnAskedAgain();
  // Asks the peer to describe those mailboxes of a set that it has defined.
  void AskFor(uint32_t set, uint64_t mailboxes);
  // Call when the peer asks for a description. Returns InvalidArgument if it was not told
  // the set, or has asked for it before.
  absl::Status OnAskedFor(const proto::DescriptionRequest& request);
  // Call when a part of the peer has been entered. Tells the peer that it may send another.
  void OweTaken() { ++owed_taken_; }
  // Call when the peer says that it has entered `parts` parts. Returns InvalidArgument if
  // fewer were sent.
  absl::Status OnTaken(uint32_t parts);

  // ---- Telling the peer ----

  // Either a signal that was held, or changes.
  struct Part {
    std::shared_ptr<const Signal> held;
    proto::NameChanges changes;
  };
  // Returns what is to be sent next. Returns nullopt if the peer has been told everything,
  // or must take earlier parts first. What a description costs is subtracted from `steps_left` (LocalTypes::Describe).
  absl::optional<Part> Take(const OwnNames& names, const NameSignatures& signatures, const LocalTypes& types,
                            int64_t& steps_left);

  // ---- Observers ----

  MonotonicTime begun() const { return begun_; }
  Fingerprints fingerprints() const { return fingerprints_; }
  // True if the peer has been told the whole snapshot and all later changes.
  bool is_all_told() const { return snapshot_done_ && !again_ && order_.empty(); }
  size_t size() const { return order_.size(); }
  size_t held_bytes() const { return held_bytes_; }
  uint32_t parts_untaken() const { return untaken_; }
  // The whole state as text, for model checking and logs.
  std::string DebugString() const;

 private:
  enum class Step : uint8_t { kNone, kOffer, kCancel };
  enum class Answer : uint8_t { kNone, kConfirm, kCancelled };
  // The news that the peer must be told about one name.
  struct Entry {
    uint64_t place = 0;    // key in order_
    uint64_t told = 0;     // number of the claim that the peer knows, or 0
    bool again = false;    // TellAgain
    uint64_t refused = 0;  // number of the peer's claim that is refused, or 0
    Step step = Step::kNone;
    Answer answer = Answer::kNone;
    uint64_t answered = 0;  // number of the peer's claim to which `answer` refers
  };
  // An element of order_: a name that has an entry, or a signal that is held.
  struct Place {
    std::string name;  // empty for a signal
    std::shared_ptr<const Signal> held;
    size_t held_bytes = 0;
  };

  // True if the snapshot has passed the name, or the peer was told it before the snapshot
  // reached it. Then changes of the name must be told.
  bool IsKnown(absl::string_view name) const;
  Entry& Add(absl::string_view name, uint64_t told);
  Entry& Touch(absl::string_view name, uint64_t own);
  bool Define(uint32_t number, const NameSignatures& signatures, proto::NameChanges& part);
  bool TellEntry(const std::string& name, const OwnNames& names, const NameSignatures& signatures,
                 proto::NameChanges& part);
  void TellDescription(const NameSignatures& signatures, const LocalTypes& types, int64_t& steps_left,
                       proto::NameChanges& part);
  void TellClaim(const std::string& name, const OwnName& own, proto::NameChanges& part);
  // Adds the names after `at` to the part until it is full, and sets `at` to the last one.
  // Returns true if there are no more.
  bool TellSnapshot(const OwnNames& names, const NameSignatures& signatures, std::string& at, proto::NameChanges& part);
  bool IsFull() const;

  MonotonicTime begun_;
  Fingerprints fingerprints_;
  std::map<std::string, Entry, std::less<>> entries_;
  std::map<uint64_t, Place> order_;
  uint64_t last_place_ = 0;
  size_t held_bytes_ = 0;

  // The snapshot has told all names up to this one.
  std::string snapshot_at_;
  bool snapshot_done_ = false;
  // Names after snapshot_at_ that were told already, because of a refusal, offer or answer.
  std::set<std::string, std::less<>> told_before_snapshot_;
  // If the peer asked for all names again, they are told after the snapshot; those up to
  // again_at_ have been.
  bool again_ = false;
  std::string again_at_;
  bool ask_again_ = false;  // the next part asks the peer for all its names

  std::set<uint32_t> defined_;                     // signature sets that the peer has been told
  std::set<uint32_t> asked_;                       // sets whose description the peer has asked for
  std::deque<proto::DescriptionRequest> to_tell_;  // requests of the peer that are not answered yet
  std::deque<proto::DescriptionRequest> to_ask_;   // requests that are not sent to the peer yet
  size_t bytes_ = 0;                               // approximate size of the part that is being made
  uint32_t untaken_ = 0;                           // parts sent that the peer has not taken
  uint32_t owed_taken_ = 0;  // parts of the peer that were entered, and of which it has not been told
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_NAMES_NAME_FEED_H_
