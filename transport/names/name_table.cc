#include "understudy/transport/names/name_table.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/address_key.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/registry.h"
#include "understudy/proto/names.pb.h"
#include "understudy/transport/names/name_feed.h"
#include "understudy/transport/names/name_limits.h"
#include "understudy/transport/names/peer_protocols.h"
#include "understudy/transport/protocol/local_types.h"

namespace understudy {
namespace {

// The largest age of a claim that is accepted, 146 years: so that adding it to a time does not overflow.
constexpr int64_t kAgeNanosMax = std::numeric_limits<int64_t>::max() / 2;

absl::Status CheckClaim(const proto::NameClaim& claim) {
  absl::Status named = ValidateName(claim.name());
  if (!named.ok()) return named;
  if (claim.serial() == 0 || claim.serial() >= ActorAddress::kSerialEnd || claim.cell() >= ActorAddress::kCellEnd) {
    return absl::InvalidArgumentError(absl::StrCat("the claim of the name '", claim.name(),
                                                   "' is for no actor: its serial is ", claim.serial(),
                                                   ", expected 1 to ", ActorAddress::kSerialEnd - 1, "; its cell is ",
                                                   claim.cell(), ", expected 0 to ", ActorAddress::kCellEnd - 1));
  }
  if (claim.number() == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("the claim of the name '", claim.name(), "' has number 0: expected 1 or more"));
  }
  if (claim.age_nanos() > kAgeNanosMax || claim.age_nanos() < -kAgeNanosMax) {
    return absl::InvalidArgumentError(absl::StrCat("the claim of the name '", claim.name(), "' has an age of ",
                                                   claim.age_nanos(), " ns: expected at most ", kAgeNanosMax,
                                                   " ns, before or after now"));
  }
  return absl::OkStatus();
}

bool IsOlder(const NameEntry& a, const NameEntry& b) {
  return std::tie(a.claimed, a.node) < std::tie(b.claimed, b.node);
}

}  // namespace

NameTable::NameTable(std::string node, MayPublish may_publish, LocalTypes types, size_t names_max)
    : node_(std::move(node)), may_publish_(std::move(may_publish)), names_max_(names_max), types_(std::move(types)) {}

// ---- Our own names ----

absl::Status NameTable::Claim(absl::string_view name, Pid pid, MonotonicTime now,
                              const std::vector<proto::MailboxSignature>& mailboxes) {
  Free(name);
  if (const absl::optional<NameEntry> owner = Owner(name); owner.has_value()) {
    if (owner->pid == pid) return absl::OkStatus();
    return absl::AlreadyExistsError(
        absl::StrCat("the name '", name, "' belongs to ", owner->pid.ToString(), " on node ", owner->node));
  }
  if (own_.size() >= names_max_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("this node has ", names_max_, " published names; no more are kept"));
  }
  const absl::StatusOr<uint32_t> signatures = own_signatures_.NumberOf(mailboxes, types_);
  if (!signatures.ok()) return signatures.status();
  own_.emplace(std::string(name),
               OwnName{.pid = pid, .number = ++last_number_, .claimed = now, .signatures = *signatures});
  NoteShown(name, absl::nullopt);
  for (auto& [peer_name, peer] : peers_) peer.feed.OnChanged(name, 0, /*is_owned=*/true);
  return absl::OkStatus();
}

bool NameTable::Release(absl::string_view name, Pid pid) {
  const auto own = FindOwn(name);
  if (own == own_.end() || own->second.pid != pid) return false;
  RemoveOwn(own);
  return true;
}

void NameTable::Vacate(absl::string_view name, Pid pid) {
  Release(name, pid);
  if (own_.contains(name) || own_.size() >= names_max_) return;
  own_.emplace(std::string(name), OwnName{.number = ++last_number_});
  for (auto& [peer_name, peer] : peers_) peer.feed.OnChanged(name, 0, /*is_owned=*/true);
}

void NameTable::Free(absl::string_view name) {
  const auto own = own_.find(name);
  if (own == own_.end() || !own->second.pid.is_null()) return;
  const uint64_t number = own->second.number;
  own_.erase(own);
  for (auto& [peer_name, peer] : peers_) peer.feed.OnChanged(name, number, /*is_owned=*/false);
}

OwnNames::iterator NameTable::FindOwn(absl::string_view name) {
  const auto own = own_.find(name);
  return own == own_.end() || own->second.pid.is_null() ? own_.end() : own;
}

void NameTable::RemoveOwn(OwnNames::iterator own) {
  const std::string name = own->first;
  const absl::optional<NameEntry> before = OwnEntry(name);
  own_.erase(own);
  contests_.erase(name);
  tells_others_ = true;
  for (auto& [peer_name, peer] : peers_) peer.feed.OnChanged(name, before->number, /*is_owned=*/false);
  NoteShown(name, before);
}

// ---- Peers ----

void NameTable::OnSessionBegun(absl::string_view peer, NodePlace peer_node, MonotonicTime now,
                               Fingerprints fingerprints, PeerProof proof) {
  OnSessionEnded(peer);
  const auto begun = peers_.emplace(std::string(peer), Peer(peer_node, now, fingerprints, proof)).first;
  begun->second.budget = comparisons_.OnSessionBegun(proof == PeerProof::kProved ? peer : "", now);
}

absl::Status NameTable::OnChanges(absl::string_view peer_name, absl::string_view bytes) {
  const auto found = peers_.find(peer_name);
  if (found == peers_.end()) return absl::OkStatus();
  Peer& peer = found->second;
  if (bytes.size() > limits::kNamePartBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat("a part of names of ", bytes.size(), " bytes; at most ",
                                                   limits::kNamePartBytesMax, " are allowed"));
  }
  proto::NameChanges changes;
  if (!changes.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::InvalidArgumentError("a part of names that cannot be parsed");
  }
  if (absl::Status taken = peer.feed.OnTaken(changes.taken()); !taken.ok()) return taken;
  if (changes.tell_again()) peer.feed.OnAskedAgain();
  for (const proto::DescriptionRequest& request : changes.description_requests()) {
    if (absl::Status asked = peer.feed.OnAskedFor(request); !asked.ok()) return asked;
  }
  if (changes.changes_size() == 0 && changes.definitions_size() == 0 && changes.descriptions_size() == 0) {
    return absl::OkStatus();
  }
  counted_ = true;
  if (++peer.parts_not_entered > limits::kNamePartsUntakenMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("more than ", limits::kNamePartsUntakenMax, " parts of names without an acknowledgement"));
  }
  if (absl::Status defined = OnDefinitions(peer, changes); !defined.ok()) return defined;
  for (const proto::Description& description : changes.descriptions()) {
    if (absl::Status described = OnDescription(peer_name, peer, description); !described.ok()) return described;
  }
  // Vacancies end after the other changes, so that a name which has an owner again is not seen to be free in between.
  std::vector<const proto::NameMark*> freed;
  for (const proto::NameChange& change : changes.changes()) {
    absl::Status done;
    if (change.has_claim()) {
      done = OnClaim(peer_name, peer, change.claim());
    } else if (change.has_vacancy()) {
      done = OnVacancy(peer_name, peer, change.vacancy());
    } else if (change.has_release() && peer.vacancies.contains(change.release().name())) {
      freed.push_back(&change.release());
      OnRelease(peer_name, peer, change.release());
    } else if (change.has_release()) {
      OnRelease(peer_name, peer, change.release());
    } else {
      done = OnMark(peer_name, peer, change);
    }
    if (!done.ok()) return done;
  }
  for (const proto::NameMark* mark : freed) {
    const auto vacancy = peer.vacancies.find(mark->name());
    if (vacancy != peer.vacancies.end() && vacancy->second == mark->number()) EndVacancy(peer, mark->name());
  }
  return absl::OkStatus();
}

void NameTable::OnChangesEntered(absl::string_view peer_name) {
  const auto peer = peers_.find(peer_name);
  if (peer == peers_.end() || peer->second.parts_not_entered == 0) return;
  --peer->second.parts_not_entered;
  peer->second.feed.OweTaken();
}

absl::Status NameTable::OnDefinitions(Peer& peer, const proto::NameChanges& changes) {
  for (const proto::SignatureSet& set : changes.definitions()) {
    if (absl::Status defined = peer.signatures.Define(set); !defined.ok()) return defined;
    if (peer.feed.fingerprints() == Fingerprints::kNotTold || peer.signatures.Find(set.number()) == nullptr) continue;
    const uint64_t differ = peer.protocols.OnDefined(set, types_, comparisons_.StepsOf(peer.budget));
    if (differ != 0) peer.feed.AskFor(set.number(), differ);
  }
  return absl::OkStatus();
}

absl::Status NameTable::OnDescription(absl::string_view peer_name, Peer& peer, const proto::Description& description) {
  const uint32_t number = description.number();
  if (!peer.protocols.IsAwaited(number)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a description of the set of mailboxes ", number, ", which was not asked for"));
  }
  const std::shared_ptr<const proto::SignatureSet> set = peer.signatures.Find(number);
  const absl::StatusOr<std::set<std::string>> waited =
      peer.protocols.OnDescribed(*set, description.protocol(), types_, comparisons_.StepsOf(peer.budget));
  if (!waited.ok()) return waited.status();
  for (const std::string& name : *waited) {
    const absl::optional<NameEntry> before = Find(name);
    for (NameEntry& entry : theirs_.find(name)->second) {
      if (entry.node != peer_name) continue;
      entry.is_compared = true;
      entry.mailboxes = peer.protocols.MailboxesOf(*set);
    }
    NoteShown(name, before);
  }
  return absl::OkStatus();
}

absl::Status NameTable::OnClaim(absl::string_view peer_name, Peer& peer, const proto::NameClaim& claim) {
  if (absl::Status checked = CheckClaim(claim); !checked.ok()) return checked;
  const std::shared_ptr<const proto::SignatureSet> set = peer.signatures.Find(claim.signatures());
  const bool has_set = claim.signatures() != 0;
  if (has_set && !peer.signatures.IsDefined(claim.signatures())) {
    return absl::InvalidArgumentError(
        absl::StrCat("a claim with the set of mailboxes ", claim.signatures(), ", which is not defined"));
  }
  const std::string& name = claim.name();
  const bool is_entered = peer.names.contains(name);
  if (!may_publish_(peer_name, name)) {
    if (is_entered) RemoveTheirs(peer_name, peer, name);
    RefuseClaim(peer_name, peer, claim, Change::Kind::kNotGranted, peer.not_granted_told);
    return absl::OkStatus();
  }
  if (is_entered) {
    const std::vector<NameEntry>& claims = theirs_.find(name)->second;
    const bool is_told_again = std::any_of(claims.begin(), claims.end(), [&](const NameEntry& entry) {
      return entry.node == peer_name && entry.number == claim.number();
    });
    if (is_told_again) return absl::OkStatus();
    RemoveTheirs(peer_name, peer, name);
  }
  if (!HasRoom(peer, name) || (has_set && set == nullptr)) {
    RefuseClaim(peer_name, peer, claim, Change::Kind::kTooMany, peer.too_many_told);
    return absl::OkStatus();
  }
  const absl::optional<NameEntry> before = Find(name);
  // Computed in nanoseconds, because the sum of a MonotonicTime and a Duration is never before the clock's start, but
  // the peer's claim may be.
  const MonotonicTime claimed = MonotonicTime::FromNanos(peer.feed.begun().nanos() - claim.age_nanos());
  const bool is_compared = !peer.protocols.IsAwaited(claim.signatures());
  theirs_[name].push_back(
      NameEntry{.node = std::string(peer_name),
                .pid = Pid(peer.node, claim.cell(), claim.serial()),
                .number = claim.number(),
                .claimed = claimed,
                .mailboxes = set != nullptr && is_compared ? peer.protocols.MailboxesOf(*set) : nullptr,
                .signatures = claim.signatures(),
                .is_compared = is_compared});
  if (!is_compared) peer.protocols.AddWaiting(claim.signatures(), name);
  peer.names.insert(name);
  peer.name_bytes += limits::EnteredBytes(name.size());
  NoteShown(name, before);
  OnRival(name, peer_name);
  return absl::OkStatus();
}

bool NameTable::HasRoom(const Peer& peer, absl::string_view name) const {
  if (peer.names.size() + peer.vacancies.size() >= limits::kEnteredPerOwned * names_max_) return false;
  return peer.proof == PeerProof::kProved ||
         peer.name_bytes + limits::EnteredBytes(name.size()) <= limits::kUnprovedNameBytesMax;
}

void NameTable::RefuseClaim(absl::string_view peer_name, Peer& peer, const proto::NameClaim& claim, Change::Kind kind,
                            bool& is_told) {
  ++peer.counters.claims_refused;
  if (!std::exchange(is_told, true)) {
    changes_.push_back({.kind = kind, .name = claim.name(), .peer = std::string(peer_name)});
  }
  const auto own = FindOwn(claim.name());
  if (own != own_.end()) peer.feed.Refuse(claim.name(), own->second.number, claim.number());
}

void NameTable::OnRelease(absl::string_view peer_name, Peer& peer, const proto::NameMark& mark) {
  const auto claims = theirs_.find(mark.name());
  if (claims != theirs_.end()) {
    const bool is_theirs = std::any_of(claims->second.begin(), claims->second.end(), [&](const NameEntry& entry) {
      return entry.node == peer_name && entry.number == mark.number();
    });
    if (is_theirs) {
      RemoveTheirs(peer_name, peer, mark.name());
      return;
    }
  }
  // The claim was not entered here. If the peer has offered it to us, that offer is void.
  const auto contest = contests_.find(mark.name());
  if (contest == contests_.end()) return;
  const auto asked = contest->second.asked_by.find(peer_name);
  if (asked != contest->second.asked_by.end() && asked->second == mark.number()) contest->second.asked_by.erase(asked);
}

void NameTable::RemoveTheirs(absl::string_view peer_name, Peer& peer, const std::string& name) {
  const absl::optional<NameEntry> before = Find(name);
  const auto claims = theirs_.find(name);
  std::erase_if(claims->second, [&](const NameEntry& entry) {
    if (entry.node != peer_name) return false;
    if (!entry.is_compared) peer.protocols.RemoveWaiting(entry.signatures, name);
    return true;
  });
  if (claims->second.empty()) theirs_.erase(claims);
  if (peer.names.erase(name) != 0) peer.name_bytes -= limits::EnteredBytes(name.size());
  NoteShown(name, before);
  ForgetRival(name, peer_name);
}

// Enters the vacancy before it removes the peer's claim that it follows, so that the name is not seen free in between.
absl::Status NameTable::OnVacancy(absl::string_view peer_name, Peer& peer, const proto::NameMark& mark) {
  if (absl::Status named = ValidateName(mark.name()); !named.ok()) return named;
  if (mark.number() == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("the vacancy of the name '", mark.name(), "' has number 0: expected 1 or more"));
  }
  const bool is_granted = may_publish_(peer_name, mark.name());
  const bool is_entered = is_granted && (peer.vacancies.contains(mark.name()) || HasRoom(peer, mark.name()));
  if (is_entered) {
    const bool is_new = peer.vacancies.insert_or_assign(mark.name(), mark.number()).second;
    if (is_new) peer.name_bytes += limits::EnteredBytes(mark.name().size());
    if (is_new && ++vacant_[mark.name()] == 1) {
      changes_.push_back({.kind = Change::Kind::kVacant, .name = mark.name()});
    }
  }
  if (peer.names.contains(mark.name())) RemoveTheirs(peer_name, peer, mark.name());
  if (!is_entered) EndVacancy(peer, mark.name());
  return absl::OkStatus();
}

void NameTable::EndVacancy(Peer& peer, const std::string& name) {
  if (peer.vacancies.erase(name) == 0) return;
  peer.name_bytes -= limits::EnteredBytes(name.size());
  const auto vacant = vacant_.find(name);
  if (--vacant->second > 0) return;
  vacant_.erase(vacant);
  changes_.push_back({.kind = Change::Kind::kNotVacant, .name = name});
}

void NameTable::OnSessionEnded(absl::string_view peer_name) {
  const auto found = peers_.find(peer_name);
  if (found == peers_.end()) return;
  const auto peer = peers_.extract(found);  // first, so that the changes below are not told to this peer
  comparisons_.OnSessionEnded(peer.mapped().budget);
  for (const std::string& name : std::exchange(peer.mapped().names, {})) {
    RemoveTheirs(peer.key(), peer.mapped(), name);
  }
  for (const auto& [name, number] : std::map(peer.mapped().vacancies)) EndVacancy(peer.mapped(), name);
  std::vector<std::string> contested;
  contested.reserve(contests_.size());
  for (const auto& [name, contest] : contests_) contested.push_back(name);
  for (const std::string& name : contested) ForgetRival(name, peer.key());
}

void NameTable::OnGrantsChanged(absl::string_view peer) {
  const auto found = peers_.find(peer);
  if (found == peers_.end()) return;
  // Names that the peer may not own any more are removed here, because it need not tell its names again.
  for (const std::string& name : std::set(found->second.names)) {
    if (!may_publish_(peer, name)) RemoveTheirs(peer, found->second, name);
  }
  for (const auto& [name, number] : std::map(found->second.vacancies)) {
    if (!may_publish_(peer, name)) EndVacancy(found->second, name);
  }
  found->second.feed.AskAgain();
}

absl::optional<NameFeed::Part> NameTable::TakePart(absl::string_view peer) {
  const auto found = peers_.find(peer);
  if (found == peers_.end()) return absl::nullopt;
  return found->second.feed.Take(own_, own_signatures_, types_, comparisons_.StepsOf(found->second.budget));
}

bool NameTable::MustHold(absl::string_view peer) const {
  const auto found = peers_.find(peer);
  return found != peers_.end() && found->second.feed.has_changes();
}

absl::Status NameTable::Hold(absl::string_view peer, std::shared_ptr<const Signal> signal, size_t bytes) {
  return peers_.find(peer)->second.feed.Hold(std::move(signal), bytes);
}

size_t NameTable::HeldBytes(absl::string_view peer) const {
  const auto found = peers_.find(peer);
  return found != peers_.end() ? found->second.feed.held_bytes() : 0;
}

// ---- The table ----

absl::optional<NameEntry> NameTable::OwnEntry(absl::string_view name) const {
  const auto own = own_.find(name);
  if (own == own_.end() || own->second.pid.is_null()) return absl::nullopt;
  return NameEntry{.node = node_, .pid = own->second.pid, .number = own->second.number, .claimed = own->second.claimed};
}

absl::optional<NameEntry> NameTable::Owner(absl::string_view name) const {
  if (absl::optional<NameEntry> own = OwnEntry(name); own.has_value()) return own;
  const auto claims = theirs_.find(name);
  if (claims == theirs_.end()) return absl::nullopt;
  return *std::min_element(claims->second.begin(), claims->second.end(), IsOlder);
}

absl::optional<NameEntry> NameTable::Find(absl::string_view name) const {
  if (absl::optional<NameEntry> own = OwnEntry(name); own.has_value()) return own;
  const auto claims = theirs_.find(name);
  if (claims == theirs_.end()) return absl::nullopt;
  const NameEntry* shown = nullptr;
  for (const NameEntry& entry : claims->second) {
    if (entry.is_compared && (shown == nullptr || IsOlder(entry, *shown))) shown = &entry;
  }
  return shown == nullptr ? absl::nullopt : absl::optional<NameEntry>(*shown);
}

bool NameTable::IsVacant(absl::string_view name) const {
  return (own_.contains(name) || vacant_.contains(name)) && !Find(name).has_value();
}

void NameTable::NoteShown(absl::string_view name, const absl::optional<NameEntry>& before) {
  const absl::optional<NameEntry> after = Find(name);
  if (!after.has_value()) {
    if (before.has_value())
      changes_.push_back({.kind = Change::Kind::kHide, .name = std::string(name), .entry = *before});
  } else if (!before.has_value() || before->pid != after->pid) {
    changes_.push_back({.kind = Change::Kind::kShow, .name = std::string(name), .entry = *after});
  }
}

// ---- Observers ----

NameTable::Counters NameTable::counters(absl::string_view peer) const {
  const auto found = peers_.find(peer);
  return found == peers_.end() ? Counters() : found->second.counters;
}

const NameFeed* NameTable::feed(absl::string_view peer) const {
  const auto found = peers_.find(peer);
  return found == peers_.end() ? nullptr : &found->second.feed;
}

size_t NameTable::names_of(absl::string_view peer) const {
  const auto found = peers_.find(peer);
  return found == peers_.end() ? 0 : found->second.names.size();
}

std::string NameTable::DebugString() const {
  std::string text = absl::StrCat(node_, ":");
  for (const auto& [name, own] : own_) {
    absl::StrAppend(&text, " ", name, own.pid.is_null() ? "~" : "=", own.number, "@", own.claimed.nanos());
  }
  for (const auto& [name, claims] : theirs_) {
    for (const NameEntry& entry : claims) {
      absl::StrAppend(&text, " ", name, entry.is_compared ? "=" : "?", entry.node, entry.number, "@",
                      entry.claimed.nanos());
    }
  }
  for (const auto& [name, contest] : contests_) {
    absl::StrAppend(&text, " ", name, "->", contest.offered_to, contest.cancelling ? "!" : "");
    for (const auto& [asker, number] : contest.asked_by) absl::StrAppend(&text, " asked ", asker, number);
    for (const std::string& refuser : contest.refused_by) absl::StrAppend(&text, " refused ", refuser);
  }
  for (const auto& [name, peer] : peers_) {
    absl::StrAppend(&text, " ", name, "{", peer.feed.DebugString(), " in ", peer.parts_not_entered, "}");
    for (const auto& [vacant, number] : peer.vacancies) absl::StrAppend(&text, " ", vacant, "~", name, number);
  }
  return text;
}

}  // namespace understudy
