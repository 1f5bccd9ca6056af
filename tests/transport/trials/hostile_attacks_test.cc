// Peers that complete a handshake and then attack. Each attack is a function over a raw session with the node ledger,
// by a client whose name nothing proves and by one with a certificate. The end of the client's session or a counter of
// ledger's shows that the attack reached its target. The checks after an attack are the same for all: the honest peer's
// messages come in order on its first session, the node's memory has hardly grown, and its descriptors are released.
#include <stdlib.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/room.h"
#include "understudy/actors/testing/sanitized.h"
#include "understudy/proto/envelope.pb.h"
#include "understudy/proto/names.pb.h"
#include "understudy/tests/transport/hello.h"
#include "understudy/tests/transport/trials/hostile.h"
#include "understudy/tests/transport/trials/tally_actor.h"
#include "understudy/tests/transport/trials/trial.h"
#include "understudy/transport/codec/credit.h"
#include "understudy/transport/codec/credit_codec.h"
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/names/name_limits.h"
#include "understudy/transport/node.h"

namespace understudy::net_testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A node that joins ledger, and whose frames the test writes itself. It reads only until a frame for which it waits,
// and acknowledges none.
class Guest {
 public:
  Guest(const std::string& address, absl::string_view name, uint64_t incarnation, absl::string_view certificates = "")
      : stream_(address, certificates, name) {
    nodes_ = {.local_node = kGuest, .local = {incarnation}, .peer_node = kLedger, .peer = {}};
    EXPECT_TRUE(stream_.Write(FrameOf(HelloFrom(name, incarnation, "ledger"))));
    const absl::StatusOr<proto::Frame> welcome = DecodeFrame(stream_.Read());
    is_welcome_ = welcome.ok() && welcome->has_welcome();
    if (!is_welcome_) return;
    epoch_ = welcome->epoch();
    nodes_.peer = {welcome->welcome().incarnation()};
    EXPECT_TRUE(stream_.Write(HeartbeatFrame(epoch_)));
  }

  bool is_welcome() const { return is_welcome_; }
  const NodePair& nodes() const { return nodes_; }
  // An actor of the guest, which need not be.
  Pid Own(uint64_t serial) const { return Pid(kGuest, 1, serial); }
  // Returns an invented pid of ledger, whose address no node was given.
  Pid Invented(uint64_t serial) const { return Pid(kLedger, 77, serial); }
  // Reads frames of ledger until `is_it` is true for an envelope. Returns false if the stream ends before.
  bool ReadUntil(const std::function<bool(const proto::Envelope&)>& is_it) {
    while (true) {
      const std::string bytes = stream_.Read();
      const absl::StatusOr<proto::Frame> frame = DecodeFrame(bytes);
      if (bytes.empty() || !frame.ok()) return false;
      bool is_found = false;
      for (const proto::Slot& slot : frame->slots()) {
        proto::Envelope envelope;
        if (envelope.ParseFromString(slot.body()) && is_it(envelope)) is_found = true;
      }
      if (is_found) return true;
    }
  }
  // Reads until `is_it` is true for a change of names.
  bool ReadUntilChange(const std::function<bool(const proto::NameChange&)>& is_it) {
    return ReadUntil([&](const proto::Envelope& envelope) {
      proto::NameChanges names;
      if (!names.ParseFromString(envelope.names())) return false;
      return std::any_of(names.changes().begin(), names.changes().end(), is_it);
    });
  }
  // Reads until ledger has taken in all that was sent, or has ended the session.
  void WaitUntilTakenIn() {
    std::string bytes;
    do {
      bytes = stream_.Read();
      const absl::StatusOr<proto::Frame> frame = DecodeFrame(bytes);
      if (frame.ok() && frame->acknowledged() + 1 >= next_) return;
    } while (!bytes.empty());
  }
  // Reads until ledger has told the address of its tally.
  Pid Tally() {
    Pid tally;
    EXPECT_TRUE(ReadUntilChange([&](const proto::NameChange& change) {
      if (change.claim().name() != "ledger/tally") return false;
      tally = Pid(kLedger, change.claim().cell(), change.claim().serial());
      return true;
    }));
    return tally;
  }

  // A part of names, when ledger has taken so many of those before that it may be sent.
  bool TellNames(const proto::NameChanges& names) {
    const bool is_taken =
        parts_untaken_ < limits::kNamePartsUntakenMax || ReadUntil([&](const proto::Envelope& envelope) {
          proto::NameChanges told;
          if (told.ParseFromString(envelope.names())) parts_untaken_ -= told.taken();
          return parts_untaken_ < limits::kNamePartsUntakenMax;
        });
    ++parts_untaken_;
    return is_taken && Send(EncodeNames(names));
  }

  // False when the stream is over. One larger than a slot goes in parts.
  bool Send(absl::string_view envelope) {
    for (size_t at = 0; at == 0 || at < envelope.size(); at += limits::kSlotBytesMax) {
      SlotView slot{.body = envelope.substr(at, limits::kSlotBytesMax)};
      slot.continues = at + slot.body.size() < envelope.size();
      slot.part_of = envelope.size() > limits::kSlotBytesMax ? 1 : 0;
      if (!SendSlots({slot})) return false;
    }
    return true;
  }
  // Many small ones, as many in a frame as it holds.
  bool SendAll(const std::vector<std::string>& envelopes) {
    std::vector<SlotView> slots;
    size_t bytes = 0;
    for (const std::string& envelope : envelopes) {
      if (bytes + envelope.size() + 32 > limits::kSlotBytesMax) {
        if (!SendSlots(std::exchange(slots, {}))) return false;
        bytes = 0;
      }
      slots.push_back({.body = envelope});
      bytes += envelope.size() + 32;
    }
    return SendSlots(slots);
  }
  // A tell or an ask to a mailbox of Tally's service, the same one each time: only the first defines it.
  bool SendMessage(Pid to, absl::string_view mailbox, absl::string_view payload, Admission admission,
                   uint64_t ask = 0) {
    const std::string name = absl::StrCat(TallyActor::kService, "/", mailbox);
    const uint32_t hash = internal::MailboxNames::Intern(name);
    const absl::StatusOr<std::string> envelope = EncodeMessage(nodes_, Own(1), to, hash, ask, payload, admission);
    const MailboxDefinition definition{.hash = hash, .name = name};
    return SendSlots({{.body = *envelope}}, std::exchange(is_defined_, true) ? nullptr : &definition);
  }

 private:
  // Places that no node of this process has: addresses go as they came, under no key.
  static constexpr uint16_t kGuest = 60'001;
  static constexpr uint16_t kLedger = 60'002;

  bool SendSlots(const std::vector<SlotView>& slots, const MailboxDefinition* definition = nullptr) {
    FramePacker packer(epoch_, 0);
    for (const SlotView& slot : slots) EXPECT_TRUE(packer.Add(next_++, slot, definition));
    return stream_.Write(packer.Encode());
  }

  RawStream stream_;
  NodePair nodes_;
  bool is_welcome_ = false;
  bool is_defined_ = false;
  uint32_t parts_untaken_ = 0;
  uint64_t epoch_ = 0;
  uint64_t next_ = 1;
};

// ---- The attacks ----

struct Attack {
  const char* name;
  void (*run)(Guest& guest);
  // The reason for which ledger must end the session, or null.
  const char* ended_for = nullptr;
  // Else a line of ledger's status, and between which numbers it must come to be meanwhile.
  const char* counter = "";
  int64_t least = 0;
  int64_t most = least;
};

// googletest would print its bytes, which differ from run to run.
void PrintTo(const Attack& attack, std::ostream* out) { *out << attack.name; }

// This claim would end the owner of the name if the guest had the grant.
void ClaimTheNameOfAnOlderOwner(Guest& guest) {
  proto::NameChanges names;
  proto::NameClaim& claim = *names.add_changes()->mutable_claim();
  claim.set_name("ledger/tally");
  claim.set_cell(1);
  claim.set_serial(1);
  claim.set_number(1);
  claim.set_age_nanos(absl::ToInt64Nanoseconds(absl::Hours(24 * 365)));
  EXPECT_TRUE(guest.Send(EncodeNames(names)));
  EXPECT_TRUE(guest.ReadUntilChange([](const proto::NameChange& change) { return change.has_refusal(); }));
}

void ClaimNamesOfOthers(Guest& guest) {
  for (int part = 0; part < 400; ++part) {
    proto::NameChanges names;
    for (int i = 0; i < 400; ++i) {
      proto::NameClaim& claim = *names.add_changes()->mutable_claim();
      claim.set_name(absl::StrCat("house/", part, "/", i, std::string(80, '.')));
      claim.set_cell(1);
      claim.set_serial(1);
      claim.set_number(static_cast<uint64_t>(part) * 400 + i + 1);
    }
    if (!guest.TellNames(names)) return;
  }
}

void DefineSetsOfMailboxesOfAMebibyte(Guest& guest) {
  for (uint32_t set = 1; set <= 40; ++set) {
    proto::NameChanges names;
    proto::SignatureSet& signatures = *names.add_definitions();
    signatures.set_number(set);
    for (int i = 0; i < 16; ++i)
      signatures.add_mailboxes()->set_name(std::string(64 << 10, static_cast<char>('a' + i)));
    if (!guest.Send(EncodeNames(names))) return;
  }
}

// The first are each as large as one may be, and more than there is room for. The others are empty.
void DefineMoreSetsOfMailboxesThanANodeMayHave(Guest& guest) {
  uint32_t set = 0;
  while (set < 300) {
    proto::NameChanges names;
    proto::SignatureSet& signatures = *names.add_definitions();
    signatures.set_number(++set);
    for (int i = 0; i < limits::kMailboxesPerActorMax; ++i)
      signatures.add_mailboxes()->set_name(std::string(limits::kMailboxNameBytesMax, 'm'));
    if (!guest.TellNames(names)) return;
  }
  while (set <= limits::kNameSignatureSetsMax) {
    proto::NameChanges names;
    for (int i = 0; i < 1000; ++i) names.add_definitions()->set_number(++set);
    if (!guest.TellNames(names)) return;
  }
}

void FillAClosedMailbox(Guest& guest, Admission admission) {
  const Pid tally = guest.Tally();
  Tally::Bytes message;
  message.set_value(std::string(50'000, 'x'));
  const std::string payload = message.SerializeAsString();
  for (int i = 0; i < 1000; ++i) {
    if (!guest.SendMessage(tally, "Shut", payload, admission)) return;
  }
}
void FillAClosedMailboxByAllowance(Guest& guest) { FillAClosedMailbox(guest, Admission::kAllowance); }
void FillAClosedMailboxByCreditThatWasNotGranted(Guest& guest) { FillAClosedMailbox(guest, Admission::kReserved); }

// A Down for each tells that there is no such actor, and ledger keeps those that are not acknowledged.
void MonitorInventedActors(Guest& guest) {
  for (uint64_t round = 0; round < 50; ++round) {
    std::vector<std::string> envelopes;
    for (uint64_t i = 1; i <= 1000; ++i) {
      const uint64_t id = round * 1000 + i;
      envelopes.push_back(EncodeSignal(
          guest.nodes(), {.kind = SignalKind::kMonitor, .from = guest.Own(1), .to = guest.Invented(id), .id = id}));
    }
    if (!guest.SendAll(envelopes)) return;
  }
}

void MonitorOneActorAgainAndAgain(Guest& guest) {
  const Pid tally = guest.Tally();
  for (uint64_t round = 0; round < 50; ++round) {
    std::vector<std::string> envelopes;
    for (uint64_t i = 1; i <= 1000; ++i) {
      envelopes.push_back(EncodeSignal(
          guest.nodes(),
          {.kind = SignalKind::kMonitor, .from = guest.Own(round + 1), .to = tally, .id = round * 1000 + i}));
    }
    if (!guest.SendAll(envelopes)) return;
  }
  // Ledger counts a demonitor without its monitor as late. Of these the last one is.
  std::vector<std::string> envelopes;
  for (uint64_t round = 0; round <= 50; ++round) {
    envelopes.push_back(EncodeSignal(
        guest.nodes(),
        {.kind = SignalKind::kDemonitor, .from = guest.Own(round + 1), .to = tally, .id = round * 1000 + 1}));
  }
  EXPECT_TRUE(guest.SendAll(envelopes));
}

void GrantCreditForInventedMailboxes(Guest& guest) {
  for (uint32_t round = 0; round < 200; ++round) {
    CreditChanges changes;
    for (uint32_t i = 0; i < kCreditChangesMax; ++i) {
      changes.push_back({.kind = CreditChange::Kind::kGrant,
                         .to = guest.Own(round * kCreditChangesMax + i + 1),
                         .mailbox = i + 1,
                         .granted = {.messages = 1, .bytes = 1}});
    }
    if (!guest.Send(EncodeCredit(guest.nodes(), changes))) return;
  }
}

// In one envelope of 32 MiB: each change takes 2 bytes of it, and 50 times as many once protobuf has parsed it.
void ChangeCreditByNothingSixteenMillionTimes(Guest& guest) {
  std::string envelope("\x22\x80\x80\x80\x10");  // the field Envelope::credits, of 32 MiB
  for (int i = 0; i < 1 << 24; ++i) envelope.append("\x0a\0", 2);
  EXPECT_TRUE(guest.Send(envelope));
}

// Ledger keeps the answers until they are acknowledged. The guest keeps to its allowance.
void AskWithoutAcknowledgingTheAnswers(Guest& guest) {
  const Pid tally = guest.Tally();
  Tally::Number lane;
  lane.set_value(99);
  int64_t allowance = kCreditTerms.first_allowance.messages;
  for (uint64_t i = 1; i <= 2000; ++i) {
    if (!guest.SendMessage(tally, "Report", lane.SerializeAsString(), Admission::kAllowance, i)) return;
    if (--allowance > 0) continue;
    const bool is_returned = guest.ReadUntil([&](const proto::Envelope& envelope) {
      for (const proto::Credit& credit : envelope.credits().credits()) allowance += credit.allowance_messages();
      return allowance > 0;
    });
    if (!is_returned) return;
  }
}

constexpr Attack kAttacks[] = {
    {"ClaimTheNameOfAnOlderOwner", ClaimTheNameOfAnOlderOwner, nullptr, "guest claims_refused", 1},
    {"ClaimNamesOfOthers", ClaimNamesOfOthers, nullptr, "guest claims_refused", 160'000},
    {"DefineSetsOfMailboxesOfAMebibyte", DefineSetsOfMailboxesOfAMebibyte,
     "1048714 bytes: at most 196608 are allowed without a payload"},
    {"DefineMoreSetsOfMailboxesThanANodeMayHave", DefineMoreSetsOfMailboxesThanANodeMayHave,
     "at most 16384 different sets of mailboxes, of "},
    {"FillAClosedMailboxByAllowance", FillAClosedMailboxByAllowance, "that the peer has no credit for"},
    {"FillAClosedMailboxByCreditThatWasNotGranted", FillAClosedMailboxByCreditThatWasNotGranted,
     "that the peer has no credit for"},
    {"MonitorInventedActors", MonitorInventedActors, nullptr, "guest waiting", 50'000, 50'200},
    {"MonitorOneActorAgainAndAgain", MonitorOneActorAgainAndAgain, nullptr, "late", 1},
    {"GrantCreditForInventedMailboxes", GrantCreditForInventedMailboxes, "credit for 65537 mailboxes at once"},
    {"ChangeCreditByNothingSixteenMillionTimes", ChangeCreditByNothingSixteenMillionTimes,
     "33554437 bytes: at most 196608 are allowed without a payload"},
    {"AskWithoutAcknowledgingTheAnswers", AskWithoutAcknowledgingTheAnswers, nullptr, "guest waiting", 2000, 2200},
};

class HostileAttackTest : public HostileClientTest {
 protected:
  // Waits until that counter of ledger's is at least `least`, and gives it.
  int64_t AwaitCounter(absl::string_view name, int64_t least) {
    std::string text;
    int64_t value = -1;
    const bool has_come = Becomes([&] {
      const absl::StatusOr<Tally::Text> status = house_->system().Ask(tally_.status(), {}, kDeadline);
      text = status.ok() ? status->value() : status.status().ToString();
      for (absl::string_view line : absl::StrSplit(text, '\n')) {
        if (absl::ConsumePrefix(&line, name)) (void)absl::SimpleAtoi(line, &value);
      }
      return value >= least;
    });
    EXPECT_TRUE(has_come) << name << " is not " << least << " in\n" << text;
    return value;
  }
  // Measures the resources of ledger before and after `attack`, during which honest traffic goes on.
  void ExpectTheNodeIsUnharmedBy(const std::function<void()>& attack) {
    const int victim = ledger_->os_pid();
    const int64_t descriptors = DescriptorsOf(victim);
    const int64_t resident = ResidentBytesOf(victim);
    ExpectNoHarmBy(attack);
    EXPECT_TRUE(house_->system().Ask(tally_.ask(), {}, kDeadline).ok());
    EXPECT_TRUE(Becomes([&] { return DescriptorsOf(victim) <= descriptors + 8; })) << DescriptorsOf(victim);
    const int64_t grown = ResidentBytesOf(victim) - resident;
    printf("  the node's memory grew by %d KiB\n", static_cast<int>(grown / 1024));
    // A session may hold 16 MiB of messages and about as much of each other kind.
    if (!kIsSanitized) EXPECT_LE(grown, int64_t{48} << 20);
  }
};

class GuestTest : public HostileAttackTest, public ::testing::WithParamInterface<std::tuple<Attack, bool>> {};

INSTANTIATE_TEST_SUITE_P(Attacks, GuestTest, ::testing::Combine(::testing::ValuesIn(kAttacks), ::testing::Bool()),
                         [](const auto& made) {
                           return absl::StrCat(std::get<Attack>(made.param).name,
                                               std::get<bool>(made.param) ? "WithACertificate" : "");
                         });

TEST_P(GuestTest, ReachesItsAimAndHarmsNobody) {
  const Attack& attack = std::get<Attack>(GetParam());
  const bool has_certificate = std::get<bool>(GetParam());
  absl::optional<Certificates> certificates;
  if (has_certificate) certificates.emplace();
  Join(has_certificate ? &*certificates : nullptr);
  ExpectTheNodeIsUnharmedBy([&] {
    Guest guest(ledger_->address(), "guest", 4711, certificates.has_value() ? certificates->folder() : "");
    ASSERT_TRUE(guest.is_welcome());
    ledger_->diary().WaitFor("up guest");
    attack.run(guest);
    guest.WaitUntilTakenIn();
    if (attack.ended_for != nullptr) {
      ledger_->diary().WaitFor("ended guest");
      EXPECT_THAT(ledger_->diary().All("ended guest"), ElementsAre(HasSubstr(attack.ended_for)));
    } else {
      EXPECT_LE(AwaitCounter(attack.counter, attack.least), attack.most);
      EXPECT_EQ(ledger_->diary().Count("ended guest"), 0);
    }
  });
}

// Names that nothing proves have a quarter of the places, and a name that is proved finds one all the same.
TEST_F(HostileAttackTest, NamesThatNothingProvesDoNotTakeAllPlaces) {
  Join();
  ExpectTheNodeIsUnharmedBy([&] {
    std::vector<std::unique_ptr<Guest>> guests;
    int refused = 0;
    for (int i = 0; i < 300; ++i) {
      guests.push_back(
          std::make_unique<Guest>(ledger_->address(), absl::StrCat("guest-", i), static_cast<uint64_t>(1000 + i)));
      if (guests.back()->is_welcome()) continue;
      ++refused;
      guests.pop_back();
    }
    printf("  %d of 300 guests refused\n", refused);
    EXPECT_GE(guests.size(), limits::kPeersMax / 8);
    EXPECT_LE(guests.size(), limits::kPeersMax / 4);
  });
}

// ---- Strangers at a port with TLS ----

TEST_F(HostileAttackTest, StrangersWithoutAGoodCertificateGetNoWord) {
  Certificates ours;
  const Certificates theirs;
  Join(&ours);
  const std::string expired = absl::StrCat(ours.folder(), "/expired");
  std::filesystem::create_directory(expired);
  for (const char* file : {"ca.pem", "ca.key"}) {
    std::filesystem::copy(absl::StrCat(ours.folder(), "/", file), absl::StrCat(expired, "/", file));
  }
  ASSERT_EQ(system(absl::StrCat("tools/make_certs --days 0 ", expired, " mallory 2>/dev/null").c_str()), 0);
  // Whether openssl's client, with these options, is told anything by the node: gRPC's server speaks first.
  const auto is_spoken_to = [&](absl::string_view options) {
    return system(absl::StrCat("timeout 60 openssl s_client -quiet -alpn h2 -connect ", ledger_->address(), " ",
                               options, " </dev/null 2>/dev/null | grep -q .")
                      .c_str()) == 0;
  };
  const auto with = [](absl::string_view folder) {
    return absl::StrCat("-cert ", folder, "/mallory.pem -key ", folder, "/mallory.key");
  };
  ExpectTheNodeIsUnharmedBy([&] {
    EXPECT_TRUE(is_spoken_to(with(ours.folder()))) << "one with a good certificate";
    for (int i = 0; i < 5; ++i) {
      EXPECT_FALSE(is_spoken_to(with(theirs.folder())));
      EXPECT_FALSE(is_spoken_to(with(expired)));
      EXPECT_FALSE(is_spoken_to(""));
      RawStream plain(ledger_->address());
      plain.Write(FrameOf(HelloFrom("mallory", 4711, "ledger")));
      EXPECT_EQ(plain.Read(), "");
    }
  });
}

}  // namespace
}  // namespace understudy::net_testing
