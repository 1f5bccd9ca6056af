// Two node processes with a proxy between them that stalls, cuts, resets, delays and throttles, and a peer that is
// killed or stopped: what each end is told, how soon, and that nothing is lost while the session lives.
//
// Where both silence and grace could cause the event that a test waits for, the one that must not is set to minutes
// (kLongSilence, kLongGrace). The measured times are printed.
#include <signal.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/error.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/tests/transport/trials/fault_proxy.h"
#include "understudy/tests/transport/trials/tally_actor.h"
#include "understudy/tests/transport/trials/trial.h"
#include "understudy/tests/transport/trials/trial_times.h"
#include "understudy/transport/node.h"

namespace understudy::net_testing {
namespace {

constexpr absl::Duration kSilence = absl::Milliseconds(800);
constexpr absl::Duration kGrace = absl::Milliseconds(700);
// Too long to cause any event of a test.
constexpr absl::Duration kLongSilence = absl::Minutes(5);
constexpr absl::Duration kLongGrace = absl::Minutes(30);
constexpr int64_t kNumbers = 2000;

void Print(absl::string_view what, absl::Duration took) {
  printf("%s: %s\n", std::string(what).c_str(), absl::FormatDuration(absl::Trunc(took, absl::Milliseconds(1))).c_str());
}

std::vector<std::string> OptionsOf(absl::Duration silence, absl::Duration grace) {
  return {absl::StrCat("silence_ms=", absl::ToInt64Milliseconds(silence)),
          absl::StrCat("grace_ms=", absl::ToInt64Milliseconds(grace))};
}

// The node house of this process dials the node ledger of another one, through the proxy.
class Wire {
 public:
  Wire(absl::Duration silence, absl::Duration grace)
      : ledger("ledger", "127.0.0.1:0", OptionsOf(silence, grace)),
        proxy(ledger.address()),
        house("house", {.listen = "", .peers = {{"ledger", proxy.address()}}, .times = TrialTimes(silence, grace)}),
        tally(house.Find("ledger/tally")),
        watch(house.system(), tally.pid()) {
    house_seen = house.diary().size();
    ledger_seen = ledger.diary().size();
  }

  // Fails the test unless each end said Down once, of this session.
  void ExpectDownOnceAtBothEnds(MonotonicTime began, absl::Duration at_least, absl::Duration at_most) {
    const absl::Duration house_took = house.diary().WaitFor("ended ledger epoch 1", &house_seen) - began;
    const absl::Duration down_took = watch.WaitForDown() - began;
    EXPECT_EQ(watch.reason().kind(), ExitReason::Kind::kNoConnection);
    Print("  Down at the node that dialled", down_took);
    for (const absl::Duration took : {house_took, down_took}) {
      EXPECT_GE(took, at_least);
      EXPECT_LE(took, at_most);
    }
    const absl::Duration ledger_took = ledger.diary().WaitFor("ended house epoch 1", &ledger_seen) - began;
    Print("  Down at the node that listened", ledger_took);
    EXPECT_GE(ledger_took, at_least);
    EXPECT_LE(ledger_took, at_most);
  }
  void ExpectNothingMore() {
    EXPECT_EQ(watch.downs(), 1);
    house.diary().WaitFor("ended ledger epoch 1");
    EXPECT_EQ(house.diary().Count("ended ledger epoch 1"), 1);
    EXPECT_EQ(ledger.diary().Count("ended house epoch 1"), 1);
  }
  void ExpectNoEnd() {
    EXPECT_EQ(house.diary().Count("ended"), 0);
    EXPECT_EQ(ledger.diary().Count("ended"), 0);
    EXPECT_FALSE(watch.is_down());
  }

  RemoteNode ledger;
  FaultProxy proxy;
  LocalNode house;
  TallyRef tally;
  Watch watch;
  size_t house_seen = 0;
  size_t ledger_seen = 0;
};

MonotonicTime Now() { return Clock::Real().Now(); }

// ---- Stalls: no byte passes, and no connection ends ----

TEST(Stall, BothWaysIsSuspectAfterTheSilenceAndDownAfterTheGraceAtBothEnds) {
  Wire wire(kSilence, kGrace);
  const MonotonicTime began = Now();
  wire.proxy.Stall(FaultProxy::kBothWays);
  const absl::Duration suspect = wire.house.diary().WaitFor("suspect ledger", &wire.house_seen) - began;
  Print("  suspect", suspect);
  // The last heartbeat came a little before the stall.
  EXPECT_GE(suspect, kSilence / 2);
  EXPECT_LE(suspect, kSilence + kSlack);
  wire.ExpectDownOnceAtBothEnds(began, kSilence / 2 + kGrace, kSilence + kGrace + kSlack);
  wire.ExpectNothingMore();
  const absl::StatusOr<Tally::Number> asked = wire.house.system().Ask(wire.tally.ask(), {}, kDeadline);
  EXPECT_TRUE(IsNoConnection(asked.status())) << asked.status();
}

// The node that listens hears all that is said to it, each new stream included, and learns from the one that hears
// nothing that the session is over.
TEST(Stall, OfWhatTheListenerSaysIsDownAtBothEnds) {
  Wire wire(kSilence, kGrace);
  const MonotonicTime began = Now();
  wire.proxy.Stall(FaultProxy::kToDialler);
  wire.ExpectDownOnceAtBothEnds(began, kSilence / 2 + kGrace, kSilence + kGrace + kSlack);
  wire.ExpectNothingMore();
}

TEST(Stall, OfWhatTheDiallerSaysIsDownAtBothEnds) {
  Wire wire(kSilence, kGrace);
  const MonotonicTime began = Now();
  wire.proxy.Stall(FaultProxy::kToListener);
  wire.ExpectDownOnceAtBothEnds(began, kSilence / 2 + kGrace, kSilence + kGrace + kSlack);
  wire.ExpectNothingMore();
}

TEST(Stall, ThatEndsWithinTheGraceLosesNothing) {
  for (const int ways : {FaultProxy::kBothWays, FaultProxy::kToDialler, FaultProxy::kToListener}) {
    Wire wire(absl::Milliseconds(400), kLongGrace);
    Traffic traffic(wire.house, wire.tally, kNumbers);
    traffic.WaitForTold(kNumbers / 10);
    wire.proxy.Stall(ways);
    wire.house.diary().WaitFor("suspect ledger", &wire.house_seen);
    wire.proxy.Heal();
    const MonotonicTime healed = Now();
    const absl::Duration took = wire.house.diary().WaitFor("resumed ledger", &wire.house_seen) - healed;
    Print("  resumed after the stall", took);
    // The dial that was under way times out after handshake_timeout, the node waits for its backoff, and the next dial
    // succeeds.
    EXPECT_LE(took, SessionTimes().handshake_timeout + TrialTimes(kSilence, kGrace).backoff_max + kSlack);
    traffic.ExpectAllCameInOrder();
    wire.ExpectNoEnd();
  }
}

// ---- Connections that end ----

TEST(Cut, ThatHealsWithinTheGraceLosesNothing) {
  Wire wire(kLongSilence, kLongGrace);
  Traffic traffic(wire.house, wire.tally, kNumbers);
  for (int i = 1; i <= 5; ++i) {
    traffic.WaitForAsked(kNumbers * i / 40);
    const MonotonicTime began = Now();
    wire.proxy.Cut();
    const absl::Duration suspect = wire.house.diary().WaitFor("suspect ledger", &wire.house_seen) - began;
    wire.proxy.Heal();
    const absl::Duration resumed = wire.house.diary().WaitFor("resumed ledger", &wire.house_seen) - began;
    Print(absl::StrCat("  cut ", i, ": suspect"), suspect);
    Print(absl::StrCat("  cut ", i, ": resumed"), resumed);
    EXPECT_LE(suspect, kSlack);
  }
  traffic.ExpectAllCameInOrder();
  wire.ExpectNoEnd();
}

TEST(Reset, IsNoticedAtOnceAndLosesNothing) {
  Wire wire(kLongSilence, kLongGrace);
  Traffic traffic(wire.house, wire.tally, kNumbers);
  for (int i = 1; i <= 5; ++i) {
    traffic.WaitForAsked(kNumbers * i / 40);
    const MonotonicTime began = Now();
    wire.proxy.ResetAll();
    const absl::Duration suspect = wire.house.diary().WaitFor("suspect ledger", &wire.house_seen) - began;
    const absl::Duration resumed = wire.house.diary().WaitFor("resumed ledger", &wire.house_seen) - began;
    wire.ledger.diary().WaitFor("resumed house", &wire.ledger_seen);
    Print(absl::StrCat("  reset ", i, ": suspect"), suspect);
    Print(absl::StrCat("  reset ", i, ": resumed"), resumed);
    EXPECT_LE(resumed, kSlack);
  }
  traffic.ExpectAllCameInOrder();
  wire.ExpectNoEnd();
}

TEST(Cut, ForLongerThanTheGraceIsDownOnceAtBothEnds) {
  Wire wire(kLongSilence, kGrace);
  const MonotonicTime began = Now();
  wire.proxy.Cut();
  EXPECT_LE(wire.house.diary().WaitFor("suspect ledger", &wire.house_seen) - began, kSlack);
  wire.ExpectDownOnceAtBothEnds(began, kGrace, kGrace + kSlack);
  // The nodes meet again in another session, and the end of the first session is not reported twice.
  wire.proxy.Heal();
  wire.house.diary().WaitFor("up ledger epoch 2", &wire.house_seen);
  EXPECT_TRUE(wire.house.system().Ask(wire.tally.ask(), {}, kDeadline).ok());
  wire.ExpectNothingMore();
}

// ---- A slow wire ----

TEST(Delay, IsNoSilence) {
  Wire wire(kSilence, kGrace);
  constexpr absl::Duration kDelay = absl::Milliseconds(100);
  wire.proxy.Delay(kDelay);
  EXPECT_TRUE(wire.house.system().Ask(wire.tally.ask(), {}, kDeadline).ok());
  const MonotonicTime began = Now();
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(wire.house.system().Ask(wire.tally.ask(), {}, kDeadline).ok());
  }
  EXPECT_GE(Now() - began, 10 * 2 * kDelay);
  wire.ExpectNoEnd();
}

// The large message takes several times the silence limit; its parts that arrive meanwhile, and the heartbeats of the
// other end, are signs of life.
TEST(Throttle, IsNoSilence) {
  Wire wire(kSilence, kGrace);
  constexpr int64_t kBytesPerSecond = 200'000;
  constexpr int64_t kLoadBytes = 400'000;
  wire.proxy.Throttle(kBytesPerSecond);
  Tally::Bytes load;
  load.set_value(std::string(kLoadBytes, 'x'));
  const MonotonicTime began = Now();
  ASSERT_TRUE(wire.tally.load().Send(std::move(load)).ok());
  while (wire.house.Report(wire.tally, 1) != "0 in order, 1 loads" && Now() - began < kDeadline) {
  }
  EXPECT_GE(Now() - began, 2 * kSilence) << "the wire was not slow";
  EXPECT_LE(Now() - began, kDeadline);
  wire.ExpectNoEnd();
}

// ---- The process at the other end ----

// The nodes of one kill: house watches ledger, which is killed.
struct Met {
  std::unique_ptr<RemoteNode> ledger;
  std::unique_ptr<LocalNode> house;
};

// House dials ledger, which listens there.
Met HouseDials(const std::string& listen) {
  Met met;
  met.ledger = std::make_unique<RemoteNode>("ledger", listen, OptionsOf(kLongSilence, kLongGrace));
  met.house = std::make_unique<LocalNode>("house", NodeOptions{.peers = {{"ledger", met.ledger->address()}},
                                                               .times = TrialTimes(kLongSilence, kLongGrace)});
  return met;
}

// Ledger dials house, which listens there, and does not listen itself.
Met LedgerOnlyDials(const std::string& listen) {
  Met met;
  met.house = std::make_unique<LocalNode>("house",
                                          NodeOptions{.listen = listen, .times = TrialTimes(kLongSilence, kLongGrace)});
  std::vector<std::string> options = OptionsOf(kLongSilence, kLongGrace);
  options.push_back(absl::StrCat("peer=house@", met.house->node().address()));
  met.ledger = std::make_unique<RemoteNode>("ledger", "", options);
  return met;
}

bool IsLoaded() {
  double load = 0;
  return getloadavg(&load, 1) != 1 || load >= std::thread::hardware_concurrency();
}

// Five pairs of nodes, one after another.
void ExpectAKillIsNoticed(absl::string_view what, const std::function<Met(int)>& meet) {
  constexpr int kKills = 5;
  bool is_loaded = false;
  std::vector<absl::Duration> times;
  for (int i = 0; i < kKills; ++i) {
    is_loaded = is_loaded || IsLoaded();
    const Met met = meet(i);
    Watch watch(met.house->system(), met.house->Find("ledger/tally").pid());
    const MonotonicTime began = Now();
    met.ledger->Kill();
    times.push_back(watch.WaitForDown() - began);
    EXPECT_EQ(watch.reason().kind(), ExitReason::Kind::kNoConnection);
    met.house->diary().WaitFor("ended ledger");
    EXPECT_EQ(met.house->diary().Count("ended ledger"), 1);
  }
  is_loaded = is_loaded || IsLoaded();
  std::sort(times.begin(), times.end());
  Print(absl::StrCat("  Down after SIGKILL, ", what, ": median"), times[kKills / 2]);
  Print(absl::StrCat("  Down after SIGKILL, ", what, ": longest"), times.back());
  // The promise is one second. Silence and grace, which would tell as well, are minutes. A machine whose load is above
  // its number of cores may take longer.
  EXPECT_LE(times.back(), absl::Seconds(1) + (is_loaded ? kSlack : absl::ZeroDuration()));
}

class Killed : public ::testing::Test {
 protected:
  Killed() { EXPECT_NE(mkdtemp(folder_.data()), nullptr); }
  ~Killed() override { std::filesystem::remove_all(folder_); }
  std::string Socket(int i) const { return absl::StrCat("unix:", folder_, "/", i); }

 private:
  std::string folder_ = "/tmp/understudy.XXXXXX";
};

TEST_F(Killed, OnAUnixSocketIsDownWithinASecond) {
  ExpectAKillIsNoticed("Unix socket", [&](int i) { return HouseDials(Socket(i)); });
}

TEST_F(Killed, OnAUnixSocketAPeerThatOnlyDialsIsDownWithinASecond) {
  ExpectAKillIsNoticed("Unix socket, only dials", [&](int i) { return LedgerOnlyDials(Socket(i)); });
}

TEST_F(Killed, OnLoopbackIsDownWithinASecond) {
  ExpectAKillIsNoticed("loopback", [](int) { return HouseDials("127.0.0.1:0"); });
}

TEST(Stopped, APeerIsDownAfterSilenceAndGraceAndNotBefore) {
  RemoteNode ledger("ledger", "127.0.0.1:0", OptionsOf(kSilence, kGrace));
  LocalNode house("house", {.peers = {{"ledger", ledger.address()}}, .times = TrialTimes(kSilence, kGrace)});
  Watch watch(house.system(), house.Find("ledger/tally").pid());
  const MonotonicTime began = Now();
  ledger.Signal(SIGSTOP);
  const absl::Duration took = watch.WaitForDown() - began;
  Print("  Down after SIGSTOP", took);
  EXPECT_GE(took, kSilence / 2 + kGrace);
  EXPECT_LE(took, kSilence + kGrace + kSlack);
  // The stopped node continues, learns that its session is over, and the two nodes begin another one.
  ledger.Signal(SIGCONT);
  ledger.diary().WaitFor("ended house epoch 1");
  house.diary().WaitFor("up ledger epoch 2");
  EXPECT_EQ(watch.downs(), 1);
}

TEST(Stopped, APeerThatGoesOnWithinTheGraceLosesNothing) {
  RemoteNode ledger("ledger", "127.0.0.1:0", OptionsOf(absl::Milliseconds(400), kLongGrace));
  LocalNode house("house",
                  {.peers = {{"ledger", ledger.address()}}, .times = TrialTimes(absl::Milliseconds(400), kLongGrace)});
  const TallyRef tally = house.Find("ledger/tally");
  Watch watch(house.system(), tally.pid());
  Traffic traffic(house, tally, kNumbers);
  size_t seen = 0;
  for (int i = 1; i <= 3; ++i) {
    traffic.WaitForTold(kNumbers * i / 10);
    ledger.Signal(SIGSTOP);
    house.diary().WaitFor("suspect ledger", &seen);
    ledger.Signal(SIGCONT);
    house.diary().WaitFor("resumed ledger", &seen);
  }
  traffic.ExpectAllCameInOrder();
  EXPECT_FALSE(watch.is_down());
  EXPECT_EQ(house.diary().Count("ended"), 0);
}

}  // namespace
}  // namespace understudy::net_testing
