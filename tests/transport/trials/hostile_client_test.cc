// A hostile client against a node in a process of its own, with which an honest peer talks all the while: the honest
// peer's messages all come, in order, its first session is still its session in the end, and the node's memory and
// descriptors stay as they were.
//
// Tests below the level of nodes cover certificates of other authorities, expired or missing ones, and plaintext
// (tests/transport/streams/tls_test.cc), and what a Hello must prove (session/peer_session_identity_test.cc).

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/testing/kept_log.h"
#include "understudy/actors/testing/sanitized.h"
#include "understudy/actors/testing/seeds.h"
#include "understudy/proto/envelope.pb.h"
#include "understudy/tests/transport/hello.h"
#include "understudy/tests/transport/trials/fault_proxy.h"
#include "understudy/tests/transport/trials/hostile.h"
#include "understudy/tests/transport/trials/tally_actor.h"
#include "understudy/tests/transport/trials/trial.h"
#include "understudy/tests/transport/trials/trial_times.h"
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/core/node_core.h"
#include "understudy/transport/credentials.h"
#include "understudy/transport/limits.h"
#include "understudy/transport/node.h"

namespace understudy::net_testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// ---- Identity ----

TEST_F(HostileClientTest, AHelloInALivePeersNameWithItsIncarnationIsRefused) {
  Join();
  ExpectNoHarmBy([&] {
    for (const uint64_t dial : {uint64_t{1}, uint64_t{1'000'000}}) {
      RawStream stranger(ledger_->address());
      ASSERT_TRUE(stranger.Write(FrameOf(HelloFrom("house", house_->system().incarnation().bits, "ledger", dial))));
      const proto::Refuse refuse = stranger.ReadRefuse();
      EXPECT_EQ(refuse.reason(), dial == 1 ? proto::Refuse::SUPERSEDED : proto::Refuse::UNPROVED) << refuse.detail();
      EXPECT_EQ(stranger.Read(), "");
    }
    RawStream other(ledger_->address());
    ASSERT_TRUE(other.Write(FrameOf(HelloFrom("house", 4711, "ledger"))));
    EXPECT_EQ(other.ReadRefuse().reason(), proto::Refuse::NAME_TAKEN);
    // A client that tries to resume house's session, but cannot prove that it is house.
    RawStream thief(ledger_->address());
    proto::Hello hello = HelloFrom("house", house_->system().incarnation().bits, "ledger", 1'000'000);
    hello.set_resume_epoch(1);
    hello.set_to_incarnation(tally_.pid().is_null() ? 0 : house_->node().Peers()[0].incarnation.bits);
    hello.set_proof(std::string(32, 'p'));
    ASSERT_TRUE(thief.Write(FrameOf(hello)));
    EXPECT_EQ(thief.ReadRefuse().reason(), proto::Refuse::UNPROVED);
  });
}

// All that the honest node said on a connection, byte for byte: the Hello with which its session began, then the one by
// which it went on, each with the frames that followed.
TEST_F(HostileClientTest, AReplayedConnectionIsRefused) {
  Join();
  size_t seen = 0;
  for (int i = 0; i < 2; ++i) {
    ExpectNoHarmBy([&] {
      const std::string said = proxy_->said();
      ASSERT_TRUE(absl::StartsWith(said, "PRI * HTTP/2.0"));
      std::vector<std::unique_ptr<RawConnection>> replays;
      for (int again = 0; again < 3; ++again) {
        replays.push_back(std::make_unique<RawConnection>(ledger_->address()));
        ASSERT_TRUE(Becomes([&] { return replays.back()->is_connected(); }));
        replays.back()->Say(said);
      }
      for (const auto& replay : replays) EXPECT_TRUE(Becomes([&] { return replay->is_closed(); }));
    });
    if (i > 0) break;
    proxy_->ResetAll();
    house_->diary().WaitFor("resumed ledger", &seen);
    EXPECT_TRUE(house_->system().Ask(tally_.ask(), {}, kDeadline).ok());
  }
  EXPECT_EQ(house_->diary().Count("resumed"), 1);
}

TEST_F(HostileClientTest, ACertificateIsNoLeaveToBeAnotherNode) {
  const Certificates certificates;
  Join(&certificates);
  ExpectNoHarmBy([&] {
    RawStream impostor(ledger_->address(), certificates.folder(), "mallory");
    ASSERT_TRUE(impostor.Write(FrameOf(HelloFrom("house", 4711, "ledger"))));
    const proto::Refuse refuse = impostor.ReadRefuse();
    EXPECT_EQ(refuse.reason(), proto::Refuse::NAME_TAKEN);
    EXPECT_THAT(std::string(refuse.detail()),
                AllOf(HasSubstr("its certificate names 'mallory': expected the DNS name house"),
                      HasSubstr("tools/make_certs")));
  });
}

// ---- Certificates that change, and the errors when they do not fit ----

TEST_F(HostileClientTest, TheAuthorityIsReplacedWhileASessionLives) {
  Certificates certificates;
  Join(&certificates);
  ExpectNoHarmBy([&] {
    certificates.MakeAnew();
    // Mallory has never seen the old authority, so it can join only when ledger has the new one.
    LocalNode mallory(
        "mallory",
        {.listen = "", .peers = {{"ledger", ledger_->address()}}, .credentials = certificates.Of("mallory")});
    EXPECT_TRUE(mallory.system().Ask(mallory.Find("ledger/tally").ask(), {}, kDeadline).ok());
    // House, whose session goes on, can resume when it has the new authority too.
    proxy_->ResetAll();
    house_->diary().WaitFor("resumed ledger");
  });
}

TEST_F(HostileClientTest, CertificatesOfTwoAuthoritiesAreOneLogLineAtEachEnd) {
  const Certificates ours;
  const Certificates theirs;
  KeptLog dialler_log;
  KeptLog listener_log;
  LocalNode ledger("ledger", {.credentials = ours.Of("ledger")}, &listener_log);
  FaultProxy proxy(ledger.node().address());
  {
    NodeOptions options = {.listen = "", .peers = {{"ledger", proxy.address()}}};
    options.credentials = theirs.Of("house");
    options.times.backoff_max = absl::Milliseconds(100);
    LocalNode house("house", std::move(options), &dialler_log);
    EXPECT_TRUE(Becomes([&] { return proxy.accepted() >= 5; }));
    // Before the node drains, which is more lines.
    EXPECT_THAT(
        dialler_log.lines(),
        ElementsAre(AllOf(HasSubstr(absl::StrCat("node house: no session with node ledger at ", proxy.address())),
                          HasSubstr("tools/make_certs"))));
  }
  EXPECT_THAT(listener_log.lines(),
              ElementsAre(HasSubstr("node ledger: no session with 127.0.0.1: its TLS handshake")));
}

// ---- Frames ----

TEST_F(HostileClientTest, FramesAtAndOverTheLimitEndTheirStreamOnly) {
  Join();
  ExpectNoHarmBy([&] {
    for (const size_t bytes : {limits::kFrameBytesMax, limits::kFrameBytesMax + 1, size_t{4} << 20}) {
      RawStream stranger(ledger_->address());
      stranger.Write(std::string(bytes, '\0'));
      EXPECT_EQ(stranger.Read(), "") << bytes;
      // Within a session of its own too.
      RawStream guest(ledger_->address());
      ASSERT_TRUE(guest.Write(FrameOf(HelloFrom(absl::StrCat("guest-", bytes), bytes, "ledger"))));
      const absl::StatusOr<proto::Frame> welcome = DecodeFrame(guest.Read());
      ASSERT_TRUE(welcome.ok() && welcome->has_welcome()) << welcome.status();
      ASSERT_TRUE(guest.Write(HeartbeatFrame(welcome->epoch())));
      guest.Write(std::string(bytes, '\0'));
      while (!guest.Read().empty()) {
      }
    }
  });
}

TEST_F(HostileClientTest, AFrameOfHalfAGibibyteIsNotTakenIn) {
  Join();
  const int64_t before = PeakBytesOf(ledger_->os_pid());
  ExpectNoHarmBy([&] {
    RawStream stranger(ledger_->address());
    stranger.Write(std::string(size_t{512} << 20, '\0'));
    EXPECT_EQ(stranger.Read(), "");
  });
  const int64_t grown = PeakBytesOf(ledger_->os_pid()) - before;
  printf("  the node's memory grew by at most %d KiB\n", static_cast<int>(grown / 1024));
  if (!kIsSanitized) EXPECT_LE(grown, static_cast<int64_t>(limits::kReceivedBytesMax) + (int64_t{32} << 20));
}

// ---- Connections ----

// `.ci/long trials` opens ten times as many: 10,000.
TEST_F(HostileClientTest, HalfOpenHandshakesLeaveTheHonestPeerAndTheNodesMemoryAlone) {
  const int total = RoundsOf(1000);
  constexpr size_t kAtOnce = 400;
  // The beginning of a ClientHello, and other beginnings of which nothing comes.
  const std::string client_hello("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11);
  const std::string beginnings[] = {"", client_hello, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", std::string(300, '\x16')};
  const Certificates certificates;
  Join(&certificates);
  const int victim = ledger_->os_pid();
  const int64_t descriptors = DescriptorsOf(victim);
  int64_t most_descriptors = descriptors;
  const int64_t resident = ResidentBytesOf(victim);
  Traffic traffic(*house_, tally_, 2 * total);
  int connected = 0;
  {
    std::deque<std::unique_ptr<RawConnection>> open;
    std::set<const RawConnection*> spoken;  // of those
    for (int i = 0; i < total; ++i) {
      open.push_back(std::make_unique<RawConnection>(ledger_->address()));
      if (open.size() < kAtOnce && i + 1 < total) continue;
      // Clients that are connected write the beginning of a handshake; the others wait for a place in the listening
      // socket's queue.
      const auto are_half_in = [&] {
        const auto in = std::count_if(open.begin(), open.end(), [](const auto& one) { return one->is_connected(); });
        return 2 * static_cast<size_t>(in) >= open.size();
      };
      EXPECT_TRUE(Becomes(are_half_in));
      for (size_t k = 0; k < open.size(); ++k) {
        if (!open[k]->is_connected() || !spoken.insert(open[k].get()).second) continue;
        ++connected;
        open[k]->Say(beginnings[k % std::size(beginnings)]);
      }
      most_descriptors = std::max(most_descriptors, DescriptorsOf(victim));
      for (size_t k = 0; k < open.size() / 2; ++k) spoken.erase(open[k].get());
      open.erase(open.begin(), open.begin() + static_cast<ptrdiff_t>(open.size() / 2));
    }
    most_descriptors = std::max(most_descriptors, DescriptorsOf(victim));
  }
  EXPECT_GE(connected, total / 2);
  printf("  %d half-open connections, at most %d descriptors of the node at once, %d before\n", connected,
         static_cast<int>(most_descriptors), static_cast<int>(descriptors));
  traffic.ExpectAllCameInOrder();
  ExpectTheFirstSession();
  // 256 half-open ones at once, each two descriptors, and a little for gRPC to close its own.
  EXPECT_LE(most_descriptors, descriptors + 2 * 256 + 128);
  EXPECT_TRUE(Becomes([&] { return DescriptorsOf(victim) <= descriptors + 8; })) << DescriptorsOf(victim);
  const int64_t grown = ResidentBytesOf(victim) - resident;
  printf("  the node's memory grew by %d KiB\n", static_cast<int>(grown / 1024));
  if (!kIsSanitized) EXPECT_LE(grown, int64_t{64} << 20);
  // An honest node can still join.
  LocalNode mallory(
      "mallory", {.listen = "", .peers = {{"ledger", ledger_->address()}}, .credentials = certificates.Of("mallory")});
  EXPECT_TRUE(mallory.system().Ask(mallory.Find("ledger/tally").ask(), {}, kDeadline).ok());
}

}  // namespace
}  // namespace understudy::net_testing
