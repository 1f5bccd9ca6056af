// NodeCore: the table of peers, and what concerns them all.
#include "understudy/transport/core/node_core.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "understudy/actors/check.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/pid.h"
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/core/node_core_options.h"
#include "understudy/transport/core/node_link.h"
#include "understudy/transport/core/peer_core.h"
#include "understudy/transport/core/peer_table.h"
#include "understudy/transport/grants.h"
#include "understudy/transport/limits.h"
#include "understudy/transport/node_status.h"
#include "understudy/transport/session/peer_session.h"

namespace understudy {

using internal::Change;

namespace {

void AddTo(std::map<std::string, int64_t>& sums, const std::map<std::string, int64_t>& counts) {
  for (const auto& [cause, count] : counts) sums[cause] += count;
}

}  // namespace

NodeCore::NodeCore(NodeCoreOptions options)
    : parts_(std::move(options), this, this),
      back_reference_(std::make_shared<internal::BackReference<NodeCore>>(this)),
      no_peer_(std::make_unique<PeerCore>(parts_, 0)),
      cores_(parts_),
      table_(cores_),
      random_(parts_.options.seed),
      grants_(std::make_shared<const Grants>(parts_.options.grants)) {
  const absl::Status named = ValidateNodeName(parts_.options.node);
  UNDERSTUDY_CHECK(named.ok(), named.message());
  const absl::Status times = parts_.options.times.Validate();
  UNDERSTUDY_CHECK(times.ok(), times.message());
}

NodeCore::~NodeCore() {
  back_reference_->Close();
  parts_.links.CloseAll();
}

// ---- The table ----

NodeCore::PeerCore* NodeCore::AddPeer(absl::string_view node, internal::PeerOrigin origin) {
  if (PeerCore* known = table_.Find(node); known != nullptr) return known;
  if (table_.is_full()) return nullptr;
  const NodeCoreOptions& options = parts_.options;
  SessionConfig config;
  config.node = options.node;
  config.incarnation = options.incarnation;
  config.peer = std::string(node);
  config.advertise = advertise_;
  config.machine = options.machine;
  config.local_index = options.node_index;
  config.new_key = options.new_key;
  config.times = options.times_for != nullptr ? options.times_for(node) : options.times;
  config.bounds = options.bounds;
  if (options.has_traces) config.versions.features |= kFeatureTraces;
  config.seed = random_.Next();
  const auto [core, tenancy] = table_.Add(node);
  core.Occupy(std::move(config), tenancy, grants_, origin);
  return &core;
}

void NodeCore::OnIdle(PeerCore& core) {
  absl::MutexLock lock(&table_mu_);
  const absl::optional<SessionLedger> ledger = core.Vacate();
  if (ledger.has_value()) table_.Erase(core, *ledger);
}

// ---- Called by the program ----

void NodeCore::SetAdvertise(absl::string_view address) {
  absl::MutexLock lock(&table_mu_);
  advertise_ = std::string(address);
}

absl::Status NodeCore::SetPeer(absl::string_view node, absl::string_view address) {
  return KeepPeer(node, [address](PeerCore& core) { core.SetKept(true, address); });
}

absl::Status NodeCore::ExpectChild(absl::string_view node) {
  const NodeCoreOptions& options = parts_.options;
  const SessionTimes times = options.times_for != nullptr ? options.times_for(node) : options.times;
  return KeepPeer(node, [&times](PeerCore& core) { core.Expect(times); });
}

absl::Status NodeCore::KeepPeer(absl::string_view node, absl::FunctionRef<void(PeerCore&)> keep) {
  absl::Status valid = ValidateNodeName(node);
  if (!valid.ok()) return valid;
  if (node == parts_.options.node) {
    return absl::InvalidArgumentError(absl::StrCat("node ", node, " is this node itself"));
  }
  PeerCore* core = nullptr;
  {
    absl::MutexLock lock(&table_mu_);
    core = AddPeer(node, internal::PeerOrigin::kKnown);
    if (core == nullptr) {
      return absl::ResourceExhaustedError(
          absl::StrCat("a node has at most ", limits::kPeersMax, " peers, and no place for node ", node));
    }
    keep(*core);
  }
  core->Settle(Change::kCall);
  return absl::OkStatus();
}

void NodeCore::ForgetPeer(absl::string_view node) {
  PeerCore* core = nullptr;
  {
    absl::MutexLock lock(&table_mu_);
    core = table_.Find(node);
    if (core == nullptr) return;
    core->SetKept(false, "");
  }
  core->Settle(Change::kCall);
}

void NodeCore::SetGrants(Grants grants) {
  const auto shared = std::make_shared<const Grants>(std::move(grants));
  {
    absl::MutexLock lock(&table_mu_);
    grants_ = shared;
    for (const auto& [name, core] : table_.peers()) core->SetGrants(shared);
    parts_.names.SetGrants(shared);
  }
  NamesChanged();
}

bool NodeCore::Allows(absl::string_view node, Operation operation, absl::string_view name) {
  absl::MutexLock lock(&table_mu_);
  PeerCore* const core = table_.Find(node);
  return core != nullptr && core->Allows(operation, name);
}

void NodeCore::PeerProvedDead(absl::string_view node, NodeIncarnation incarnation) {
  PeerCore* core = nullptr;
  {
    absl::MutexLock lock(&table_mu_);
    core = table_.Find(node);
  }
  if (core != nullptr) core->OnProvedDead(node, incarnation);
}

void NodeCore::BeginDrain() { parts_.draining.store(true, std::memory_order_relaxed); }

void NodeCore::Leave(absl::string_view why) {
  {
    // Accepted streams are bound to a peer under this lock. So each has its peer in the table before the loop below, or
    // is refused because the node is leaving.
    absl::MutexLock lock(&table_mu_);
    leaving_.store(true, std::memory_order_relaxed);
  }
  cores_.ForEach([why](PeerCore& core) { core.Leave(why); });
}

bool NodeCore::has_left() {
  if (!leaving_.load(std::memory_order_relaxed)) return false;
  bool is_live = false;
  cores_.ForEach([&is_live](PeerCore& core) { is_live = is_live || core.standing().is_live; });
  return !is_live;
}

std::vector<PeerStatus> NodeCore::Peers() {
  absl::MutexLock lock(&table_mu_);
  std::vector<PeerStatus> statuses;
  statuses.reserve(table_.peers().size());
  for (const auto& [name, core] : table_.peers()) {
    if (absl::optional<PeerStatus> status = core->status(); status.has_value()) {
      statuses.push_back(*std::move(status));
    }
  }
  return statuses;
}

SessionLedger NodeCore::Ledger() {
  absl::MutexLock lock(&table_mu_);
  return table_.ledger();
}

NodeCore::OpenWork NodeCore::open_work() {
  OpenWork work{.names = parts_.names.own_names()};
  cores_.ForEach([&work](PeerCore& core) { work.calls += core.unanswered_calls(); });
  return work;
}

NodeCounters NodeCore::counters() {
  NodeCounters total = no_peer_->counters();
  cores_.ForEach([&total](PeerCore& core) {
    const NodeCounters of_core = core.counters();
    total.refused_tells += of_core.refused_tells;
    total.forbidden += of_core.forbidden;
    total.late += of_core.late;
    total.forged += of_core.forged;
    total.sessions_begun += of_core.sessions_begun;
    AddTo(total.sessions_ended_by_cause, of_core.sessions_ended_by_cause);
    AddTo(total.streams_refused_by_cause, of_core.streams_refused_by_cause);
    AddTo(total.dials_refused_by_cause, of_core.dials_refused_by_cause);
  });
  absl::MutexLock lock(&table_mu_);
  total.streams_refused = handshakes_.refused();
  AddTo(total.streams_refused_by_cause, handshakes_.refused_by_cause());
  return total;
}

// ---- Events ----

void NodeCore::OnLinkWritten(const std::shared_ptr<NodeLink>& link) {
  // Acquire, also below: pairs with the store that bound the link to its peer.
  if (PeerCore* const core = link->peer.load(std::memory_order_acquire); core != nullptr) core->OnWritten(*link);
}

void NodeCore::OnLinkClosed(const std::shared_ptr<NodeLink>& link, const absl::Status& why) {
  parts_.links.Remove(link->number);
  PeerCore* core = link->peer.load(std::memory_order_acquire);
  if (core == nullptr) {
    core = no_peer_.get();
    absl::MutexLock lock(&table_mu_);
    handshakes_.Remove(link->number);
  }
  core->OnClosed(link, why);
}

MonotonicTime NodeCore::ReadClock() const { return parts_.options.clock->Now(); }

void NodeCore::WakeAt(MonotonicTime time) {
  parts_.options.run_at(time, [back_reference = back_reference_, time] {
    back_reference->Enter([time](NodeCore& core) { core.Tick(time); });
  });
}

void NodeCore::Tick(MonotonicTime scheduled) {
  const absl::optional<std::vector<PeerCore*>> due = parts_.timer.OnTime(scheduled, ReadClock());
  if (!due.has_value()) return;
  for (PeerCore* const core : *due) {
    core->Tick();
    if (core == no_peer_.get()) {  // after Tick, so that changes from now on set a new visit
      parts_.names.MakeChanges();
      CloseLateHandshakes();
    }
  }
  if (const MonotonicTime wake = parts_.timer.Rearm(); !wake.is_infinite()) WakeAt(wake);
}

void NodeCore::TellNames() {
  cores_.ForEach([](PeerCore& core) { core.TellNames(); });
}

void NodeCore::NamesChanged() {
  if (parts_.names.has_changes()) {
    no_peer_->VisitAt(ReadClock());
    no_peer_->Settle(Change::kCall);
  }
  TellNames();
}

}  // namespace understudy
