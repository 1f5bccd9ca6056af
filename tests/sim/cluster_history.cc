#include "understudy/tests/sim/cluster_history.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/dead_letter.h"
#include "understudy/actors/error.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/node_table.h"
#include "understudy/actors/pid.h"

namespace understudy {
namespace {

// An upper bound on how long a session survives while its node is cut off or paused.
constexpr absl::Duration kNoticedWithin = absl::Minutes(1);

std::pair<std::string, std::string> NodesOf(const std::string& a, const std::string& b) {
  return a < b ? std::pair(a, b) : std::pair(b, a);
}

}  // namespace

ClusterHistory::Session ClusterHistory::SessionOf(NodeIncarnation a, NodeIncarnation b, uint64_t epoch) {
  return {std::min(a.bits, b.bits), std::max(a.bits, b.bits), epoch};
}

// ---- What happens ----

ClusterHistory::LifeId ClusterHistory::NewLife(absl::string_view node, NodeIncarnation incarnation,
                                               absl::string_view name) {
  lives_.push_back({.node = std::string(node), .incarnation = incarnation, .name = std::string(name)});
  return static_cast<LifeId>(lives_.size()) - 1;
}

void ClusterHistory::SetPid(LifeId life, Pid pid) {
  Life& its = lives_[life];
  its.pid = pid;
  its.address = internal::AddressOf(pid);
  by_address_[{its.incarnation.bits, its.address.cell, its.address.serial}] = life;
}

void ClusterHistory::EndTheUnstarted() {
  for (Life& life : lives_) {
    if (!life.has_started) End(life);
  }
}

void ClusterHistory::End(Life& life) {
  if (!std::exchange(life.has_ended, true)) life.ended = clock_->Now();
}

void ClusterHistory::OnTrapped(LifeId life, Pid from, const ExitReason& reason) {
  // An actor that has not started found its name taken, and a linked actor's loss comes from the linked actor's pid.
  const bool is_loss = reason.kind() == ExitReason::Kind::kNameConflict && reason.detail() == lives_[life].name &&
                       reason.cause() == nullptr && from == lives_[life].pid && lives_[life].has_started;
  if (!is_loss) return;
  lives_[life].has_lost_its_name = true;
  // An actor that may end can also exit because of a link; the name lost is then possibly that of the linked actor.
  if (!lives_[life].may_end && !HasRival(life)) {
    Complain(absl::StrCat(Describe(life), " lost its name, and no other actor of the cluster owned it"));
  }
}

// Returns true if another actor owned the name of `life`. That actor may have ended recently, because the node that
// resolved the conflict may not have known of its end.
bool ClusterHistory::HasRival(LifeId life) const {
  const Life& its = lives_[life];
  return std::any_of(lives_.begin(), lives_.end(), [&](const Life& other) {
    return other.name == its.name && other.incarnation != its.incarnation && other.has_started &&
           !other.has_lost_its_name && (!other.has_ended || other.ended + kNoticedWithin > clock_->Now());
  });
}

int64_t ClusterHistory::OnSending(LifeId from, LifeId to, Box box) {
  tells_[++last_number_] = {.from = from, .to = to, .box = box};
  return last_number_;
}

void ClusterHistory::OnSent(int64_t number, const absl::Status& sent, uint64_t epoch) {
  Tell& tell = tells_[number];
  tell.state = sent.ok() ? Tell::State::kSent : Tell::State::kRefused;
  tell.epoch = epoch;
}

void ClusterHistory::OnWaited(int64_t number, MonotonicTime since, const absl::Status& sent) {
  const Tell& tell = tells_[number];
  if (lives_[tell.from].incarnation == lives_[tell.to].incarnation) return;
  waits_.served += sent.ok() && clock_->Now() > since ? 1 : 0;
  waits_.expired += IsExpired(sent) ? 1 : 0;
  waits_.disconnected += IsNoConnection(sent) && clock_->Now() > since ? 1 : 0;
  waits_.session_full += absl::StrContains(sent.message(), "unacknowledged bytes") ? 1 : 0;
}

void ClusterHistory::OnHandled(LifeId life, Box box, int64_t number) {
  const auto found = tells_.find(number);
  if (found == tells_.end()) {
    Complain(absl::StrCat(Describe(life), " handled message ", number, ", which no actor sent"));
    return;
  }
  Tell& tell = found->second;
  if (tell.to != life || tell.box != box) {
    Complain(absl::StrCat(Describe(life), " handled message ", number, " of ", Describe(tell.to)));
  }
  if (std::exchange(tell.was_handled, true)) Complain(absl::StrCat("message ", number, " was handled twice"));
  int64_t& last = last_handled_[{tell.from, life, box}];
  if (number < last) {
    Complain(absl::StrCat("message ", number, " of ", Describe(tell.from), " was handled after ", last));
  }
  last = number;
}

int64_t ClusterHistory::OnAsking(LifeId from, LifeId to) {
  asks_[++last_number_] = {.from = from, .to = to};
  return last_number_;
}

void ClusterHistory::OnAskHandled(LifeId life, int64_t number) {
  const auto found = asks_.find(number);
  if (found == asks_.end() || found->second.to != life) {
    Complain(absl::StrCat(Describe(life), " handled ask ", number, ", which was not sent to it"));
  } else if (++found->second.handled > 1) {
    Complain(absl::StrCat("ask ", number, " was handled twice"));
  }
}

void ClusterHistory::OnAnswered(int64_t number, const absl::Status& status, int64_t answer) {
  Ask& ask = asks_[number];
  if (++ask.answered > 1) Complain(absl::StrCat("ask ", number, " was answered twice"));
  if (status.ok() && answer != number) wrong_answers_.push_back(absl::StrCat("ask ", number, " got answer ", answer));
  if (status.ok() && ask.handled != 1) wrong_answers_.push_back(absl::StrCat("ask ", number, " was not handled"));
}

int ClusterHistory::OnMonitoring(LifeId watcher, LifeId target) {
  monitors_.push_back({.watcher = watcher, .target = target});
  return static_cast<int>(monitors_.size()) - 1;
}

void ClusterHistory::OnDown(int monitor, const ExitReason& reason) {
  Monitor& its = monitors_[monitor];
  its.reason = reason;
  ++its.fired;
  if (its.fired > 1) Complain(absl::StrCat("a monitor of ", Describe(its.target), " fired twice"));
  if (its.was_ended) Complain(absl::StrCat("a monitor of ", Describe(its.target), " fired after its end"));
}

void ClusterHistory::OnDeadLetter(const DeadLetter& letter) {
  const LifeId from = Find(letter.from);
  const LifeId to = Find(letter.to);
  if (from < 0 || to < 0) return;  // another sender: an actor of the hostile peer, or the test itself
  if (letter.mailbox == "trader/box") ++letters_[{from, to, Box::kRefusing}];
  if (letter.mailbox == "trader/drops") ++letters_[{from, to, Box::kDropping}];
}

void ClusterHistory::OnCrashed(NodeIncarnation incarnation) {
  for (Life& life : lives_) {
    if (life.incarnation == incarnation) End(life);
  }
}

// ---- The end ----

std::string ClusterHistory::Check(const Counts& counts) {
  CheckTells(counts);
  CheckAsks(counts);
  CheckMonitors(counts);
  CheckEnds(counts);
  return absl::StrJoin(complaints_, "\n");
}

bool ClusterHistory::Runs(LifeId life, const Counts& counts) const {
  return counts.running.contains(lives_[life].incarnation.bits);
}

// Returns true if a loss of this message must have been reported by a dead letter or a counted drop, because sender and
// receiver are on one node or the session that accepted the message is live. Complains if that session has ended and
// the sender's node was not told.
bool ClusterHistory::IsSure(const Tell& tell, const Counts& counts) {
  const Life& from = lives_[tell.from];
  const Life& to = lives_[tell.to];
  if (from.incarnation == to.incarnation) return true;
  if (counts.live.contains(SessionOf(from.incarnation, to.incarnation, tell.epoch))) return true;
  if (Runs(tell.from, counts) && !told_.contains({from.incarnation.bits, to.incarnation.bits, tell.epoch})) {
    Complain(absl::StrCat("node ", from.node, " was not told of the end of session ", tell.epoch, " with ", to.node));
  }
  return false;
}

void ClusterHistory::CheckTells(const Counts& counts) {
  std::map<Route, Missing> missing;
  for (const auto& [number, tell] : tells_) {
    if (tell.state == Tell::State::kRefused && tell.was_handled) {
      Complain(absl::StrCat("message ", number, " was refused and then handled"));
    }
    if (tell.state == Tell::State::kSending && IsAlive(tell.from) && Runs(tell.from, counts)) {
      Complain(absl::StrCat("the send of message ", number, " by ", Describe(tell.from), " has no outcome"));
    }
    if (tell.was_handled || tell.state != Tell::State::kSent) continue;
    const bool is_sure = IsSure(tell, counts);
    if (!Runs(tell.to, counts)) continue;  // its receiver's process has crashed
    Missing& its = missing[{tell.from, tell.to, tell.box}];
    ++(is_sure ? its.sure : its.doubtful);
  }
  CheckMissing(missing, counts);
}

void ClusterHistory::CheckMissing(const std::map<Route, Missing>& missing, const Counts& counts) {
  std::map<uint64_t, int64_t> not_told;  // missing from mailboxes that drop their oldest, by the receiver's incarnation
  std::map<std::pair<std::string, std::string>, int64_t> lost;
  for (const auto& [route, its] : missing) {
    const auto& [from, to, box] = route;
    const auto found = letters_.find(route);
    const int64_t letters = found == letters_.end() ? 0 : found->second;
    const int64_t sure = std::max<int64_t>(0, its.sure - letters);
    const int64_t doubtful = std::max<int64_t>(0, its.sure + its.doubtful - letters) - sure;
    if (box == Box::kDropping) {
      not_told[lives_[to].incarnation.bits] += sure;
    } else if (sure > 0) {
      Complain(absl::StrCat(sure, " messages that were accepted from ", Describe(from), " to ", Describe(to),
                            " were lost without a report; dead letters: ", letters));
    }
    if (box == Box::kRefusing) lost[NodesOf(lives_[from].node, lives_[to].node)] += doubtful;
  }
  for (const auto& [route, letters] : letters_) {
    const auto& [from, to, box] = route;
    const auto its = missing.find(route);
    if (!Runs(to, counts)) continue;
    const int64_t gone = its == missing.end() ? 0 : its->second.sure + its->second.doubtful;
    if (letters > gone && Runs(from, counts) && IsAlive(from)) {
      Complain(absl::StrCat(letters, " dead letters from ", Describe(from), " to ", Describe(to), " for ", gone,
                            " messages"));
    }
  }
  for (const auto& [incarnation, count] : not_told) {
    const auto dropped = counts.dropped.find(incarnation);
    if (count > (dropped == counts.dropped.end() ? 0 : dropped->second)) {
      Complain(absl::StrCat(
          count, " messages are missing from mailboxes that drop the oldest, more than were counted as dropped"));
    }
  }
  for (const auto& [nodes, count] : lost) {
    lost_ += count;
    const auto unconfirmed = counts.unconfirmed.find(nodes);
    if (!counts.is_unconfirmed_known || counts.may_be_robbed) continue;
    if (count > (unconfirmed == counts.unconfirmed.end() ? 0 : unconfirmed->second)) {
      Complain(absl::StrCat(count, " messages between ", nodes.first, " and ", nodes.second,
                            " were lost with sessions that ended, more than were unconfirmed"));
    }
  }
}

void ClusterHistory::CheckAsks(const Counts& counts) {
  if (!counts.may_be_robbed) complaints_.insert(complaints_.end(), wrong_answers_.begin(), wrong_answers_.end());
  for (const auto& [number, ask] : asks_) {
    if (ask.answered == 0 && IsAlive(ask.from) && Runs(ask.from, counts)) {
      Complain(absl::StrCat("ask ", number, " of ", Describe(ask.from), " to ", Describe(ask.to), " has no answer"));
    }
  }
}

void ClusterHistory::CheckMonitors(const Counts& counts) {
  for (const Monitor& monitor : monitors_) {
    const bool is_alive = IsAlive(monitor.target) && Runs(monitor.target, counts);
    if (!IsAlive(monitor.watcher) || !Runs(monitor.watcher, counts) || monitor.was_ended) continue;
    if (monitor.fired == 0 && !is_alive) {
      Complain(
          absl::StrCat("a monitor of ", Describe(monitor.target), " by ", Describe(monitor.watcher), " has not fired"));
    }
    const bool is_of_the_session =
        monitor.reason.kind() == ExitReason::Kind::kNoConnection ||
        (counts.may_be_taken_for_dead && monitor.reason.kind() == ExitReason::Kind::kNoProcess);
    if (monitor.fired > 0 && is_alive && !is_of_the_session) {
      Complain(absl::StrCat("a monitor of ", Describe(monitor.target),
                            ", which is alive, fired: ", monitor.reason.ToString()));
    }
  }
}

void ClusterHistory::CheckEnds(const Counts& counts) {
  for (LifeId life = 0; life < static_cast<LifeId>(lives_.size()); ++life) {
    const Life& its = lives_[life];
    if (!its.has_ended || its.may_end || !Runs(life, counts)) continue;
    // An actor that was to be published under a name and did not start found the name taken.
    if (!its.name.empty() && (!its.has_started || its.has_lost_its_name)) continue;
    Complain(absl::StrCat(Describe(life), " has ended, but the test did not end it: ", its.end));
  }
}

// ---- Observers ----

ClusterHistory::LifeId ClusterHistory::Find(Pid pid) const {
  const internal::NodeEntry* const entry = internal::NodeTable::Find(pid.place());
  if (entry == nullptr || pid.is_null()) return -1;
  const ActorAddress address = internal::AddressOf(pid);
  const auto found = by_address_.find({entry->incarnation.bits, address.cell, address.serial});
  return found == by_address_.end() ? -1 : found->second;
}

std::string ClusterHistory::Describe(LifeId life) const {
  return absl::StrCat("actor ", life, " of ", lives_[life].node, lives_[life].name.empty() ? "" : " called ",
                      lives_[life].name);
}

ClusterHistory::Totals ClusterHistory::totals() const {
  Totals totals = waits_;
  totals.lost = lost_;
  totals.foreign = foreign_handled_;
  for (const auto& [number, tell] : tells_) {
    totals.sent += tell.state == Tell::State::kSent ? 1 : 0;
    totals.handled += tell.was_handled ? 1 : 0;
  }
  for (const auto& [route, letters] : letters_) totals.dead_letters += letters;
  for (const auto& [number, ask] : asks_) {
    ++totals.asked;
    totals.answered += ask.answered;
  }
  for (const Monitor& monitor : monitors_) totals.fired += monitor.fired;
  return totals;
}

}  // namespace understudy
