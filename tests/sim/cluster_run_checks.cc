// ClusterRun: the checks that it makes during a run and at its end.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/registry.h"
#include "understudy/actors/room.h"
#include "understudy/actors/test_system.h"
#include "understudy/tests/sim/cluster_history.h"
#include "understudy/tests/sim/cluster_run.h"
#include "understudy/tests/sim/hostile_peer.h"
#include "understudy/tests/sim/trader_actor.h"
#include "understudy/transport/codec/credit.h"
#include "understudy/transport/node_status.h"

namespace understudy {

// ---- Checks during a run ----

void ClusterRun::Look() {
  for (const auto& [node, incarnation] : incarnations_) LookAt(node);
}

void ClusterRun::LookAt(absl::string_view node) {
  int64_t granted = 0;
  const std::vector<PeerStatus> peers = cluster_->core(node).Peers();
  // A node has at most as many peers as the cluster has nodes: all other nodes, and the hostile peer. An impostor uses
  // the name of an honest node, so it adds no peer.
  if (peers.size() > nodes_.size()) history_.Complain(absl::StrCat(node, " has ", peers.size(), " peers"));
  for (const PeerStatus& peer : peers) {
    // Credit of the hostile peer is not counted, because it may be for any mailbox, and `capacity` covers only some.
    if (peer.node != kHostile && impostors_ == HostilePeer::Impostor::kNever) granted += peer.credit_given.messages;
    if (!peer.ledger.balances()) history_.Complain(absl::StrCat("a ledger of ", node, " does not balance"));
    if (peer.bytes_waiting > bytes_max_) {
      history_.Complain(absl::StrCat(peer.bytes_waiting, " bytes wait at ", node, " for ", peer.node));
    }
  }
  int64_t capacity = 0;
  for (const auto& [life, settings] : settings_) {
    if (history_.lives()[life].incarnation != incarnations_.find(node)->second) continue;
    capacity += 2 * settings.capacity + 2 * settings.drops_capacity;  // doubled: credit may outlive its actor
    for (const MailboxLedger& mailbox : cluster_->system(node).MailboxLedgers(history_.lives()[life].pid)) {
      const bool drops = mailbox.mailbox == "trader/drops";
      if (!drops && mailbox.mailbox != "trader/box" && mailbox.mailbox != "trader/ask") continue;
      // In addition to the mailbox's capacity, the first allowance of each session may be waiting.
      const int64_t room =
          (drops ? 2 * settings.drops_capacity : settings.capacity) + 1 +
          kCreditTerms.first_allowance.messages * (1 + tally_.sessions_ended + static_cast<int64_t>(peers.size()));
      if (mailbox.messages.waiting > room) {
        history_.Complain(absl::StrCat("too many messages wait on ", node, ": ", mailbox.ToString()));
      }
    }
  }
  if (granted > capacity) {
    history_.Complain(absl::StrCat(node, " granted room for ", granted, " messages, and has room for ", capacity));
  }
}

// ---- Checks at the end ----

void ClusterRun::CheckConnected() {
  for (const std::string& node : nodes_) {
    const std::vector<PeerStatus> peers = cluster_->core(node).Peers();
    if (peers.size() != nodes_.size() - 1) history_.Complain(absl::StrCat(node, " has ", peers.size(), " peers left"));
    for (const PeerStatus& peer : peers) {
      if (!peer.is_up) history_.Complain(absl::StrCat(node, " did not reconnect to ", peer.node));
      if (peer.ledger.waiting != 0) history_.Complain(absl::StrCat("envelopes wait at ", node, " for ", peer.node));
      if (!peer.credit_held.is_zero() || !peer.credit_given.is_zero()) {
        history_.Complain(absl::StrCat(node, " holds or has granted unused credit of ", peer.node));
      }
      if (cluster_->network().streams(node, peer.node) != 1) {
        history_.Complain(
            absl::StrCat(cluster_->network().streams(node, peer.node), " streams join ", node, " and ", peer.node));
      }
    }
    if (cluster_->network().streams(node, kHostile) != 0) {
      history_.Complain(absl::StrCat("streams of the hostile peer are left at ", node));
    }
  }
}

void ClusterRun::NoteLosses(absl::string_view node, Loss loss) {
  for (const PeerStatus& peer : cluster_->core(node).Peers()) {
    const std::string name(node);
    auto& lost = counts_.unconfirmed[name < peer.node ? std::pair(name, peer.node) : std::pair(peer.node, name)];
    lost += peer.ledger.unconfirmed + (loss == Loss::kOfACrash ? peer.ledger.waiting : 0);
  }
}

void ClusterRun::CheckCounts() {
  counts_.may_be_taken_for_dead = impostors_ != HostilePeer::Impostor::kNever;
  counts_.is_unconfirmed_known = !one_dials_;
  counts_.may_be_robbed = impostors_ == HostilePeer::Impostor::kSameIncarnation;
  for (const std::string& node : nodes_) {
    TestSystem& system = cluster_->system(node);
    counts_.running.insert(system.incarnation().bits);
    NoteLosses(node, Loss::kOfTheEnded);
    for (const PeerStatus& peer : cluster_->core(node).Peers()) {
      if (peer.is_live) {
        counts_.live.insert(ClusterHistory::SessionOf(system.incarnation(), peer.incarnation, peer.epoch));
      }
    }
    for (const MailboxLedger& mailbox : system.MailboxLedgers()) {
      if (mailbox.mailbox == "trader/drops") {
        counts_.dropped[system.incarnation().bits] += mailbox.messages.of(Disposition::kDropped);
      }
    }
    if (!system.Ledger().balances() || system.Ledger().waiting != 0) {
      history_.Complain(absl::StrCat("the ledger of ", node, ": ", system.Ledger().ToString()));
    }
  }
}

void ClusterRun::CheckNames() {
  for (const std::string& node : nodes_) {
    for (const NameRecord& record : cluster_->system(node).registry().List("")) {
      const LifeId owner = history_.Find(record.pid);
      if (owner < 0 || !history_.IsAlive(owner) || history_.lives()[owner].name != record.name ||
          history_.lives()[owner].has_lost_its_name) {
        history_.Complain(absl::StrCat(node, " shows the name ", record.name, " with an actor that does not own it"));
      }
    }
  }
  for (LifeId life = 0; life < static_cast<LifeId>(history_.lives().size()); ++life) {
    const ClusterHistory::Life& its = history_.lives()[life];
    if (its.name.empty()) continue;
    tally_.conflicts += its.has_lost_its_name ? 1 : 0;
    if (!history_.IsAlive(life) || its.has_lost_its_name) continue;
    for (const std::string& node : nodes_) {
      const absl::optional<NameRecord> record = cluster_->system(node).registry().Find(its.name);
      if (!record.has_value() || history_.Find(record->pid) != life) {
        history_.Complain(absl::StrCat(history_.Describe(life), " is alive, but ", node,
                                       " shows another owner of its name, or none"));
      }
    }
  }
}

// Checks that local senders can use the whole capacity of each mailbox.
void ClusterRun::CheckRoom() {
  for (LifeId life = 0; life < static_cast<LifeId>(history_.lives().size()); ++life) {
    if (!history_.IsAlive(life)) continue;
    net_testing::Note note;  // number 0: the history counts it as a message of no actor
    int64_t sent = 0;
    while (sent < 100 && RefOf(life)[&Trader::box].Send(note).ok()) ++sent;
    if (sent != settings_[life].capacity) {
      history_.Complain(absl::StrCat(history_.Describe(life), " has room for ", sent, " messages, expected ",
                                     settings_[life].capacity));
    }
  }
  RunFor(absl::Seconds(1));
}

// Checks that on each node an actor can send to actors of all other nodes.
void ClusterRun::CheckTalk() {
  std::vector<LifeId> speakers;
  for (const std::string& node : nodes_) {
    if (history_.lives().size() >= kLivesMax) break;
    Spawn(node);
    speakers.push_back(static_cast<LifeId>(history_.lives().size()) - 1);
  }
  RunFor(absl::Milliseconds(100));
  const ClusterHistory::Totals before = history_.totals();
  for (const LifeId from : speakers) {
    for (const LifeId to : speakers) {
      if (from == to) continue;
      RefOf(from)[&Trader::errand].Tell(
          {.to = As(history_.lives()[from].node, to), .whom = to, .timeout = absl::Seconds(1)});
    }
  }
  RunFor(absl::Seconds(5));
  const auto pairs = static_cast<int64_t>(speakers.size() * (speakers.size() - 1));
  if (history_.totals().handled - before.handled != pairs) {
    history_.Complain(
        absl::StrCat(history_.totals().handled - before.handled, " of ", pairs, " pairs of nodes still talk"));
  }
}

}  // namespace understudy
