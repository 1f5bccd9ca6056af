#include "understudy/actors/internal/system/local_registry.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <ctime>
#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/error.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/internal/system/unowned_names.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/test_system.h"

namespace understudy {
namespace {

using internal::UnownedNames;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(UnownedNamesTest, ANameIsRememberedUntilAnotherHasItsSlot) {
  using internal::UnnamedError;
  const uint32_t book = UnownedNames::Remember("book");
  EXPECT_EQ(UnownedNames::Remember("book"), book);
  EXPECT_GT(book, 0U);
  EXPECT_LE(book, Pid::kNameTagMax);
  EXPECT_EQ(UnownedNames::Find(book), "book");
  EXPECT_EQ(UnownedNames::Find(0), "") << "a name that was not given";
  uint32_t other = 0;
  int lots = 0;
  do {
    other = UnownedNames::Remember(absl::StrCat("lot-", ++lots));
  } while (other % limits::kUnownedNamesMax != book % limits::kUnownedNamesMax);
  EXPECT_EQ(UnownedNames::Find(book), "");
  EXPECT_EQ(UnnamedError(Pid::Unnamed(0, book)).message(), "NoName: no actor has that name");
  EXPECT_EQ(UnnamedError(Pid::Vacant(0, book)).message(),
            "Restarting: the actor with that name is being restarted by its supervisor");
}

TEST(UnownedNamesTest, ANameThatIsTooLongIsCut) {
  const std::string long_name(10 * limits::kNameBytesMax, 'x');
  const std::string found = UnownedNames::Find(UnownedNames::Remember(long_name));
  EXPECT_EQ(found.size(), limits::kNameBytesMax);
  EXPECT_THAT(found, HasSubstr("(cut: it had 2550 bytes)"));
}

// Notes each call, and answers each Publish with `answer`.
class NotingPublisher final : public NamePublisher {
 public:
  void Publish(const NameRecord& record, absl::AnyInvocable<void(absl::Status)> done) override {
    notes.push_back("publish " + record.name);
    std::move(done)(answer);
  }
  void Withdraw(absl::string_view name, Pid /*owner*/) override { notes.push_back(absl::StrCat("withdraw ", name)); }
  void Vacate(absl::string_view name, Pid /*owner*/) override { notes.push_back(absl::StrCat("vacate ", name)); }
  void Free(absl::string_view name) override { notes.push_back(absl::StrCat("free ", name)); }

  absl::Status answer;
  std::vector<std::string> notes;
};

class LocalRegistryTest : public ::testing::Test {
 protected:
  Pid NewPid(uint64_t serial) { return Pid(system_.node(), 1, serial); }
  NameRecord Record(std::string name, Pid pid, NameScope scope = NameScope::kNode) {
    return {.name = std::move(name), .pid = pid, .scope = scope};
  }
  Registry::Listener Note() {
    return [this](absl::string_view name, const NameRecord* record) {
      notes_.push_back(absl::StrCat(name, record == nullptr ? " free" : absl::StrCat(" ", record->pid.serial())));
    };
  }
  std::vector<std::string> Names(absl::string_view prefix) {
    std::vector<std::string> names;
    for (const NameRecord& record : registry().List(prefix)) names.push_back(record.name);
    return names;
  }
  Registry& registry() { return system_.registry(); }

  TestSystem system_;
  std::vector<std::string> notes_;
};

TEST_F(LocalRegistryTest, ANameBelongsToOneAndTheErrorSaysToWhom) {
  const Pid first = NewPid(1);
  EXPECT_TRUE(registry().Insert(Record("book", first)).ok());
  EXPECT_TRUE(registry().Insert(Record("book", first)).ok()) << "it has it already";
  const absl::Status taken = registry().Insert(Record("book", NewPid(2)));
  EXPECT_EQ(taken.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(taken.message()), HasSubstr(first.ToString()));
  EXPECT_EQ(registry().Find("book")->pid, first);
  EXPECT_EQ(registry().Find("boo"), absl::nullopt);
}

TEST_F(LocalRegistryTest, APageHasTheNextNamesInOrderWhateverTheirBytes) {
  for (const char* name : {"a/1", "a/2", "a/\xff", "a", "b"}) {
    ASSERT_TRUE(registry().Insert(Record(name, NewPid(1))).ok());
  }
  const auto page = [&](absl::string_view prefix, absl::string_view after, size_t at_most) {
    std::vector<std::string> names;
    for (const NameRecord& record : registry().Page(prefix, after, at_most)) names.push_back(record.name);
    return names;
  };
  EXPECT_THAT(page("", "", 2), ElementsAre("a", "a/1"));
  EXPECT_THAT(page("", "a/1", 2), ElementsAre("a/2", "a/\xff"));
  EXPECT_THAT(page("", "a/\xff", 2), ElementsAre("b"));
  EXPECT_THAT(page("a/", "", 2), ElementsAre("a/1", "a/2"));
  EXPECT_THAT(page("a/", "a/2", 9), ElementsAre("a/\xff"));
  EXPECT_THAT(page("a/", "b", 9), IsEmpty());
  EXPECT_THAT(page("a/", "\xff\xff", 9), IsEmpty());
}

TEST_F(LocalRegistryTest, TheNamesOfAnOwnerAreTold) {
  for (const char* name : {"b", "a"}) ASSERT_TRUE(registry().Insert(Record(name, NewPid(1))).ok());
  ASSERT_TRUE(registry().Insert(Record("c", NewPid(2))).ok());
  EXPECT_THAT(registry().NamesOf(NewPid(1)), ElementsAre("a", "b"));
  registry().Remove("a", NewPid(1));
  EXPECT_THAT(registry().NamesOf(NewPid(1)), ElementsAre("b"));
  EXPECT_THAT(registry().NamesOf(NewPid(3)), IsEmpty());
}

TEST_F(LocalRegistryTest, OnlyItsOwnerRemovesAName) {
  ASSERT_TRUE(registry().Insert(Record("book", NewPid(1))).ok());
  registry().Remove("book", NewPid(2));
  EXPECT_TRUE(registry().Find("book").has_value());
  registry().Remove("book", NewPid(1));
  EXPECT_FALSE(registry().Find("book").has_value());
  registry().Remove("book", NewPid(1));
}

TEST_F(LocalRegistryTest, RemoveAllFreesTheNamesOfOneOwner) {
  for (const char* name : {"a", "c", "b"}) ASSERT_TRUE(registry().Insert(Record(name, NewPid(1))).ok());
  ASSERT_TRUE(registry().Insert(Record("d", NewPid(2))).ok());
  registry().RemoveAll(NewPid(1), ExitReason::Normal());
  EXPECT_THAT(Names(""), ElementsAre("d"));
}

TEST_F(LocalRegistryTest, ListsByPrefixInOrder) {
  for (const char* name : {"auction/2", "auction/1", "book", "auction", "auctions"}) {
    ASSERT_TRUE(registry().Insert(Record(name, NewPid(1))).ok());
  }
  EXPECT_THAT(Names("auction/"), ElementsAre("auction/1", "auction/2"));
}

TEST_F(LocalRegistryTest, AWatchTellsThePresentOwnerAndEachChangeInOrder) {
  ASSERT_TRUE(registry().Insert(Record("book", NewPid(1))).ok());
  const uint64_t watch = registry().Watch("book", Note());
  registry().Remove("book", NewPid(1));
  ASSERT_TRUE(registry().Insert(Record("book", NewPid(2))).ok());
  ASSERT_TRUE(registry().Insert(Record("other", NewPid(3))).ok());
  registry().Unwatch(watch);
  registry().Remove("book", NewPid(2));
  EXPECT_THAT(notes_, ElementsAre("book 1", "book free", "book 2"));
}

TEST_F(LocalRegistryTest, AnEmptyNameWatchesAll) {
  ASSERT_TRUE(registry().Insert(Record("b", NewPid(1))).ok());
  ASSERT_TRUE(registry().Insert(Record("a", NewPid(1))).ok());
  registry().Watch("", Note());
  registry().RemoveAll(NewPid(1), ExitReason::Normal());
  EXPECT_THAT(notes_, ElementsAre("a 1", "b 1", "a free", "b free"));
}

TEST_F(LocalRegistryTest, AWatchThatHasEndedIsToldNothingAndOthersOfTheNameAre) {
  std::vector<std::string> others;
  const uint64_t ended = registry().Watch("book", Note());
  registry().Watch("book", [&](absl::string_view name, const NameRecord*) { others.emplace_back(name); });
  registry().Unwatch(ended);
  registry().Unwatch(ended);
  ASSERT_TRUE(registry().Insert(Record("book", NewPid(1), NameScope::kNode)).ok());
  EXPECT_THAT(notes_, IsEmpty());
  EXPECT_THAT(others, ElementsAre("book"));
}

TEST_F(LocalRegistryTest, AWatchOfANameCostsNoMoreWhenThereAreManyNames) {
  const auto watching = [&] {
    const std::clock_t began = std::clock();
    for (int i = 0; i < 200; ++i) registry().Unwatch(registry().Watch("absent", Note()));
    return std::clock() - began;
  };
  std::clock_t few = std::numeric_limits<std::clock_t>::max();
  for (int i = 0; i < 5; ++i) few = std::min(few, watching());
  for (int i = 0; i < 50'000; ++i) {
    ASSERT_TRUE(registry().Insert(Record(absl::StrCat("name-", i), NewPid(1), NameScope::kNode)).ok());
  }
  EXPECT_LT(watching(), 100 * (few + 1));
}

TEST_F(LocalRegistryTest, AListenerMayReadTheRegistry) {
  bool was_there = false;
  registry().Watch("book",
                   [&](absl::string_view name, const NameRecord*) { was_there = registry().Find(name).has_value(); });
  ASSERT_TRUE(registry().Insert(Record("book", NewPid(1))).ok());
  EXPECT_TRUE(was_there);
}

TEST_F(LocalRegistryTest, OnlyPublishedNamesOfItsOwnActorsAreWithdrawn) {
  NotingPublisher publisher;
  system_.InstallPublisher(&publisher);
  ASSERT_TRUE(registry().Insert(Record("mine", NewPid(1), NameScope::kCluster)).ok());
  ASSERT_TRUE(registry().Insert(Record("private", NewPid(1))).ok());
  const Pid stranger(*system_.InternPeer("far", {7}), 1, 1);
  ASSERT_TRUE(registry().Insert(Record("theirs", stranger, NameScope::kCluster)).ok());
  registry().RemoveAll(NewPid(1), ExitReason::Normal());
  registry().RemoveAll(stranger, ExitReason::Normal());
  EXPECT_THAT(publisher.notes, ElementsAre("withdraw mine"));
  system_.InstallPublisher(nullptr);
}

TEST_F(LocalRegistryTest, ANameOfTheClusterThatANameOfTheNodeHidesIsShownWhenThatGoes) {
  const NodePlace far = *system_.InternPeer("far", {7});
  const Pid first(far, 1, 1);
  const Pid second(far, 1, 2);
  registry().Watch("book", Note());
  ASSERT_TRUE(registry().Insert(Record("book", NewPid(9))).ok());
  EXPECT_TRUE(absl::IsAlreadyExists(registry().Insert(Record("book", first, NameScope::kCluster))));
  registry().Remove("book", first);  // its owner gave it up
  EXPECT_TRUE(absl::IsAlreadyExists(registry().Insert(Record("book", second, NameScope::kCluster))));
  EXPECT_EQ(registry().Find("book")->pid, NewPid(9));
  registry().RemoveAll(NewPid(9), ExitReason::Normal());
  EXPECT_EQ(registry().Find("book")->pid, second);
  registry().Remove("book", second);
  EXPECT_FALSE(registry().Find("book").has_value());
  EXPECT_THAT(notes_, ElementsAre("book 9", "book free", "book 2", "book free"));
}

TEST_F(LocalRegistryTest, ANameOfTheNodeThatIsPublishedLaterIsWithdrawnAtTheEnd) {
  NotingPublisher publisher;
  system_.InstallPublisher(&publisher);
  ASSERT_TRUE(registry().Insert(Record("book", NewPid(1))).ok());
  ASSERT_TRUE(registry().Insert(Record("book", NewPid(1), NameScope::kCluster)).ok());
  registry().RemoveAll(NewPid(1), ExitReason::Normal());
  EXPECT_THAT(publisher.notes, ElementsAre("withdraw book"));
  system_.InstallPublisher(nullptr);
}

// The keeper has serial 7, and owners that it spawns have it in their records.
class KeptNameTest : public LocalRegistryTest {
 protected:
  NameRecord Kept(std::string name, uint64_t serial, NameScope scope = NameScope::kCluster) {
    NameRecord record = Record(std::move(name), NewPid(serial), scope);
    record.kept_by = NewPid(7);
    return record;
  }
  void Keep(std::string name, NameKeep::After after = NameKeep::After::kAnyEnd) {
    registry().Keep({.name = std::move(name), .keeper = NewPid(7), .scope = NameScope::kCluster, .after = after});
  }
  void SetUp() override { system_.InstallPublisher(&publisher_); }
  void TearDown() override { system_.InstallPublisher(nullptr); }

  NotingPublisher publisher_;
};

TEST_F(KeptNameTest, IsVacantFromTheEndOfItsOwnerToTheNextOne) {
  registry().Watch("book", Note());
  Keep("book");
  EXPECT_FALSE(registry().IsVacant("book")) << "nobody has had it";
  ASSERT_TRUE(registry().Insert(Kept("book", 1)).ok());
  EXPECT_FALSE(registry().IsVacant("book"));
  registry().RemoveAll(NewPid(1), ExitReason::Normal());
  EXPECT_TRUE(registry().IsVacant("book"));
  EXPECT_TRUE(IsRestarting(NoOwnerError(registry(), "book")));
  ASSERT_TRUE(registry().Insert(Kept("book", 2)).ok());
  EXPECT_FALSE(registry().IsVacant("book"));
  registry().Remove("book", NewPid(2));
  EXPECT_FALSE(registry().IsVacant("book")) << "the owner, which lives, gave it up";
  EXPECT_TRUE(IsNoName(NoOwnerError(registry(), "book")));
  EXPECT_THAT(notes_, ElementsAre("book 1", "book free", "book 2", "book free"));
  EXPECT_THAT(publisher_.notes, ElementsAre("vacate book", "withdraw book"));
}

TEST_F(KeptNameTest, ALookFindsTheOwnerOrTheVacancyWhileTheOwnerChanges) {
  Keep("book");
  ASSERT_TRUE(registry().Insert(Kept("book", 1)).ok());
  std::atomic<bool> is_over{false};
  std::thread changing([&] {
    for (int i = 0; i < 20'000; ++i) {
      registry().RemoveAll(NewPid(1), ExitReason::Normal());
      EXPECT_TRUE(registry().Insert(Kept("book", 1)).ok());
    }
    is_over.store(true);
  });
  int neither = 0;
  while (!is_over.load()) {
    const Registry::NameLook look = registry().Look("book");
    if (look.owner.has_value() == look.is_vacant) ++neither;
  }
  changing.join();
  EXPECT_EQ(neither, 0);
}

TEST_F(KeptNameTest, IsRefusedToOthersOfThisNodeAndNotToAnotherNode) {
  Keep("book");
  ASSERT_TRUE(registry().Insert(Kept("book", 1)).ok());
  registry().RemoveAll(NewPid(1), ExitReason::Normal());
  const absl::Status refused = registry().Insert(Record("book", NewPid(2)));
  EXPECT_TRUE(absl::IsAlreadyExists(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("restarting"));
  const Pid stranger(*system_.InternPeer("far", {7}), 1, 1);
  ASSERT_TRUE(registry().Insert(Record("book", stranger, NameScope::kCluster)).ok());
  EXPECT_FALSE(registry().IsVacant("book")) << "a live owner wins over a vacancy";
  registry().Remove("book", stranger);
  EXPECT_TRUE(registry().IsVacant("book"));
}

TEST_F(KeptNameTest, IsFreeAfterAnEndThatItIsNotKeptAfter) {
  Keep("book", NameKeep::After::kAbnormalEnd);
  for (const ExitReason& end :
       {ExitReason::Normal(), ExitReason::Shutdown(), ExitReason::NameConflict("book"), ExitReason::NameLost("book")}) {
    ASSERT_TRUE(registry().Insert(Kept("book", 1)).ok());
    registry().RemoveAll(NewPid(1), end);
    EXPECT_FALSE(registry().IsVacant("book")) << end.ToString();
  }
  for (const ExitReason& end : {ExitReason::Killed(), ExitReason::NameConflict("other")}) {
    ASSERT_TRUE(registry().Insert(Kept("book", 1)).ok());
    registry().RemoveAll(NewPid(1), end);
    EXPECT_TRUE(registry().IsVacant("book")) << end.ToString();
  }
}

TEST_F(KeptNameTest, GoesWithItsKeeperWhoIsTheFirst) {
  Keep("book");
  registry().Keep({.name = "book", .keeper = NewPid(8)});
  registry().Free("book", NewPid(8));
  ASSERT_TRUE(registry().Insert(Kept("book", 1)).ok());
  registry().RemoveAll(NewPid(1), ExitReason::Normal());
  EXPECT_TRUE(registry().IsVacant("book"));
  registry().RemoveAll(NewPid(7), ExitReason::Killed());
  EXPECT_FALSE(registry().IsVacant("book"));
  EXPECT_TRUE(registry().Insert(Record("book", NewPid(2))).ok());
  EXPECT_THAT(publisher_.notes, ElementsAre("vacate book", "free book"));
}

TEST_F(KeptNameTest, OfAnOwnerElsewhereIsVacantAtOnce) {
  registry().Keep({.name = "book", .keeper = NewPid(7), .scope = NameScope::kCluster, .is_elsewhere = true});
  EXPECT_TRUE(registry().IsVacant("book"));
  ASSERT_TRUE(registry().Insert(Kept("book", 1)).ok()) << "its node may be this one";
  registry().RemoveAll(NewPid(1), ExitReason::Normal());
  EXPECT_TRUE(registry().IsVacant("book"));
  registry().Free("book", NewPid(7));
  EXPECT_FALSE(registry().IsVacant("book"));
  EXPECT_THAT(publisher_.notes, ElementsAre("vacate book", "vacate book", "free book"));
}

TEST_F(KeptNameTest, OnAnotherNodeIsFreeToActorsOfThisOne) {
  registry().SetVacantElsewhere("book", true);
  EXPECT_TRUE(registry().IsVacant("book"));
  ASSERT_TRUE(registry().Insert(Record("book", NewPid(1))).ok());
  EXPECT_FALSE(registry().IsVacant("book"));
  registry().RemoveAll(NewPid(1), ExitReason::Normal());
  EXPECT_TRUE(registry().IsVacant("book"));
  registry().SetVacantElsewhere("book", false);
  EXPECT_FALSE(registry().IsVacant("book"));
}

TEST_F(LocalRegistryTest, RefusesWhatIsNoName) {
  for (const std::string& name : {std::string(), std::string(limits::kNameBytesMax + 1, 'x'), std::string("a\nb")}) {
    EXPECT_EQ(registry().Insert(Record(name, NewPid(1))).code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_TRUE(registry().Insert(Record(std::string(limits::kNameBytesMax, 'x'), NewPid(1))).ok());
}

TEST(CheckMailboxesTest, ComparesWhatIsUsedMailboxByMailbox) {
  // semantics 8.5
  const MailboxSignature add{.name = "add", .request = "int"};
  const MailboxSignature total{.name = "total", .is_call = true, .request = "Q", .reply = "R"};
  EXPECT_TRUE(CheckMailboxes({add}, {total, add}).ok()) << "extra mailboxes pass";
  EXPECT_TRUE(CheckMailboxes({add}, {}).ok()) << "unknown passes";
  const absl::Status missing = CheckMailboxes({add}, {total});
  EXPECT_EQ(missing.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(missing.message()), HasSubstr("no mailbox add"));
  MailboxSignature other = total;
  other.reply = "S";
  EXPECT_THAT(std::string(CheckMailboxes({total}, {other}).message()),
              HasSubstr("mailbox total takes Q -> S, not Q -> R"));
  MailboxSignature misread = total;
  misread.misread = "field R.n, number 1, was int64 and is string";
  EXPECT_EQ(
      CheckMailboxes({add, total}, {misread}).message(),
      "the actor has no mailbox add; mailbox total differs on the actor's node (was: here, is: there): field R.n, "
      "number 1, was int64 and is string");
  EXPECT_TRUE(CheckMailboxes({add}, {misread, add}).ok()) << "a mailbox that is not used may differ";
}

TEST_F(LocalRegistryTest, AnInvalidNameIsRefusedWithTheReason) {
  const auto says = [](absl::string_view name) { return std::string(ValidateName(name).message()); };
  EXPECT_EQ(says(""), "a name is empty; it has 1 byte or more");
  EXPECT_EQ(says("a\nb"), "the name 'a\\nb' has a control character; take printable ones");
  EXPECT_EQ(says(std::string(limits::kNameBytesMax + 1, 'x')),
            absl::StrCat("a name has ", limits::kNameBytesMax + 1, " bytes; at most ", limits::kNameBytesMax,
                         " are allowed"));
  EXPECT_TRUE(ValidateName("caf\u00e9").ok());
}

}  // namespace
}  // namespace understudy
