#include "understudy/transport/names/name_feed.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/address_key.h"
#include "understudy/actors/fault_point.h"
#include "understudy/actors/message.h"
#include "understudy/actors/node_table.h"
#include "understudy/actors/pid.h"
#include "understudy/proto/names.pb.h"
#include "understudy/transport/names/name_limits.h"
#include "understudy/transport/names/name_signatures.h"
#include "understudy/transport/protocol/local_types.h"

namespace understudy {
namespace {

// Faults that tests plant: each leaves one rule out.
FaultPoint kKnowsNoWindow("names_know_no_window");
FaultPoint kSkips("names_skip_what_did_not_fit");
FaultPoint kForgets("names_forget_what_the_peer_knows");

// The most bytes that a change takes on the wire besides its name.
constexpr size_t kChangeBytes = 64;

// Whether the part has nothing that the peer acknowledges.
bool IsEmpty(const proto::NameChanges& part) {
  return part.changes_size() == 0 && part.definitions_size() == 0 && part.descriptions_size() == 0;
}

}  // namespace

// ---- Adding what the peer must be told ----

bool NameFeed::IsKnown(absl::string_view name) const {
  return snapshot_done_ || name <= snapshot_at_ || told_before_snapshot_.contains(name);
}

NameFeed::Entry& NameFeed::Add(absl::string_view name, uint64_t told) {
  Entry& entry = entries_[std::string(name)];
  entry.place = ++last_place_;
  entry.told = told;
  order_[entry.place] = {.name = std::string(name)};
  return entry;
}

NameFeed::Entry& NameFeed::Touch(absl::string_view name, uint64_t own) {
  const auto entry = entries_.find(name);
  if (entry != entries_.end()) return entry->second;
  return Add(name, IsKnown(name) ? own : 0);
}

void NameFeed::OnChanged(absl::string_view name, uint64_t number_before, bool is_owned) {
  const auto waiting = entries_.find(name);
  if (waiting == entries_.end()) {
    if (IsKnown(name)) Add(name, number_before);
    return;
  }
  Entry& entry = waiting->second;
  if (!is_owned && entry.told == 0) {
    order_.erase(entry.place);
    entries_.erase(waiting);
    return;
  }
  entry = {.place = entry.place, .told = kForgets.armed() ? 0 : entry.told};
}

void NameFeed::TellAgain(absl::string_view name, uint64_t own) { Touch(name, own).again = true; }

void NameFeed::Refuse(absl::string_view name, uint64_t own, uint64_t theirs) { Touch(name, own).refused = theirs; }

void NameFeed::Offer(absl::string_view name, uint64_t own) { Touch(name, own).step = Step::kOffer; }

bool NameFeed::Cancel(absl::string_view name, uint64_t own) {
  Entry& entry = Touch(name, own);
  const bool had_left = entry.step != Step::kOffer;
  entry.step = had_left ? Step::kCancel : Step::kNone;
  return !had_left;
}

void NameFeed::Confirm(absl::string_view name, uint64_t own, uint64_t theirs) {
  Entry& entry = Touch(name, own);
  entry.answer = Answer::kConfirm;
  entry.answered = theirs;
}

void NameFeed::Cancelled(absl::string_view name, uint64_t own, uint64_t theirs) {
  Entry& entry = Touch(name, own);
  entry.answer = Answer::kCancelled;
  entry.answered = theirs;
}

absl::Status NameFeed::Hold(std::shared_ptr<const Signal> signal, size_t bytes) {
  if (held_bytes_ + bytes > limits::kHeldSignalBytesMax) {
    return absl::ResourceExhaustedError(
        absl::StrCat("signals of ", held_bytes_, " bytes wait until the peer has taken the names before them; at most ",
                     limits::kHeldSignalBytesMax, " are held"));
  }
  held_bytes_ += bytes;
  order_[++last_place_] = {.name = "", .held = std::move(signal), .held_bytes = bytes};
  return absl::OkStatus();
}

void NameFeed::OnAskedAgain() {
  again_ = true;
  again_at_.clear();
}

void NameFeed::AskFor(uint32_t set, uint64_t mailboxes) {
  proto::DescriptionRequest& request = to_ask_.emplace_back();
  request.set_number(set);
  request.set_mailboxes(mailboxes);
}

absl::Status NameFeed::OnAskedFor(const proto::DescriptionRequest& request) {
  if (!defined_.contains(request.number()) || !asked_.insert(request.number()).second) {
    return absl::InvalidArgumentError(absl::StrCat("a peer asks for a description of the set of mailboxes ",
                                                   request.number(),
                                                   ", which it was not told, or for the second time"));
  }
  to_tell_.push_back(request);
  return absl::OkStatus();
}

absl::Status NameFeed::OnTaken(uint32_t parts) {
  if (parts > untaken_) {
    return absl::InvalidArgumentError(absl::StrCat("a peer took ", parts, " parts of names, and was told ", untaken_));
  }
  untaken_ -= parts;
  return absl::OkStatus();
}

// ---- Telling the peer ----

bool NameFeed::IsFull() const { return bytes_ >= limits::kNamePartBytes; }

absl::optional<NameFeed::Part> NameFeed::Take(const OwnNames& names, const NameSignatures& signatures,
                                              const LocalTypes& types, int64_t& steps_left) {
  Part part;
  bytes_ = 0;
  const bool may_tell = untaken_ < limits::kNamePartsUntakenMax || kKnowsNoWindow.armed();
  const bool describes = may_tell && !to_tell_.empty();
  if (describes) TellDescription(signatures, types, steps_left, part.changes);
  while (!describes && !order_.empty() && !IsFull()) {
    const auto next = order_.begin();
    if (next->second.held != nullptr) {
      if (!IsEmpty(part.changes)) break;
      part.held = std::move(next->second.held);
      held_bytes_ -= next->second.held_bytes;
      order_.erase(next);
      return part;
    }
    if (!may_tell || !TellEntry(next->second.name, names, signatures, part.changes)) break;
    entries_.erase(next->second.name);
    order_.erase(next);
  }
  if (may_tell && !describes && order_.empty() && !snapshot_done_) {
    snapshot_done_ = TellSnapshot(names, signatures, snapshot_at_, part.changes);
  }
  if (may_tell && !describes && order_.empty() && snapshot_done_ && again_) {
    again_ = !TellSnapshot(names, signatures, again_at_, part.changes);
  }
  if (IsEmpty(part.changes) && owed_taken_ == 0 && !ask_again_ && to_ask_.empty()) return absl::nullopt;
  if (!IsEmpty(part.changes)) ++untaken_;
  part.changes.set_tell_again(std::exchange(ask_again_, false));
  part.changes.set_taken(std::exchange(owed_taken_, 0));
  for (size_t i = 0; i < limits::kDescriptionRequestsPerPartMax && !to_ask_.empty(); ++i) {
    *part.changes.add_description_requests() = to_ask_.front();
    to_ask_.pop_front();
  }
  return part;
}

// Adds the signature set to the part if the peer does not know it. Returns false if the claim that needs it must go
// into the next part: a large set travels alone, so that every other part fits one slot.
bool NameFeed::Define(uint32_t number, const NameSignatures& signatures, proto::NameChanges& part) {
  if (number == 0 || defined_.contains(number)) return true;
  const std::shared_ptr<const proto::SignatureSet> set = signatures.Find(number);
  const size_t bytes = set->ByteSizeLong();
  const bool is_large = bytes > limits::kSmallSignatureBytes;
  if (is_large && !IsEmpty(part)) return false;
  defined_.insert(number);
  proto::SignatureSet& definition = *part.add_definitions();
  definition = *set;
  if (fingerprints_ == Fingerprints::kNotTold) {
    for (proto::MailboxSignature& mailbox : *definition.mutable_mailboxes()) mailbox.clear_fingerprint();
  }
  bytes_ += bytes;
  return !is_large;
}

void NameFeed::TellDescription(const NameSignatures& signatures, const LocalTypes& types, int64_t& steps_left,
                               proto::NameChanges& part) {
  const proto::DescriptionRequest request = to_tell_.front();
  to_tell_.pop_front();
  std::string description = types.Describe(*signatures.Find(request.number()), request.mailboxes(), steps_left);
  if (description.size() > limits::kDescriptionBytesMax) description.clear();
  proto::Description& told = *part.add_descriptions();
  told.set_number(request.number());
  told.set_protocol(std::move(description));
}

void NameFeed::TellClaim(const std::string& name, const OwnName& own, proto::NameChanges& part) {
  bytes_ += name.size() + kChangeBytes;
  if (own.pid.is_null()) {
    proto::NameMark& vacancy = *part.add_changes()->mutable_vacancy();
    vacancy.set_name(name);
    vacancy.set_number(own.number);
    return;
  }
  proto::NameClaim& claim = *part.add_changes()->mutable_claim();
  claim.set_name(name);
  const ActorAddress address = internal::AddressOf(own.pid);
  claim.set_cell(address.cell);
  claim.set_serial(address.serial);
  claim.set_number(own.number);
  claim.set_age_nanos(absl::ToInt64Nanoseconds(begun_ - own.claimed));
  claim.set_signatures(own.signatures);
}

bool NameFeed::TellEntry(const std::string& name, const OwnNames& names, const NameSignatures& signatures,
                         proto::NameChanges& part) {
  const Entry& entry = entries_.find(name)->second;
  const auto found = names.find(name);
  const OwnName* own = found == names.end() ? nullptr : &found->second;
  const bool claims = own != nullptr && (entry.told != own->number || entry.again);
  if (claims && !Define(own->signatures, signatures, part)) return false;
  const auto tell = [&](proto::NameMark& mark, uint64_t number) {
    mark.set_name(name);
    mark.set_number(number);
    bytes_ += name.size() + kChangeBytes;
  };
  // A vacancy comes before the release of the claim that it follows, so that the peer never sees the name free.
  const bool is_vacant = own != nullptr && own->pid.is_null();
  if (claims && is_vacant) TellClaim(name, *own, part);
  if (entry.told != 0 && (own == nullptr || own->number != entry.told)) {
    tell(*part.add_changes()->mutable_release(), entry.told);
  }
  if (own == nullptr) {
    told_before_snapshot_.erase(name);
    return true;
  }
  if (claims && !is_vacant) TellClaim(name, *own, part);
  if (entry.refused != 0) tell(*part.add_changes()->mutable_refusal(), entry.refused);
  if (entry.step == Step::kOffer) tell(*part.add_changes()->mutable_offer(), own->number);
  if (entry.step == Step::kCancel) tell(*part.add_changes()->mutable_cancel(), own->number);
  if (entry.answer == Answer::kConfirm) tell(*part.add_changes()->mutable_confirm(), entry.answered);
  if (entry.answer == Answer::kCancelled) tell(*part.add_changes()->mutable_cancelled(), entry.answered);
  if (!IsKnown(name)) told_before_snapshot_.insert(name);
  return true;
}

bool NameFeed::TellSnapshot(const OwnNames& names, const NameSignatures& signatures, std::string& at,
                            proto::NameChanges& part) {
  for (auto next = names.upper_bound(at); next != names.end(); ++next) {
    const auto& [name, own] = *next;
    const auto told = told_before_snapshot_.find(name);
    if (told != told_before_snapshot_.end()) {
      told_before_snapshot_.erase(told);
    } else {
      if (IsFull() || !Define(own.signatures, signatures, part)) {
        if (kSkips.armed()) at = name;
        return false;
      }
      TellClaim(name, own, part);
    }
    at = name;
  }
  return true;
}

std::string NameFeed::DebugString() const {
  std::string text =
      absl::StrCat(begun_.nanos(), snapshot_done_ ? " done" : " at ", snapshot_at_, " untaken ", untaken_, " owed ",
                   owed_taken_, again_ ? " again " : "", again_at_, ask_again_ ? " asks" : "");
  for (const auto& [place, what] : order_) {
    absl::StrAppend(&text, " [", what.name);
    if (const auto entry = entries_.find(what.name); entry != entries_.end()) {
      const Entry& e = entry->second;
      absl::StrAppend(&text, " told ", e.told, " again ", e.again ? 1 : 0, " refused ", e.refused, " step ",
                      static_cast<int>(e.step), " answer ", static_cast<int>(e.answer), " ", e.answered);
    }
    absl::StrAppend(&text, "]");
  }
  for (const std::string& name : told_before_snapshot_) absl::StrAppend(&text, " +", name);
  for (const auto& request : to_tell_) absl::StrAppend(&text, " describe ", request.number());
  for (const auto& request : to_ask_) absl::StrAppend(&text, " ask for ", request.number());
  return text;
}

}  // namespace understudy
