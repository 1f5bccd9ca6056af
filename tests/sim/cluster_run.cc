#include "understudy/tests/sim/cluster_run.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/actor_spec.h"
#include "understudy/actors/dead_letter.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/node_table.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/test_system.h"
#include "understudy/transport/grants.h"
#include "understudy/transport/node_status.h"
#include "understudy/transport/session/stream_identity.h"

namespace understudy {
namespace {

constexpr int kNames = 4;
constexpr size_t kLargeBytes = 150'000;
// An allowance for heartbeats, messages of the name table and similar traffic, whose bounds the test does not reduce.
constexpr int64_t kOtherBytes = int64_t{1} << 20;

std::string NameOf(uint64_t number) { return absl::StrCat("shared/", number); }

}  // namespace

ClusterRun::Tally& ClusterRun::Tally::operator+=(const Tally& other) {
  cuts += other.cuts;
  one_way += other.one_way;
  two_way += other.two_way;
  pauses += other.pauses;
  crashes += other.crashes;
  slow += other.slow;
  kills += other.kills;
  sessions_ended += other.sessions_ended;
  welcomes += other.welcomes;
  hostile_frames += other.hostile_frames;
  bad_frames += other.bad_frames;
  conflicts += other.conflicts;
  totals.sent += other.totals.sent;
  totals.handled += other.totals.handled;
  totals.dead_letters += other.totals.dead_letters;
  totals.lost += other.totals.lost;
  totals.dropped += other.totals.dropped;
  totals.asked += other.totals.asked;
  totals.answered += other.totals.answered;
  totals.fired += other.totals.fired;
  totals.foreign += other.totals.foreign;
  totals.served += other.totals.served;
  totals.expired += other.totals.expired;
  totals.disconnected += other.totals.disconnected;
  totals.session_full += other.totals.session_full;
  return *this;
}

std::string ClusterRun::Tally::ToString() const {
  return absl::StrCat(
      "cuts ", cuts, ", one-way ", one_way, ", two-way ", two_way, ", pauses ", pauses, ", crashes ", crashes,
      ", slow ", slow, ", actors ended ", kills, "; sessions ended ", sessions_ended, ", for a bad frame ", bad_frames,
      "; names lost ", conflicts, "; hostile: welcomes ", welcomes, ", frames ", hostile_frames, ", messages handled ",
      totals.foreign, "; tells sent ", totals.sent, ", handled ", totals.handled, ", dead letters ",
      totals.dead_letters, ", dropped ", totals.dropped, ", lost with sessions ", totals.lost,
      "; waited for room of another node and served ", totals.served, ", expired ", totals.expired, ", disconnected ",
      totals.disconnected, ", for want of the session's room refused ", totals.session_full, "; asked ", totals.asked,
      ", answered ", totals.answered, "; monitors fired ", totals.fired);
}

SimulatedCluster::Options ClusterRun::OptionsOf(Random& random, ClusterRun& run) {
  SimulatedCluster::Options options;
  options.seed = random.Next() >> 1;
  options.traces = SimulatedCluster::Options::Traces::kNone;
  options.one_dials = run.one_dials_ = options.seed % 3 == 0;
  options.latency_max = absl::Milliseconds(1 + random.Below(20));
  options.times.silence_timeout = absl::Milliseconds(600 + random.Below(3000));
  options.times.heartbeat_interval = options.times.silence_timeout / 4;
  options.times.probe_timeout = options.times.silence_timeout / 4;
  options.times.grace_period = absl::Milliseconds(random.Below(3000));
  for (uint64_t i = 0, count = 2 + random.Below(3); i < count; ++i) options.nodes.push_back(absl::StrCat("n", i));
  if (random.Below(3) == 0) {
    options.bounds.message_bytes_max = 20'000;
    options.bounds.reply_bytes_max = 20'000;
  }
  run.bytes_max_ =
      static_cast<int64_t>(options.bounds.message_bytes_max + options.bounds.reply_bytes_max) + kOtherBytes;
  options.insecure_loopback_grants = false;
  for (const std::string& node : options.nodes) {
    options.grants.push_back(
        {.node = node, .publish = {"shared/"}, .operations = {Operation::kExit, Operation::kLink, Operation::kKill}});
  }
  if (random.Below(2) == 0) {
    run.impostors_ =
        random.Below(3) == 0 ? HostilePeer::Impostor::kSameIncarnation : HostilePeer::Impostor::kOtherIncarnation;
  }
  const bool is_unproved = run.impostors_ != HostilePeer::Impostor::kNever;
  options.identity = [is_unproved](absl::string_view from, absl::string_view) {
    return from == kHostile && is_unproved ? StreamIdentity::Unproved()
                                           : StreamIdentity::Certificate({std::string(from)});
  };
  options.on_peer = [&run](absl::string_view node, const PeerEvent& event) { run.OnPeer(node, event); };
  return options;
}

ClusterRun::ClusterRun(uint64_t seed) : random_(seed) {
  SimulatedCluster::Options options = OptionsOf(random_, *this);
  nodes_ = options.nodes;
  const bool has_hostile = Chance(2);
  if (!has_hostile) impostors_ = HostilePeer::Impostor::kNever;
  cluster_ = std::make_unique<SimulatedCluster>(std::move(options));
  history_.SetClock(&cluster_->executor().clock());
  for (const std::string& node : nodes_) Watch(node);
  if (has_hostile) {
    HostilePeer::Options hostile{
        .seed = random_.Next(), .name = std::string(kHostile), .honest = nodes_, .impostor = impostors_};
    for (int i = 0; i < kNames; ++i) hostile.names.push_back(NameOf(i));
    hostile_ = std::make_unique<HostilePeer>(std::move(hostile), cluster_->network());
  }
}

void ClusterRun::Watch(absl::string_view node) {
  TestSystem& system = cluster_->system(node);
  incarnations_[std::string(node)] = system.incarnation();
  system.SubscribeDeadLetters([this](const DeadLetter& letter) { history_.OnDeadLetter(letter); });
}

void ClusterRun::OnPeer(absl::string_view node, const PeerEvent& event) {
  if (event.kind != PeerEvent::Kind::kEnded) return;
  ++tally_.sessions_ended;
  if (absl::StrContains(event.detail, "bad frame")) {
    ++tally_.bad_frames;
    // A bad frame must not come from an honest node.
    const auto honest = incarnations_.find(event.node);
    if (honest != incarnations_.end() && honest->second == event.incarnation &&
        impostors_ != HostilePeer::Impostor::kSameIncarnation) {
      history_.Complain(absl::StrCat(node, " ended its session with ", event.node, ": ", event.detail));
    }
  }
  history_.OnSessionEnded(incarnations_.find(node)->second, event.incarnation, event.epoch);
}

std::string ClusterRun::Run() {
  for (const std::string& node : nodes_) {
    Spawn(node);
    Spawn(node);
  }
  if (!Chance(4)) cluster_->RunUntil([this] { return cluster_->IsJoined(); }, absl::Seconds(10));
  for (uint64_t steps = 40 + random_.Below(80); steps > 0; --steps) {
    DoSomething();
    RunFor(Chance(20) ? absl::Milliseconds(random_.Below(5000)) : absl::Milliseconds(random_.Below(200)));
    if (Chance(4)) Look();
  }
  HealAll();
  CheckConnected();
  CheckCounts();
  CheckNames();
  CheckRoom();
  CheckTalk();
  Look();
  if (hostile_ != nullptr) {
    tally_.welcomes = hostile_->welcomes();
    tally_.hostile_frames = hostile_->frames_written();
  }
  std::string wrong = history_.Check(counts_);
  tally_.totals = history_.totals();
  for (const auto& [incarnation, count] : counts_.dropped) tally_.totals.dropped += count;
  return wrong;
}

// ---- Random steps ----

void ClusterRun::DoSomething() {
  if (hostile_ != nullptr) {
    for (uint64_t i = random_.Below(4); i > 0; --i) hostile_->Act();
    if (Chance(4)) TellTheHostile();
  }
  const uint64_t what = random_.Below(100);
  if (what < 42) {
    for (uint64_t i = 1 + random_.Below(4); i > 0; --i) SendErrand();
  } else if (what < 57) {
    Disturb();
  } else if (what < 67) {
    HealSome();
  } else if (what < 83) {
    TieTwo();
  } else if (what < 88) {
    SpawnNamed();
  } else if (what < 94) {
    EndOne();
    Spawn(ARunningNode());
  } else if (what < 97) {
    CrashOne();
  } else {
    Spawn(ARunningNode());
  }
}

void ClusterRun::Disturb() {
  const std::string a = ANode();
  const std::string b = ANode();
  if (a == b) return;
  SimulatedNetwork& network = cluster_->network();
  switch (random_.Below(6)) {
    case 0:
    case 1:
      ++tally_.cuts;
      network.Cut(a, b);
      break;
    case 2:
      ++tally_.one_way;
      network.PartitionOneWay(a, b);
      break;
    case 3:
      ++tally_.two_way;
      network.Partition(a, b);
      break;
    case 4:
      ++tally_.slow;
      network.SetDelay(a, b, absl::Milliseconds(random_.Below(3000)));
      break;
    default:
      if (!cluster_->IsRunning(a)) return;
      ++tally_.pauses;
      cluster_->Pause(a);
  }
}

void ClusterRun::HealSome() {
  const std::string a = ANode();
  for (const std::string& b : nodes_) {
    cluster_->network().Heal(a, b);
    cluster_->network().SetDelay(a, b, absl::ZeroDuration());
    cluster_->network().SetDelay(b, a, absl::ZeroDuration());
  }
  if (cluster_->IsRunning(a)) {
    cluster_->Resume(a);
  } else {
    cluster_->Start(a);
    Watch(a);
    Spawn(a);
    Spawn(a);
  }
}

void ClusterRun::Spawn(absl::string_view node, absl::string_view name) {
  if (!cluster_->IsRunning(node) || history_.lives().size() >= kLivesMax) return;
  TestSystem& system = cluster_->system(node);
  const LifeId life = history_.NewLife(node, system.incarnation(), name);
  const Trader::Settings settings{.capacity = static_cast<int64_t>(1 + random_.Below(10)),
                                  .drops_capacity = static_cast<int64_t>(1 + random_.Below(5)),
                                  .rests = 0.4 * random_.Fraction(),
                                  .rest_max = absl::Milliseconds(random_.Below(200)),
                                  .traps_exits = Chance(3)};
  settings_[life] = settings;
  SpawnOptions options;
  options.published_as = std::string(name);
  const Ref<Trader> ref =
      system.Spawn<Trader>(std::move(options), &history_, life, settings,
                           Trader::EpochOf([this](LifeId from, LifeId to) { return EpochOf(from, to); }));
  history_.SetPid(life, ref.pid());
}

// Spawns an actor, or two, under one of a few names that all nodes use, so that names conflict.
void ClusterRun::SpawnNamed() {
  const std::string name = NameOf(random_.Below(kNames));
  Spawn(ARunningNode(), name);
  if (Chance(2)) Spawn(ARunningNode(), name);
}

void ClusterRun::SendErrand() {
  const LifeId from = ALife();
  const LifeId to = ALife();
  if (from < 0 || to < 0 || from == to || !history_.IsAlive(from)) return;
  const std::string node = history_.lives()[from].node;
  Trader::Errand errand{.kind = static_cast<Trader::Errand::Kind>(random_.Below(3)),
                        .to = As(node, to),
                        .whom = to,
                        .box = Chance(4) ? ClusterHistory::Box::kDropping : ClusterHistory::Box::kRefusing,
                        .times = static_cast<int>(1 + random_.Below(Chance(4) ? 60 : 8)),
                        .bytes = random_.Below(Chance(20) ? kLargeBytes : 60),
                        .timeout = absl::Milliseconds(1 + random_.Below(Chance(3) ? 6000 : 300))};
  if (errand.bytes > 1000) errand.times = 1 + errand.times % 3;
  if (errand.kind == Trader::Errand::Kind::kAsk) {
    errand.times = 1 + errand.times % 5;
    RefOf(from)[&Trader::inquiry].Tell(errand);
  } else {
    RefOf(from)[&Trader::errand].Tell(errand);
  }
}

// Lets an actor monitor another, which may have ended; less often, links the two or ends a monitor.
void ClusterRun::TieTwo() {
  const LifeId from = ALife();
  const LifeId to = ALife();
  if (from < 0 || to < 0 || from == to || !history_.IsAlive(from)) return;
  const Pid target = As(history_.lives()[from].node, to);
  switch (random_.Below(6)) {
    case 0:
      history_.SetMayEnd(from);
      history_.SetMayEnd(to);
      RefOf(from)[&Trader::run].Tell([target](Trader& trader) { trader.context().Link(target); });
      break;
    case 1:
      RefOf(from)[&Trader::run].Tell([](Trader& trader) { trader.Unwatch(); });
      break;
    default:
      RefOf(from)[&Trader::run].Tell([target, to](Trader& trader) { trader.Watch(target, to); });
  }
}

void ClusterRun::EndOne() {
  const LifeId life = ALife();
  if (life < 0 || !history_.IsAlive(life)) return;
  ++tally_.kills;
  history_.SetMayEnd(life);
  TestSystem& system = cluster_->system(history_.lives()[life].node);
  const Pid pid = history_.lives()[life].pid;
  switch (random_.Below(4)) {
    case 0:
      system.Exit(pid, ExitReason::Failed(absl::InternalError("the test ends it")));
      break;
    case 1:
      system.Kill(pid);
      break;
    case 2:
      system.RequestStop(pid);
      break;
    default: {  // another actor kills it, perhaps from another node
      const LifeId other = ALife();
      if (other < 0 || !history_.IsAlive(other)) return;
      const Pid target = As(history_.lives()[other].node, life);
      RefOf(other)[&Trader::run].Tell([target](Trader& trader) { trader.context().Kill(target); });
    }
  }
}

void ClusterRun::CrashOne() {
  const std::string node = ARunningNode();
  if (node.empty() || incarnations_.size() < 2) return;
  ++tally_.crashes;
  NoteLosses(node, Loss::kOfACrash);
  const NodeIncarnation incarnation = incarnations_[node];
  history_.OnCrashed(incarnation);
  cluster_->Crash(node);
  incarnations_.erase(node);
}

void ClusterRun::TellTheHostile() {
  const LifeId life = ALife();
  if (life < 0) return;
  const ClusterHistory::Life& its = history_.lives()[life];
  proto::Address address;
  address.set_incarnation(its.incarnation.bits);
  address.set_cell(its.address.cell);
  address.set_serial(its.address.serial);
  hostile_->Learn(its.node, address);
}

// ---- The end of a run ----

void ClusterRun::HealAll() {
  if (hostile_ != nullptr) hostile_->Leave();
  for (const std::string& a : nodes_) {
    for (const std::string& b : nodes_) {
      cluster_->network().Heal(a, b);
      cluster_->network().SetDelay(a, b, absl::ZeroDuration());
    }
    if (cluster_->IsRunning(a)) {
      cluster_->Resume(a);
    } else {
      cluster_->Start(a);
      Watch(a);
      Spawn(a);
    }
  }
  // This is long enough for nodes to learn of lost sessions and to reconnect, and for errands to end.
  RunFor(absl::Seconds(15));
  history_.EndTheUnstarted();
  for (LifeId life = 0; life < static_cast<LifeId>(history_.lives().size()); ++life) {
    if (history_.IsAlive(life)) RefOf(life)[&Trader::run].Tell([](Trader& trader) { trader.WakeUp(); });
  }
  const auto is_quiet = [this] {
    return cluster_->IsJoined() && std::all_of(nodes_.begin(), nodes_.end(), [this](const std::string& node) {
             return cluster_->core(node).Ledger().waiting == 0 && cluster_->system(node).Ledger().waiting == 0;
           });
  };
  cluster_->RunUntil(is_quiet, absl::Minutes(2));
  RunFor(absl::Seconds(5));
}

// ---- Random choices and addresses ----

std::string ClusterRun::ARunningNode() {
  if (incarnations_.empty()) return "";
  return std::next(incarnations_.begin(), static_cast<int64_t>(random_.Below(incarnations_.size())))->first;
}

ClusterRun::LifeId ClusterRun::ALife() {
  const size_t count = history_.lives().size();
  for (int tries = 0; tries < 10 && count > 0; ++tries) {
    const auto life = static_cast<LifeId>(random_.Below(count));
    if (history_.IsAlive(life) || Chance(20)) return life;
  }
  return -1;
}

Pid ClusterRun::As(absl::string_view node, LifeId life) {
  const ClusterHistory::Life& its = history_.lives()[life];
  TestSystem& system = cluster_->system(node);
  if (its.incarnation == system.incarnation()) return its.pid;
  return internal::PidAt(*system.InternPeer(its.node, its.incarnation), its.address);
}

uint64_t ClusterRun::EpochOf(LifeId from, LifeId to) {
  const ClusterHistory::Life& sender = history_.lives()[from];
  const ClusterHistory::Life& receiver = history_.lives()[to];
  if (sender.incarnation == receiver.incarnation || !cluster_->IsRunning(sender.node)) return 0;
  for (const PeerStatus& peer : cluster_->core(sender.node).Peers()) {
    if (peer.node == receiver.node && peer.incarnation == receiver.incarnation) return peer.epoch;
  }
  return 0;
}

}  // namespace understudy
