// Two nodes in two network namespaces of the kernel, joined by a pair of virtual links, with mutual TLS as every
// network requires: links that are set down, routes that drop packets, and a link with a limited rate (tbf).
//
// Needs root, or user namespaces, and the commands ip, tc, unshare and nsenter. Where they are missing the tests fail,
// so that `.ci/long trials` cannot pass without them; with UNDERSTUDY_MAY_SKIP_NAMESPACES=1 in the environment they
// print which of these is missing and are skipped.
// The namespaces belong to this process and to one that it starts, and end with them.
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/tests/transport/test_certificates.h"
#include "understudy/tests/transport/trials/tally_actor.h"
#include "understudy/tests/transport/trials/trial.h"
#include "understudy/tests/transport/trials/trial_times.h"
#include "understudy/transport/credentials.h"
#include "understudy/transport/node.h"
#include "understudy/transport/process/os_process.h"

namespace understudy::net_testing {
namespace {

constexpr char kOurs[] = "10.199.0.1";
constexpr char kTheirs[] = "10.199.0.2";
constexpr absl::Duration kSilence = absl::Milliseconds(800);
constexpr absl::Duration kGrace = absl::Milliseconds(700);
constexpr absl::Duration kLongGrace = absl::Minutes(30);
constexpr char kPath[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

MonotonicTime Now() { return Clock::Real().Now(); }

void Print(absl::string_view what, absl::Duration took) {
  printf("%s: %s\n", std::string(what).c_str(), absl::FormatDuration(absl::Trunc(took, absl::Milliseconds(1))).c_str());
}

bool Succeeds(absl::string_view command) {
  return system(absl::StrCat("env ", kPath, " ", command, " >/dev/null 2>&1").c_str()) == 0;
}
void Execute(absl::string_view command) { EXPECT_TRUE(Succeeds(command)) << command; }

bool WriteFile(const char* path, absl::string_view text) {
  const int file = open(path, O_WRONLY | O_CLOEXEC);
  const bool is_written = file >= 0 && write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (file >= 0) close(file);
  return is_written;
}

std::string NamespaceOf(int os_pid) {
  std::array<char, 64> name{};
  const std::string path = os_pid == 0 ? "/proc/self/ns/net" : absl::StrCat("/proc/", os_pid, "/ns/net");
  return readlink(path.c_str(), name.data(), name.size() - 1) < 0 ? "" : std::string(name.data());
}

// Moves this process into a network namespace of its own, before it has other threads. Empty: done; else why not.
std::string EnterNamespace() {
  const std::string user = absl::StrCat("0 ", getuid(), " 1");
  const std::string group = absl::StrCat("0 ", getgid(), " 1");
  if (geteuid() == 0) {
    if (unshare(CLONE_NEWNET) != 0) return absl::StrCat("unshare(CLONE_NEWNET): ", strerror(errno));
  } else if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) {
    return absl::StrCat("not root, and unshare(CLONE_NEWUSER | CLONE_NEWNET): ", strerror(errno));
  } else if (!WriteFile("/proc/self/setgroups", "deny") || !WriteFile("/proc/self/uid_map", user) ||
             !WriteFile("/proc/self/gid_map", group)) {
    return "the user namespace's maps cannot be written";
  }
  if (!Succeeds("ip link set lo up")) return "the command ip (Debian package iproute2) does not work here";
  return "";
}

// A second network namespace, and the link to it.
class Neighbour {
 public:
  Neighbour() {
    const std::vector<std::string> arguments = {kPath, "unshare", "--net", "sleep", "1000"};
    absl::StatusOr<std::unique_ptr<OsProcess>> holder =
        OsProcess::Start({.binary = "/usr/bin/env", .arguments = arguments}, [](const ExitReason&) {});
    if (!holder.ok()) {
      why_not_ = std::string(holder.status().message());
      return;
    }
    holder_ = *std::move(holder);
    EXPECT_TRUE(Becomes([&] { return NamespaceOf(holder_->os_pid()) != NamespaceOf(0); }));
    if (!Succeeds(absl::StrCat("ip link add trial0 type veth peer name trial1 netns ", holder_->os_pid()))) {
      why_not_ = "no pair of virtual links can be made here (ip link add … type veth)";
      return;
    }
    Execute(absl::StrCat("ip addr add ", kOurs, "/24 dev trial0"));
    Execute("ip link set trial0 up");
    ExecuteThere("ip link set lo up");
    ExecuteThere(absl::StrCat("ip addr add ", kTheirs, "/24 dev trial1"));
    ExecuteThere("ip link set trial1 up");
  }
  ~Neighbour() {
    if (why_not_.empty()) Execute("ip link del trial0");
  }
  const std::string& why_not() const { return why_not_; }
  // The command that runs another one there.
  std::vector<std::string> Enter() const {
    return {"/usr/bin/env", kPath, "nsenter", absl::StrCat("--net=/proc/", holder_->os_pid(), "/ns/net")};
  }

 private:
  void ExecuteThere(absl::string_view command) const {
    Execute(absl::StrCat("nsenter --net=/proc/", holder_->os_pid(), "/ns/net ", command));
  }
  std::string why_not_;
  std::unique_ptr<OsProcess> holder_;
};

// The node ledger runs in the other namespace.
class NetworkNamespaceTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    why_not_ = new std::string(EnterNamespace());
    certificates_ = new TestCertificates;
    certificates_->Make("all", "house ledger");
  }
  static void TearDownTestSuite() { delete certificates_; }

  void SetUp() override {
    std::string missing = *why_not_;
    if (missing.empty()) {
      neighbour_ = std::make_unique<Neighbour>();
      missing = neighbour_->why_not();
    }
    if (missing.empty()) return;
    if (getenv("UNDERSTUDY_MAY_SKIP_NAMESPACES") != nullptr) GTEST_SKIP() << "no network namespaces here: " << missing;
    FAIL() << "no network namespaces here: " << missing
           << "; run as root or allow user namespaces, or set UNDERSTUDY_MAY_SKIP_NAMESPACES=1 to skip these tests";
  }
  void TearDown() override {
    watch_.reset();
    house_.reset();
    ledger_.reset();
    neighbour_.reset();
  }

  void Join(absl::Duration silence, absl::Duration grace) {
    ledger_ = std::make_unique<RemoteNode>(
        "ledger", absl::StrCat(kTheirs, ":0"),
        std::vector<std::string>{absl::StrCat("silence_ms=", absl::ToInt64Milliseconds(silence)),
                                 absl::StrCat("grace_ms=", absl::ToInt64Milliseconds(grace)),
                                 absl::StrCat("certificates=", certificates_->File("all"))},
        neighbour_->Enter());
    NodeOptions options = {.listen = absl::StrCat(kOurs, ":0"), .peers = {{"ledger", ledger_->address()}}};
    options.times = TrialTimes(silence, grace);
    options.credentials = Credentials::Tls(certificates_->Files("all", "house"));
    house_ = std::make_unique<LocalNode>("house", std::move(options));
    tally_ = house_->Find("ledger/tally");
    watch_ = std::make_unique<Watch>(house_->system(), tally_.pid());
  }

  // Fails the test unless both ends have said once that the first session is over, not before its grace could be.
  void ExpectDownAtBothEnds(MonotonicTime began) {
    const absl::Duration here = watch_->WaitForDown() - began;
    EXPECT_EQ(watch_->reason().kind(), ExitReason::Kind::kNoConnection);
    const absl::Duration there = ledger_->diary().WaitFor("ended house epoch 1") - began;
    Print("  Down here", here);
    Print("  Down there", there);
    for (const absl::Duration took : {here, there}) {
      EXPECT_GE(took, kGrace);
      EXPECT_LE(took, kSilence + kGrace + kSlack);
    }
  }
  void ExpectTheyMeetAgain() {
    house_->diary().WaitFor("up ledger epoch 2");
    EXPECT_TRUE(house_->system().Ask(tally_.ask(), {}, kDeadline).ok());
    EXPECT_EQ(watch_->downs(), 1);
    ledger_->diary().WaitFor("ended house epoch 1");
    EXPECT_EQ(ledger_->diary().Count("ended house epoch 1"), 1);
  }

  static std::string* why_not_;
  static TestCertificates* certificates_;
  std::unique_ptr<Neighbour> neighbour_;
  std::unique_ptr<RemoteNode> ledger_;
  std::unique_ptr<LocalNode> house_;
  TallyRef tally_;
  std::unique_ptr<Watch> watch_;
};
std::string* NetworkNamespaceTest::why_not_ = nullptr;
TestCertificates* NetworkNamespaceTest::certificates_ = nullptr;

TEST_F(NetworkNamespaceTest, ALinkThatComesBackWithinTheGraceLosesNothing) {
  constexpr int64_t kNumbers = 2000;
  Join(absl::Milliseconds(400), kLongGrace);
  Traffic traffic(*house_, tally_, kNumbers);
  size_t seen = 0;
  for (int i = 1; i <= 3; ++i) {
    traffic.WaitForTold(kNumbers * i / 10);
    Execute("ip link set trial0 down");
    house_->diary().WaitFor("suspect ledger", &seen);
    Execute("ip link set trial0 up");
    const MonotonicTime up = Now();
    Print("  resumed after", house_->diary().WaitFor("resumed ledger", &seen) - up);
  }
  traffic.ExpectAllCameInOrder();
  EXPECT_FALSE(watch_->is_down());
  EXPECT_EQ(house_->diary().Count("ended"), 0);
  EXPECT_EQ(ledger_->diary().Count("ended"), 0);
}

TEST_F(NetworkNamespaceTest, ALinkThatStaysDownIsDownAtBothEnds) {
  Join(kSilence, kGrace);
  const MonotonicTime began = Now();
  Execute("ip link set trial0 down");
  ExpectDownAtBothEnds(began);
  Execute("ip link set trial0 up");
  ExpectTheyMeetAgain();
}

TEST_F(NetworkNamespaceTest, ARouteThatSwallowsIsDownAtBothEnds) {
  Join(kSilence, kGrace);
  const MonotonicTime began = Now();
  Execute(absl::StrCat("ip route replace blackhole ", kTheirs, "/32"));
  ExpectDownAtBothEnds(began);
  Execute(absl::StrCat("ip route del blackhole ", kTheirs, "/32"));
  ExpectTheyMeetAgain();
}

TEST_F(NetworkNamespaceTest, OnASlowLinkSmallAsksPassWhileALargeMessageTravels) {
  constexpr int64_t kLoadBytes = 15 << 20;  // one of 16 MiB takes the whole allowance of the session (credit.h)
  Join(absl::Seconds(30), kLongGrace);
  // Five million bytes a second.
  Execute("tc qdisc add dev trial0 root tbf rate 40mbit burst 64kb latency 50ms");
  Tally::Bytes load;
  load.set_value(std::string(kLoadBytes, 'x'));
  const MonotonicTime began = Now();
  ASSERT_TRUE(tally_.load().Send(std::move(load)).ok());
  std::vector<absl::Duration> asks;
  while (house_->Report(tally_, 9) != "0 in order, 1 loads" && Now() - began < kDeadline) {
    const MonotonicTime asked = Now();
    const absl::Status answered = house_->system().Ask(tally_.ask(), {}, kDeadline).status();
    ASSERT_TRUE(answered.ok()) << answered << " after " << Now() - began;
    asks.push_back(Now() - asked);
  }
  const absl::Duration took = Now() - began;
  std::sort(asks.begin(), asks.end());
  ASSERT_FALSE(asks.empty());
  Print("  the large message", took);
  Print(absl::StrCat("  median of ", asks.size(), " asks meanwhile"), asks[asks.size() / 2]);
  EXPECT_GE(took, absl::Seconds(2)) << "the link was not slow";
  EXPECT_LE(asks[asks.size() / 2], took / 5);
  EXPECT_FALSE(watch_->is_down());
}

}  // namespace
}  // namespace understudy::net_testing
