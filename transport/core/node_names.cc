#include "understudy/transport/core/node_names.h"

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/registry.h"
#include "understudy/actors/router.h"
#include "understudy/proto/names.pb.h"
#include "understudy/transport/grants.h"
#include "understudy/transport/names/name_feed.h"
#include "understudy/transport/names/name_table.h"
#include "understudy/transport/protocol/local_types.h"
#include "understudy/transport/session/stream_identity.h"

namespace understudy::internal {

NodeNames::NodeNames(std::string node, std::shared_ptr<const Grants> grants, Registry* registry,
                     understudy::Inbound* inbound, LocalTypes types)
    : node_(std::move(node)),
      registry_(registry),
      inbound_(inbound),
      grants_(std::move(grants)),
      table_(
          node_,
          [this](absl::string_view peer, absl::string_view name) ABSL_NO_THREAD_SAFETY_ANALYSIS {
            return MayPublish(peer, name);  // table_ is used with mu_ held
          },
          std::move(types)) {}

bool NodeNames::MayPublish(absl::string_view peer, absl::string_view name) const {
  const auto identity = identities_.find(peer);
  return identity != identities_.end() && grants_->Allows(identity->second, peer, Operation::kPublish, name);
}

absl::Status NodeNames::Claim(absl::string_view name, Pid pid, MonotonicTime now,
                              const std::vector<proto::MailboxSignature>& mailboxes) {
  absl::MutexLock lock(&mu_);
  absl::Status claimed = table_.Claim(name, pid, now, mailboxes);
  TakeChanges(/*refusals=*/nullptr);
  return claimed;
}

bool NodeNames::Release(absl::string_view name, Pid pid) {
  absl::MutexLock lock(&mu_);
  if (!table_.Release(name, pid)) return false;
  TakeChanges(/*refusals=*/nullptr);
  return true;
}

void NodeNames::Vacate(absl::string_view name, Pid pid) {
  absl::MutexLock lock(&mu_);
  table_.Vacate(name, pid);
  TakeChanges(/*refusals=*/nullptr);
}

void NodeNames::Free(absl::string_view name) {
  absl::MutexLock lock(&mu_);
  table_.Free(name);
}

void NodeNames::SetGrants(std::shared_ptr<const Grants> grants) {
  absl::MutexLock lock(&mu_);
  grants_ = std::move(grants);
  for (const auto& [peer, identity] : identities_) table_.OnGrantsChanged(peer);
  TakeChanges(/*refusals=*/nullptr);
}

void NodeNames::OnSessionBegun(absl::string_view peer, const StreamIdentity& identity, NodePlace place,
                               MonotonicTime now, Fingerprints fingerprints) {
  absl::MutexLock lock(&mu_);
  identities_.insert_or_assign(std::string(peer), identity);
  table_.OnSessionBegun(peer, place, now, fingerprints,
                        identity.is_proved() ? PeerProof::kProved : PeerProof::kUnproved);
}

NodeNames::Taken NodeNames::OnChanges(absl::string_view peer, absl::string_view bytes) {
  absl::MutexLock lock(&mu_);
  Taken taken;
  (void)table_.TakeTellsOthers();
  (void)table_.TakeCounted();
  taken.status = table_.OnChanges(peer, bytes);
  taken.is_counted = table_.TakeCounted();
  taken.tells_others = table_.TakeTellsOthers();
  TakeChanges(&taken.refusals);
  return taken;
}

void NodeNames::OnChangesEntered(absl::string_view peer) {
  absl::MutexLock lock(&mu_);
  table_.OnChangesEntered(peer);
}

void NodeNames::OnSessionEnded(absl::string_view peer) {
  absl::MutexLock lock(&mu_);
  table_.OnSessionEnded(peer);
  const auto identity = identities_.find(peer);
  if (identity != identities_.end()) identities_.erase(identity);
  TakeChanges(/*refusals=*/nullptr);
}

absl::optional<NameFeed::Part> NodeNames::TakePart(absl::string_view peer) {
  absl::MutexLock lock(&mu_);
  return table_.TakePart(peer);
}

int64_t NodeNames::ClaimsRefused(absl::string_view peer) {
  absl::MutexLock lock(&mu_);
  return table_.counters(peer).claims_refused;
}

size_t NodeNames::own_names() {
  absl::MutexLock lock(&mu_);
  return table_.own_names();
}

bool NodeNames::MustHold(absl::string_view peer) {
  absl::MutexLock lock(&mu_);
  return table_.MustHold(peer);
}

absl::Status NodeNames::Hold(absl::string_view peer, std::shared_ptr<const Signal> signal, size_t bytes) {
  absl::MutexLock lock(&mu_);
  return table_.Hold(peer, std::move(signal), bytes);
}

size_t NodeNames::HeldBytes(absl::string_view peer) {
  absl::MutexLock lock(&mu_);
  return table_.HeldBytes(peer);
}

bool NodeNames::has_changes() {
  absl::MutexLock lock(&mu_);
  return !changes_.empty();
}

void NodeNames::TakeChanges(std::vector<NameTable::Change>* refusals) {
  for (NameTable::Change& change : table_.TakeChanges()) {
    // Refusals change nothing in the registry. OnChanges returns them to the core of the peer, which reports them.
    const bool is_refusal = change.kind == NameTable::Change::Kind::kRefused ||
                            change.kind == NameTable::Change::Kind::kNotGranted ||
                            change.kind == NameTable::Change::Kind::kTooMany;
    std::vector<NameTable::Change>& row = is_refusal && refusals != nullptr ? *refusals : changes_;
    row.push_back(std::move(change));
  }
}

void NodeNames::MakeChanges() {
  absl::MutexLock making(&making_mu_);
  std::vector<NameTable::Change> changes;
  {
    absl::MutexLock lock(&mu_);
    changes.swap(changes_);
  }
  for (const NameTable::Change& change : changes) Make(change);
}

void NodeNames::Make(const NameTable::Change& change) {
  const bool is_own = change.entry.node == node_;
  const auto shown = shown_.find(change.name);
  switch (change.kind) {
    case NameTable::Change::Kind::kShow: {
      if (shown != shown_.end() && shown->second != change.entry.pid) registry_->Remove(change.name, shown->second);
      shown_[change.name] = change.entry.pid;
      if (is_own) return;  // the actor that published the name inserted it
      const NameRecord record{.name = change.name,
                              .pid = change.entry.pid,
                              .scope = NameScope::kCluster,
                              .mailboxes = change.entry.mailboxes};
      // While a name of this node only (RegisteredAs) has the same text, the registry keeps this one hidden.
      (void)registry_->Insert(record);
      return;
    }
    case NameTable::Change::Kind::kHide:
      if (shown == shown_.end()) return;
      if (!is_own) registry_->Remove(change.name, shown->second);
      shown_.erase(shown);
      return;
    case NameTable::Change::Kind::kVacant:
    case NameTable::Change::Kind::kNotVacant:
      registry_->SetVacantElsewhere(change.name, change.kind == NameTable::Change::Kind::kVacant);
      return;
    case NameTable::Change::Kind::kLost:
      EndOwner(change, ExitReason::NameConflict(change.name));
      return;
    case NameTable::Change::Kind::kForbidden:
      EndOwner(change, ExitReason::NotPermitted(absl::StrCat("node ", change.peer, " owns the name '", change.name,
                                                             "' and does not grant it to node ", node_)));
      return;
    case NameTable::Change::Kind::kRefused:
    case NameTable::Change::Kind::kNotGranted:
    case NameTable::Change::Kind::kTooMany:
      return;
  }
}

void NodeNames::EndOwner(const NameTable::Change& change, const ExitReason& reason) {
  registry_->Remove(change.name, change.entry.pid);
  inbound_->Deliver(
      Signal{.kind = SignalKind::kExit, .from = change.entry.pid, .to = change.entry.pid, .reason = reason});
}

}  // namespace understudy::internal
