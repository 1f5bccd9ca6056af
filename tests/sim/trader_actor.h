// Trader: an actor of a simulated cluster that does the errands that a test gives it. It has small mailboxes, stops
// handling messages now and then, and reports every step to a ClusterHistory.
#ifndef UNDERSTUDY_TESTS_SIM_TRADER_ACTOR_H_
#define UNDERSTUDY_TESTS_SIM_TRADER_ACTOR_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/channel.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/context.h"
#include "understudy/actors/events.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/mailbox.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/ref.h"
#include "understudy/actors/replier.h"
#include "understudy/actors/task.h"
#include "understudy/tests/sim/cluster_history.h"
#include "understudy/tests/transport/puppet.pb.h"

namespace understudy {

class Trader final : public Actor {
 public:
  using LifeId = ClusterHistory::LifeId;
  using Box = ClusterHistory::Box;

  struct Settings {
    int64_t capacity = 10;       // of box and of ask
    int64_t drops_capacity = 5;  // of drops, which drops its oldest message when full
    double rests = 0.1;          // probability that it rests after a message
    absl::Duration rest_max = absl::Milliseconds(50);
    bool traps_exits = false;
  };
  struct Errand {
    enum class Kind { kTell, kTellWhenRoom, kAsk } kind = Kind::kTell;
    Pid to;  // as the trader's node addresses it
    LifeId whom = 0;
    Box box = Box::kRefusing;
    int times = 1;
    size_t bytes = 0;
    absl::Duration timeout = absl::Seconds(5);
  };
  // Returns the epoch of the session over which the node of `from` now sends to the node of `to`; 0 without a session.
  using EpochOf = std::function<uint64_t(LifeId from, LifeId to)>;
  using Script = std::function<void(Trader&)>;

  Mailbox<"trader/run", Script> run{this};          // local only, as are errands: not wire messages
  Mailbox<"trader/errand", Errand> errand{this};    // handled one after another
  Mailbox<"trader/inquiry", Errand> inquiry{this};  // handled concurrently
  Mailbox<"trader/box", net_testing::Note> box;
  Mailbox<"trader/drops", net_testing::Note> drops;
  Mailbox<"trader/ask", Call<net_testing::Note, net_testing::Note>> ask;

  Trader(ClusterHistory* history, LifeId life, Settings settings, EpochOf epoch_of)
      : box(this, {.capacity_messages = settings.capacity}),
        drops(this, {.capacity_messages = settings.drops_capacity, .overflow = Overflow::kDropOldest}),
        ask(this, {.capacity_messages = settings.capacity}),
        history_(history),
        life_(life),
        settings_(settings),
        epoch_of_(std::move(epoch_of)) {}
  ~Trader() override { history_->OnGone(life_); }

  StartResult Start() override {
    history_->OnStarted(life_);
    if (settings_.traps_exits) {
      context().TrapExits([this](const ExitEvent& event) { history_->OnTrapped(life_, event.peer, event.reason); });
    }
    return open_;
  }
  void OnExit(const ExitReason& reason) override { history_->OnExit(life_, reason); }

  // For scripts.
  using Actor::context;
  void Watch(Pid target, LifeId whom) {
    const int monitor = history_->OnMonitoring(life_, whom);
    monitors_.emplace_back(monitor, context().Monitor(target, [this, monitor](const Down& down) {
      history_->OnDown(monitor, down.reason);
    }));
  }
  // Ends the oldest monitor of this trader.
  void Unwatch() {
    if (monitors_.empty()) return;
    history_->OnMonitorEnded(monitors_.front().first);
    monitors_.erase(monitors_.begin());
  }
  // Opens the mailboxes and disables further rests.
  void WakeUp() {
    settings_.rests = 0;
    Become(open_);
  }

 private:
  static constexpr size_t kLargeReplyBytes = 100'000;

  void Run(const Script& script) { script(*this); }
  static net_testing::Note NoteOf(int64_t number, size_t bytes) {
    net_testing::Note note;
    note.set_number(number);
    note.set_text(std::string(bytes, 'x'));
    return note;
  }

  // ---- Sending ----

  Task<> GoTell(Errand what) {
    const Ref<Trader> to(what.to);
    const Channel<net_testing::Note> channel = what.box == Box::kRefusing ? to[&Trader::box] : to[&Trader::drops];
    for (int i = 0; i < what.times; ++i) {
      const int64_t number = history_->OnSending(life_, what.whom, what.box);
      absl::Status sent;
      if (what.kind == Errand::Kind::kTell) {
        sent = channel.Send(NoteOf(number, what.bytes));
      } else {
        const MonotonicTime since = context().Now();
        auto sending = channel.SendWhenRoom(NoteOf(number, what.bytes), what.timeout);
        sent = co_await sending;
        history_->OnWaited(number, since, sent);
      }
      history_->OnSent(number, sent, sent.ok() ? epoch_of_(life_, what.whom) : 0);
      if (!sent.ok()) co_return;
    }
  }
  Task<> GoAsk(Errand what) {
    const Ref<Trader> to(what.to);
    for (int i = 0; i < what.times; ++i) {
      const int64_t number = history_->OnAsking(life_, what.whom);
      auto asked = to[&Trader::ask].Ask(NoteOf(number, what.bytes), what.timeout);
      const absl::StatusOr<net_testing::Note> answer = co_await asked;
      history_->OnAnswered(number, answer.status(), answer.ok() ? answer->number() : 0);
    }
  }

  // ---- Receiving ----

  void TakeBox(const net_testing::Note& note) { Take(Box::kRefusing, note); }
  void TakeDrops(const net_testing::Note& note) { Take(Box::kDropping, note); }
  void Take(Box where, const net_testing::Note& note) {
    if (note.number() > 0) {
      history_->OnHandled(life_, where, note.number());
    } else {
      history_->OnForeignHandled();
    }
    RestPerhaps();
  }
  void TakeAsk(const net_testing::Note& note, Replier<net_testing::Note> replier) {
    if (note.number() > 0) {
      history_->OnAskHandled(life_, note.number());
    } else {
      history_->OnForeignHandled();
    }
    switch (context().Random().Below(20)) {
      case 0:
        replier.Reply(absl::OutOfRangeError("not today"));
        break;
      case 1:
        kept_.emplace_back(note.number(), std::move(replier));
        (void)context().StartTimer("reply", absl::Milliseconds(1 + context().Random().Below(2000)),
                                   [this](const TimerEvent&) { ReplyToKept(); });
        break;
      case 2:
        break;  // leaves the ask unanswered
      case 3:
        replier.Reply(NoteOf(note.number(), kLargeReplyBytes));
        break;
      default:
        replier.Reply(NoteOf(note.number(), 10));
    }
    RestPerhaps();
  }
  void ReplyToKept() {
    for (auto& [number, replier] : kept_) replier.Reply(NoteOf(number, 0));
    kept_.clear();
  }
  void RestPerhaps() {
    if (context().Random().Fraction() >= settings_.rests) return;
    Become(resting_);
    (void)context().StartTimer("rest", settings_.rest_max * context().Random().Fraction(),
                               [this](const TimerEvent&) { Become(open_); });
  }

  ClusterHistory* const history_;
  const LifeId life_;
  Settings settings_;
  const EpochOf epoch_of_;
  std::vector<std::pair<int, MonitorHandle>> monitors_;
  std::vector<std::pair<int64_t, Replier<net_testing::Note>>> kept_;
  Behavior open_{"open",
                 On(run, &Trader::Run),
                 On(errand, &Trader::GoTell),
                 On(inquiry, &Trader::GoAsk).Interleaved(),
                 On(box, &Trader::TakeBox),
                 On(drops, &Trader::TakeDrops),
                 On(ask, &Trader::TakeAsk)};
  Behavior resting_{"resting", On(run, &Trader::Run), On(errand, &Trader::GoTell),
                    On(inquiry, &Trader::GoAsk).Interleaved()};
};

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_SIM_TRADER_ACTOR_H_
