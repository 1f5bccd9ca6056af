// NameFeed: what one peer still has to be told of this node's own names, in which
// order and how much at a time. One for each session; a plain value without
// threads, clock or socket.
//
// Guarantees. The peer is told every own name: first a snapshot, in the order of
// the names, and changes of what it knows as they happen; a name that the
// snapshot has not reached is not told of before. At most
// limits::kNamePartsUntakenMax parts are on their way, so names never fill a
// session, however many there are. What changes again before the peer was told is
// told once, so the feed keeps at most one entry for each own name, and for each
// name that the peer knows and must forget.
//
// Order. The changes of one name keep their order. A signal that must not pass the
// releases before it (a Down of an owner) is held until they are told.
#ifndef UNDERSTUDY_TRANSPORT_NAMES_NAME_FEED_H_
#define UNDERSTUDY_TRANSPORT_NAMES_NAME_FEED_H_

#include <cstddef>
#include <cstdint>
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

namespace understudy {

// A name that an actor of this node owns, or that is kept vacant here.
struct OwnName {
  Pid pid;              // null: vacant
  uint64_t number = 0;  // of this claim, or vacancy; each is given once
  MonotonicTime claimed;
  uint32_t signatures = 0;  // in this node's NameSignatures
};
using OwnNames = std::map<std::string, OwnName, std::less<>>;

class NameFeed {
 public:
  // The session began at `begun`; ages are told as of then.
  explicit NameFeed(MonotonicTime begun) : begun_(begun) {}

  // ---- What is to be told ----

  // The name was claimed or vacated, or released. `number_before` is the claim that was
  // released, or 0. What was to be said of an earlier claim is not said any more.
  void OnChanged(absl::string_view name, uint64_t number_before, bool is_owned);
  // The following are of a name that is owned now, by the claim `own`.
  // Tells the claim, again if it was told.
  void TellAgain(absl::string_view name, uint64_t own);
  void Refuse(absl::string_view name, uint64_t own, uint64_t theirs);
  void Offer(absl::string_view name, uint64_t own);
  // True when the offer has not left: then there is nothing to wait for.
  bool Cancel(absl::string_view name, uint64_t own);
  void Confirm(absl::string_view name, uint64_t own, uint64_t theirs);
  void Cancelled(absl::string_view name, uint64_t own, uint64_t theirs);

  // Changes wait, so a signal that must come after them must be held.
  bool has_changes() const { return !order_.empty(); }
  // The signal takes so many bytes. ResourceExhausted when those that are held would
  // take more than limits::kHeldSignalBytesMax: the peer does not take what it is told.
  absl::Status Hold(std::shared_ptr<const Signal> signal, size_t bytes);
  // Our grants changed: the peer is asked to tell all its names once more.
  void AskAgain() { ask_again_ = true; }
  // The peer asks so.
  void OnAskedAgain();
  // A part of the peer's has been entered, and makes room for another.
  void OweTaken() { ++owed_taken_; }
  // The peer has taken so many parts. InvalidArgument when it was not told so many.
  absl::Status OnTaken(uint32_t parts);

  // ---- Telling it ----

  // Either a signal that was held, or a part.
  struct Part {
    std::shared_ptr<const Signal> held;
    proto::NameChanges changes;
  };
  // What is to be told now; nothing when all is told, or the peer has to take some
  // first.
  absl::optional<Part> Take(const OwnNames& names, const NameSignatures& signatures);

  // ---- Observers ----

  MonotonicTime begun() const { return begun_; }
  // The whole snapshot has been told, and what changed since.
  bool is_all_told() const { return snapshot_done_ && !again_ && order_.empty(); }
  size_t size() const { return order_.size(); }
  uint32_t parts_untaken() const { return untaken_; }
  // The whole state, for models and logs.
  std::string DebugString() const;

 private:
  enum class Step : uint8_t { kNone, kOffer, kCancel };
  enum class Answer : uint8_t { kNone, kConfirm, kCancelled };
  struct Entry {
    uint64_t place = 0;  // in order_
    uint64_t told = 0;   // the claim that the peer knows
    bool again = false;
    uint64_t refused = 0;  // the peer's claim, or 0
    Step step = Step::kNone;
    Answer answer = Answer::kNone;
    uint64_t answered = 0;  // the peer's claim
  };
  struct Place {
    std::string name;  // empty: a signal
    std::shared_ptr<const Signal> held;
    size_t held_bytes = 0;
  };

  // The peer was told, or will not be told by the snapshot any more.
  bool IsKnown(absl::string_view name) const;
  Entry& Add(absl::string_view name, uint64_t told);
  Entry& Touch(absl::string_view name, uint64_t own);
  bool Define(uint32_t number, const NameSignatures& signatures, proto::NameChanges& part);
  bool TellEntry(const std::string& name, const OwnNames& names, const NameSignatures& signatures,
                 proto::NameChanges& part);
  void TellClaim(const std::string& name, const OwnName& own, proto::NameChanges& part);
  // Tells names after `at`, which follows; true when there are no more.
  bool TellSnapshot(const OwnNames& names, const NameSignatures& signatures, std::string& at, proto::NameChanges& part);
  bool IsFull() const;

  MonotonicTime begun_;
  std::map<std::string, Entry, std::less<>> entries_;
  std::map<uint64_t, Place> order_;
  uint64_t last_place_ = 0;
  size_t held_bytes_ = 0;

  // The snapshot has told the names up to this one, and before that those that
  // something was to be said of.
  std::string snapshot_at_;
  bool snapshot_done_ = false;
  std::set<std::string, std::less<>> told_before_snapshot_;
  // Then, if the peer asked, all names are told again, from this one on.
  bool again_ = false;
  std::string again_at_;
  bool ask_again_ = false;

  std::set<uint32_t> defined_;
  size_t bytes_ = 0;  // of the part that is being made
  uint32_t untaken_ = 0;
  uint32_t owed_taken_ = 0;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_NAMES_NAME_FEED_H_
