// Many seeds of cuts, stalls, partitions and restarts: while a session lives, no envelope on it is lost, doubled or
// reordered.
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/fault_point.h"
#include "understudy/actors/random.h"
#include "understudy/tests/transport/seeds.h"
#include "understudy/tests/transport/session_pair.h"

namespace understudy {
namespace {

// The messages that one node of a run sends, with which the other node's messages are checked.
constexpr uint64_t kSenders = 3;
struct Talker {
  std::map<uint64_t, int64_t> sent;  // by its senders

  int64_t total() const {
    return std::accumulate(sent.begin(), sent.end(), int64_t{0},
                           [](int64_t sum, const auto& s) { return sum + s.second; });
  }
};

// Returns what is wrong with the received messages, "SENDER NUMBER …", or an empty text.
std::string CheckArrivals(const std::vector<std::string>& received, bool complete, const Talker& talker) {
  std::map<uint64_t, int64_t> last;
  for (const std::string& text : received) {
    uint64_t sender = 0;
    int64_t number = 0;
    const std::vector<std::string> parts = absl::StrSplit(text, ' ');
    if (!absl::SimpleAtoi(parts[0], &sender)) return absl::StrCat("not a sender: ", parts[0]);
    if (!absl::SimpleAtoi(parts[1], &number)) return absl::StrCat("not a number: ", parts[1]);
    int64_t& before = last[sender];
    if (complete ? number != before + 1 : number <= before) {
      return absl::StrCat(number, " of sender ", sender, " follows ", before);
    }
    before = number;
  }
  if (complete && last != talker.sent) return "not all has arrived";
  return "";
}

void SendSome(SessionPair& pair, SessionPair::Node& node, Talker& talker, Random& random) {
  for (uint64_t i = random.Below(20); i > 0; --i) {
    const uint64_t sender = 1 + random.Below(kSenders);
    const size_t size = random.Below(50) == 0 ? random.Below(200000) : random.Below(30);
    const int64_t number = talker.sent[sender] + 1;
    const std::string text = absl::StrCat(sender, " ", number, " ", std::string(size, 'x'));
    if (pair.Send(node, text, MonotonicTime::InfiniteFuture(), sender).ok()) talker.sent[sender] = number;
    if (talker.sent[sender] == 0) talker.sent.erase(sender);
  }
}

// A run with cuts and stalls short of the grace period: nothing may be lost.
std::string RunWithCuts(uint64_t seed) {
  Random random(seed);
  SessionPair pair({.seed = seed, .latency_max = absl::Milliseconds(1 + random.Below(20))});
  pair.RunFor(absl::Seconds(2));
  Talker a;
  Talker b;
  for (int step = 0; step < 60; ++step) {
    SendSome(pair, pair.a(), a, random);
    SendSome(pair, pair.b(), b, random);
    switch (random.Below(6)) {
      case 0:
        pair.CutAll();
        break;
      case 1:
        pair.StallAll();
        break;
      case 2:
        pair.SetReachable(random.Below(2) == 0);
        break;
      default:
        break;
    }
    pair.RunFor(absl::Milliseconds(random.Below(100)));
    pair.SetReachable(true);
  }
  pair.RunFor(absl::Seconds(30));
  if (pair.a().session->epoch() != 1 || pair.b().session->epoch() != 1) return "the session ended";
  if (pair.open_streams() < 1) return "no stream";
  std::string wrong = CheckArrivals(pair.b().received, true, a);
  if (wrong.empty()) wrong = CheckArrivals(pair.a().received, true, b);
  if (wrong.empty() && pair.a().session->ledger().acknowledged != a.total()) wrong = "not all is acknowledged";
  if (wrong.empty() && !pair.a().session->ledger().balances()) wrong = "the ledger does not balance";
  return wrong;
}

TEST(PeerSessionPropertyTest, NothingIsLostDoubledOrReorderedWhileTheSessionLives) {
  for (const uint64_t seed : SeedsOf(100)) ASSERT_EQ(RunWithCuts(seed), "") << "seed " << seed;
}

TEST(PeerSessionPropertyTest, ASessionThatForgetsToResendOneEnvelopeIsFound) {
  FaultPoint::Scope broken("session_forgets_one_unacknowledged");
  int found = 0;
  for (const uint64_t seed : SeedsOf(20)) found += RunWithCuts(seed).empty() ? 0 : 1;
  EXPECT_GT(found, 0);
}

// A run with partitions beyond the grace period and restarts: sessions end, and
// then what arrives is still in order and never twice, and both ends agree.
std::string RunWithEnds(uint64_t seed) {
  Random random(seed);
  SessionTimes times;
  times.grace_period = absl::Seconds(1);
  SessionPair pair({.seed = seed, .times = times, .latency_max = absl::Milliseconds(1 + random.Below(20))});
  Talker a;
  Talker b;
  for (int step = 0; step < 60; ++step) {
    SendSome(pair, pair.a(), a, random);
    SendSome(pair, pair.b(), b, random);
    switch (random.Below(10)) {
      case 0:
        pair.CutAll();
        break;
      case 1:
        pair.SetReachable(false);
        pair.CutAll();
        pair.RunFor(absl::Milliseconds(random.Below(3000)));
        break;
      case 2:
        pair.Restart(random.Below(2) == 0 ? pair.a() : pair.b(),
                     random.Below(2) == 0 ? SessionPair::Streams::kCut : SessionPair::Streams::kStalled);
        break;
      default:
        break;
    }
    pair.RunFor(absl::Milliseconds(random.Below(300)));
    pair.SetReachable(true);
  }
  pair.RunFor(absl::Seconds(60));
  if (!pair.a().session->is_up() || !pair.b().session->is_up()) return "they did not find each other again";
  if (pair.a().session->epoch() != pair.b().session->epoch()) return "the epochs differ";
  if (pair.open_streams() != 1) return absl::StrCat(pair.open_streams(), " streams are open");
  std::string wrong = CheckArrivals(pair.b().received, false, a);
  if (wrong.empty()) wrong = CheckArrivals(pair.a().received, false, b);
  const SessionLedger ledger = pair.a().session->ledger();
  if (wrong.empty() && (!ledger.balances() || ledger.waiting != 0)) wrong = "the ledger does not balance";
  return wrong;
}

TEST(PeerSessionPropertyTest, AfterAnyHistoryTheNodesAgreeAndNothingCameTwice) {
  for (const uint64_t seed : SeedsOf(100)) ASSERT_EQ(RunWithEnds(seed), "") << "seed " << seed;
}

}  // namespace
}  // namespace understudy
