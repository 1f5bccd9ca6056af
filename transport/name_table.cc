#include "understudy/transport/name_table.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/pid.h"
#include "understudy/proto/names.pb.h"

namespace understudy {
namespace {

// Claims in one envelope of a snapshot; well below a message's bound.
constexpr int kClaimsPerEnvelope = 1000;
constexpr uint64_t kSerialEnd = uint64_t{1} << 48;

absl::Status CheckName(absl::string_view name) {
  const bool is_printable =
      std::none_of(name.begin(), name.end(), [](unsigned char c) { return absl::ascii_iscntrl(c); });
  if (!name.empty() && name.size() <= limits::kNameBytesMax && is_printable) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("bad frame: a name of ", name.size(), " bytes, or unprintable"));
}

absl::Status CheckClaim(const proto::NameClaim& claim) {
  if (claim.serial() == 0 || claim.serial() >= kSerialEnd) {
    return absl::InvalidArgumentError("bad frame: a name of no actor");
  }
  if (claim.mailboxes_size() > limits::kMailboxesPerActorMax) {
    return absl::InvalidArgumentError("bad frame: an actor with too many mailboxes");
  }
  return CheckName(claim.name());
}

proto::NameClaim ToClaim(absl::string_view name, const NameEntry& entry) {
  proto::NameClaim claim;
  claim.set_name(std::string(name));
  claim.set_cell(entry.pid.cell());
  claim.set_serial(entry.pid.serial());
  claim.set_claimed_nanos(absl::ToUnixNanos(entry.claimed));
  for (const proto::MailboxSignature& mailbox : entry.mailboxes) *claim.add_mailboxes() = mailbox;
  return claim;
}

}  // namespace

// ---- Our own names ----

absl::Status NameTable::Claim(absl::string_view name, Pid pid, absl::Time now,
                              std::vector<proto::MailboxSignature> mailboxes) {
  if (const NameEntry* owner = Find(name); owner != nullptr) {
    if (owner->pid == pid) return absl::OkStatus();
    return absl::AlreadyExistsError(
        absl::StrCat("the name '", name, "' belongs to ", owner->pid.ToString(), " on node ", owner->node));
  }
  if (names_of_node_[node_] >= limits::kNamesPerNodeMax) {
    return absl::ResourceExhaustedError(
        absl::StrCat("this node has ", limits::kNamesPerNodeMax, " published names; no more are kept"));
  }
  // What peers can be told: whole nanoseconds.
  const NameEntry entry{.node = node_,
                        .pid = pid,
                        .claimed = absl::FromUnixNanos(absl::ToUnixNanos(now)),
                        .mailboxes = std::move(mailboxes)};
  Put(name, node_, &entry);
  NoteOwnClaim(name, entry);
  return absl::OkStatus();
}

void NameTable::Release(absl::string_view name, Pid pid) {
  const auto claims = names_.find(name);
  if (claims == names_.end()) return;
  const auto own = claims->second.find(node_);
  if (own == claims->second.end() || own->second.pid != pid) return;
  Put(name, node_, nullptr);
  NoteOwnRelease(name, pid);
}

// Releases go before claims in what peers are told, so a claim that is released
// again before anybody was told is simply taken back.
void NameTable::NoteOwnRelease(absl::string_view name, Pid pid) {
  auto& claims = *untold_.mutable_claims();
  const auto untold =
      std::find_if(claims.begin(), claims.end(), [&](const proto::NameClaim& claim) { return claim.name() == name; });
  if (untold != claims.end()) {
    claims.erase(untold);
    return;
  }
  proto::NameRelease& release = *untold_.add_releases();
  release.set_name(std::string(name));
  release.set_cell(pid.cell());
  release.set_serial(pid.serial());
}

void NameTable::NoteOwnClaim(absl::string_view name, const NameEntry& entry) {
  *untold_.add_claims() = ToClaim(name, entry);
}

absl::optional<proto::NameChanges> NameTable::TakeOwnChanges() {
  if (untold_.claims_size() == 0 && untold_.releases_size() == 0) return absl::nullopt;
  return std::exchange(untold_, proto::NameChanges());
}

std::vector<proto::NameChanges> NameTable::Snapshot() const {
  std::vector<proto::NameChanges> parts(1);
  for (const auto& [name, claims] : names_) {
    const auto own = claims.find(node_);
    if (own == claims.end()) continue;
    if (parts.back().claims_size() >= kClaimsPerEnvelope) parts.emplace_back();
    *parts.back().add_claims() = ToClaim(name, own->second);
  }
  parts.back().set_snapshot_complete(true);
  return parts;
}

// ---- Peers' names ----

absl::Status NameTable::OnChanges(absl::string_view peer, uint16_t peer_node, const proto::NameChanges& changes) {
  for (const proto::NameRelease& release : changes.releases()) {
    const auto claims = names_.find(release.name());
    if (claims == names_.end()) continue;
    const auto theirs = claims->second.find(peer);
    if (theirs == claims->second.end() || theirs->second.pid != Pid(peer_node, release.cell(), release.serial())) {
      continue;  // it was replaced by a claim that is still on its way, or never was
    }
    Put(release.name(), peer, nullptr);
  }
  for (const proto::NameClaim& claim : changes.claims()) {
    absl::Status checked = CheckClaim(claim);
    if (!checked.ok()) return checked;
    if (names_of_node_[std::string(peer)] >= limits::kNamesPerNodeMax) {
      return absl::InvalidArgumentError("bad frame: a node with too many names");
    }
    const NameEntry entry{.node = std::string(peer),
                          .pid = Pid(peer_node, claim.cell(), claim.serial()),
                          .claimed = absl::FromUnixNanos(claim.claimed_nanos()),
                          .mailboxes = {claim.mailboxes().begin(), claim.mailboxes().end()}};
    Put(claim.name(), peer, &entry);
    // Two live owners that see each other: both nodes decide alike.
    const auto claims = names_.find(claim.name());
    const auto own = claims->second.find(node_);
    if (own == claims->second.end() || IsBetter(own->second, entry)) continue;
    const NameEntry lost = own->second;
    Put(claim.name(), node_, nullptr);
    NoteOwnRelease(claim.name(), lost.pid);
    changes_.push_back({.kind = Change::Kind::kLost, .name = claim.name(), .entry = lost});
  }
  return absl::OkStatus();
}

void NameTable::OnSessionEnded(absl::string_view peer) {
  std::vector<std::string> gone;
  for (const auto& [name, claims] : names_) {
    if (claims.contains(peer)) gone.push_back(name);
  }
  for (const std::string& name : gone) Put(name, peer, nullptr);
}

// ---- The table ----

const NameEntry* NameTable::Find(absl::string_view name) const {
  const auto claims = names_.find(name);
  return claims == names_.end() ? nullptr : Best(claims->second);
}

bool NameTable::IsBetter(const NameEntry& a, const NameEntry& b) {
  return std::make_tuple(a.claimed, a.node, a.pid.serial()) < std::make_tuple(b.claimed, b.node, b.pid.serial());
}

const NameEntry* NameTable::Best(const Claims& claims) {
  const auto best = std::min_element(claims.begin(), claims.end(),
                                     [](const auto& a, const auto& b) { return IsBetter(a.second, b.second); });
  return best == claims.end() ? nullptr : &best->second;
}

void NameTable::Put(absl::string_view name, absl::string_view node, const NameEntry* entry) {
  auto claims = names_.find(name);
  if (claims == names_.end()) {
    if (entry == nullptr) return;
    claims = names_.emplace(std::string(name), Claims()).first;
  }
  absl::optional<NameEntry> before;
  if (const NameEntry* best = Best(claims->second); best != nullptr) before = *best;

  if (const auto old = claims->second.find(node); old != claims->second.end()) {
    claims->second.erase(old);
    --names_of_node_[std::string(node)];
  }
  if (entry != nullptr) {
    claims->second.emplace(std::string(node), *entry);
    ++names_of_node_[std::string(node)];
  }

  const NameEntry* after = Best(claims->second);
  if (after == nullptr) {
    if (before.has_value()) {
      changes_.push_back({.kind = Change::Kind::kHide, .name = std::string(name), .entry = *std::move(before)});
    }
    names_.erase(claims);
  } else if (!before.has_value() || before->pid != after->pid) {
    changes_.push_back({.kind = Change::Kind::kShow, .name = std::string(name), .entry = *after});
  }
}

}  // namespace understudy
