// NameTable: conflicts between two owners of one name. The rules are in name_table.h.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/fault_point.h"
#include "understudy/proto/names.pb.h"
#include "understudy/transport/names/name_feed.h"
#include "understudy/transport/names/name_table.h"

namespace understudy {
namespace {

// Faults that the model checker of conflicts plants: each takes one rule away.
FaultPoint kComparesNoAges("names_compare_no_ages");
FaultPoint kComparesNoNodes("names_compare_no_nodes");
FaultPoint kTellsNothingAgain("names_are_not_told_again");

}  // namespace

absl::Status NameTable::OnMark(absl::string_view peer_name, Peer& peer, const proto::NameChange& change) {
  switch (change.what_case()) {
    case proto::NameChange::kRefusal:
      OnRefusal(peer_name, peer, change.refusal());
      break;
    case proto::NameChange::kOffer:
      OnOffer(peer_name, peer, change.offer());
      break;
    case proto::NameChange::kConfirm:
      OnConfirm(peer_name, peer, change.confirm());
      break;
    case proto::NameChange::kCancel:
      OnCancel(peer_name, peer, change.cancel());
      break;
    case proto::NameChange::kCancelled:
      OnCancelled(peer_name, change.cancelled());
      break;
    case proto::NameChange::kClaim:
    case proto::NameChange::kRelease:
    case proto::NameChange::kVacancy:
    case proto::NameChange::WHAT_NOT_SET:  // of a later version
      break;
  }
  return absl::OkStatus();
}

// Both ends compare the same two ages: our claim's as told to the peer, and the peer's as told to us.
bool NameTable::Loses(const OwnName& own, const Peer& peer, const NameEntry& theirs) const {
  const int64_t our_age = peer.feed.begun().nanos() - own.claimed.nanos();
  const int64_t their_age = peer.feed.begun().nanos() - theirs.claimed.nanos();
  const bool is_same_age = their_age == our_age || kComparesNoAges.armed();
  if (!is_same_age) return their_age > our_age;
  return theirs.node < node_ && !kComparesNoNodes.armed();
}

const std::string* NameTable::WinnerOver(absl::string_view name, const OwnName& own) const {
  const auto contest = contests_.find(name);
  if (contest != contests_.end() && !contest->second.refused_by.empty()) return &*contest->second.refused_by.begin();
  const auto claims = theirs_.find(name);
  if (claims == theirs_.end()) return nullptr;
  for (const NameEntry& theirs : claims->second) {
    if (Loses(own, peers_.find(theirs.node)->second, theirs)) return &theirs.node;
  }
  return nullptr;
}

// Call when a peer that may own the name has claimed it.
void NameTable::OnRival(absl::string_view name, absl::string_view peer_name) {
  const auto own = FindOwn(name);
  if (own == own_.end()) return;
  Peer& peer = peers_.find(peer_name)->second;
  const std::vector<NameEntry>& claims = theirs_.find(name)->second;
  const auto theirs = std::find_if(claims.begin(), claims.end(), [&](const auto& c) { return c.node == peer_name; });
  if (Loses(own->second, peer, *theirs)) {
    Reconsider(name);
  } else if (!kTellsNothingAgain.armed()) {
    peer.feed.TellAgain(name, own->second.number);
  }
}

void NameTable::OnRefusal(absl::string_view peer_name, Peer& peer, const proto::NameMark& mark) {
  const auto own = FindOwn(mark.name());
  if (own == own_.end() || own->second.number != mark.number()) return;
  if (!may_publish_(peer_name, mark.name())) {
    ++peer.counters.refusals_ignored;
    // Reported once in a session, so that a peer cannot flood the log.
    if (!std::exchange(peer.refusal_told, true)) {
      changes_.push_back({.kind = Change::Kind::kRefused,
                          .name = mark.name(),
                          .entry = *OwnEntry(mark.name()),
                          .peer = std::string(peer_name)});
    }
    return;
  }
  // The peer told its claim before its refusal. If the claim is gone, so is the reason to give way.
  if (!peer.names.contains(mark.name())) return;
  contests_[mark.name()].refused_by.insert(std::string(peer_name));
  Reconsider(mark.name());
}

void NameTable::OnOffer(absl::string_view peer_name, Peer& peer, const proto::NameMark& mark) {
  const auto own = FindOwn(mark.name());
  if (own == own_.end()) return;  // our release is on its way to the peer
  const auto contest = contests_.find(mark.name());
  if (contest == contests_.end() || contest->second.offered_to.empty()) {
    peer.feed.Confirm(mark.name(), own->second.number, mark.number());
    return;
  }
  contest->second.asked_by[std::string(peer_name)] = mark.number();
  if (node_ < peer_name && !contest->second.cancelling) CancelOffer(mark.name());
}

void NameTable::CancelOffer(absl::string_view name) {
  Contest& contest = contests_.find(name)->second;
  const uint64_t own = FindOwn(name)->second.number;
  tells_others_ = true;
  if (!peers_.find(contest.offered_to)->second.feed.Cancel(name, own)) {
    contest.cancelling = true;
    return;
  }
  contest.offered_to.clear();
  Reconsider(name);
}

void NameTable::OnConfirm(absl::string_view peer_name, Peer& peer, const proto::NameMark& mark) {
  const auto own = FindOwn(mark.name());
  const auto contest = contests_.find(mark.name());
  if (own == own_.end() || own->second.number != mark.number()) return;
  if (contest == contests_.end() || contest->second.offered_to != peer_name) return;
  const bool is_refused = contest->second.refused_by.contains(peer_name);
  Change lost{.kind = is_refused ? Change::Kind::kForbidden : Change::Kind::kLost,
              .name = mark.name(),
              .entry = *OwnEntry(mark.name()),
              .peer = std::string(peer_name)};
  ++peer.counters.conflicts_lost;
  RemoveOwn(own);
  changes_.push_back(std::move(lost));
}

void NameTable::OnCancel(absl::string_view peer_name, Peer& peer, const proto::NameMark& mark) {
  const auto own = FindOwn(mark.name());
  if (own == own_.end()) return;  // our release is on its way to the peer
  const auto contest = contests_.find(mark.name());
  if (contest != contests_.end()) contest->second.asked_by.erase(std::string(peer_name));
  peer.feed.Cancelled(mark.name(), own->second.number, mark.number());
}

void NameTable::OnCancelled(absl::string_view peer_name, const proto::NameMark& mark) {
  const auto own = FindOwn(mark.name());
  const auto contest = contests_.find(mark.name());
  if (own == own_.end() || own->second.number != mark.number() || contest == contests_.end()) return;
  if (contest->second.offered_to != peer_name || !contest->second.cancelling) return;
  contest->second.offered_to.clear();
  contest->second.cancelling = false;
  Reconsider(mark.name());
}

void NameTable::ForgetRival(absl::string_view name, absl::string_view peer_name) {
  const auto contest = contests_.find(name);
  if (contest == contests_.end()) return;
  contest->second.asked_by.erase(std::string(peer_name));
  contest->second.refused_by.erase(std::string(peer_name));
  if (contest->second.offered_to == peer_name) {
    contest->second.offered_to.clear();
    contest->second.cancelling = false;
  }
  Reconsider(name);
}

void NameTable::Reconsider(absl::string_view name) {
  const auto own = FindOwn(name);
  if (own == own_.end()) return;
  Contest& contest = contests_[std::string(name)];
  if (!contest.offered_to.empty()) return;
  for (const auto& [asker, claim] : std::exchange(contest.asked_by, {})) {
    tells_others_ = true;
    peers_.find(asker)->second.feed.Confirm(name, own->second.number, claim);
  }
  const std::string* winner = WinnerOver(name, own->second);
  if (winner == nullptr) {
    contests_.erase(contests_.find(name));
    return;
  }
  contest.offered_to = *winner;
  tells_others_ = true;
  peers_.find(*winner)->second.feed.Offer(name, own->second.number);
}

}  // namespace understudy
