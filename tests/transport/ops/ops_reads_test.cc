// The reads and the kept entries of the operator's service, without gRPC and in virtual time.
#include "understudy/transport/ops/ops_reads.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/error.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/printable_text.h"
#include "understudy/actors/registry.h"
#include "understudy/actors/test_system.h"
#include "understudy/proto/ops.pb.h"
#include "understudy/supervision/builders.h"
#include "understudy/tests/transport/ops/clerk.h"
#include "understudy/transport/node_status.h"
#include "understudy/transport/ops/kept_entries.h"
#include "understudy/transport/ops/ops_limits.h"
#include "understudy/transport/ops/top_scans.h"
#include "understudy/transport/session_times.h"

namespace understudy {
namespace {

using internal::FindActor;
using internal::KeptEntries;
using internal::TextOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

proto::ListActorsReply Top(ActorSystem& system, const proto::TopActorsRequest& request) {
  internal::TopScans scans(system);
  internal::TopScans::Share share;
  absl::optional<proto::ListActorsReply> reply;
  while (!reply.has_value()) reply = scans.Look(request, share);
  return *reply;
}

proto::ListActorsReply Actors(ActorSystem& system, const proto::ListActorsRequest& request) {
  internal::ActorSearch search(system, request);
  absl::optional<proto::ListActorsReply> reply;
  while (!reply.has_value()) reply = search.Look();
  return *reply;
}

TEST(FindActorTest, AnActorIsFoundByItsPidAndByItsNames) {
  TestSystem system;
  const Ref<Clerk> clerk = system.Spawn<Clerk>(SpawnOptions{.registered_as = "clerk"});
  system.RunUntilIdle();
  const std::string printed = clerk.pid().ToString();
  EXPECT_EQ(FindActor(system, printed).value_or(Pid()), clerk.pid());
  EXPECT_EQ(FindActor(system, printed.substr(1, printed.size() - 2)).value_or(Pid()), clerk.pid());
  EXPECT_EQ(FindActor(system, "clerk").value_or(Pid()), clerk.pid());
}

TEST(FindActorTest, ANameThatIsNotUtf8IsFoundAsAReplyHasIt) {
  TestSystem system;
  const Ref<Clerk> clerk = system.Spawn<Clerk>(SpawnOptions{.registered_as = "clerk/\xff\\"});
  system.RunUntilIdle();
  proto::ListNamesReply names = internal::ReadNames(system, proto::ListNamesRequest());
  ASSERT_THAT(names.names(), SizeIs(1));
  EXPECT_EQ(names.names(0).name(), R"(clerk/\xff\\)");
  EXPECT_EQ(FindActor(system, names.names(0).name()).value_or(Pid()), clerk.pid());
}

TEST(FindActorTest, AnErrorSaysWhatWasExpected) {
  TestSystem system;
  EXPECT_THAT(std::string(FindActor(system, "").status().message()), HasSubstr("expected a pid such as <house.7.42>"));
  for (const char* text : {"nobody", "<test.1.2", "<other.1.2>", "test.1.0", "test.99999999.1", "test.1.-2"}) {
    const absl::Status status = FindActor(system, text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kNotFound) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr("is neither a pid of node test nor a name"));
  }
}

// All names that the pages have, in order. At most `pages_max` pages.
std::vector<std::string> AllNames(ActorSystem& system, proto::ListNamesRequest request, int pages_max) {
  std::vector<std::string> names;
  for (int i = 0; i < pages_max; ++i) {
    const proto::ListNamesReply reply = internal::ReadNames(system, request);
    EXPECT_EQ(reply.has_more(), !reply.next().empty());
    for (const proto::NameDetails& name : reply.names()) names.push_back(name.name());
    if (!reply.has_more()) return names;
    request.set_page(reply.next());
  }
  ADD_FAILURE() << "there are more than " << pages_max << " pages";
  return names;
}

TEST(ReadNamesTest, PagesGoThroughAllNamesAlsoThoseThatAreNotUtf8) {
  TestSystem system;
  std::vector<std::string> names = {"a", "a\\", "b", "\xfe"};
  for (int i = 0; i < 20; ++i) names.push_back(absl::StrCat("c\xff", i));
  std::vector<std::string> expected;
  for (const std::string& name : names) {
    ASSERT_TRUE(system.registry().Insert({.name = name, .pid = Pid(system.node(), 1, 1)}).ok());
  }
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) expected.push_back(PrintableText(name));
  for (const uint32_t at_most : {1U, 2U, 3U, 1000U, 4'000'000'000U}) {
    proto::ListNamesRequest request;
    request.set_at_most(at_most);
    EXPECT_EQ(AllNames(system, request, 100), expected) << at_most;
  }
}

TEST(ReadNamesTest, APageThatNoReplyGaveIsAPlaceInTheOrder) {
  TestSystem system;
  ASSERT_TRUE(system.registry().Insert({.name = "b", .pid = Pid(system.node(), 1, 1)}).ok());
  proto::ListNamesRequest request;
  for (const absl::string_view page : {"a", "\x01", "aaaaaaaaaaaa"}) {
    request.set_page(std::string(page));
    EXPECT_THAT(internal::ReadNames(system, request).names(), SizeIs(1));
  }
  for (const absl::string_view page : {"b", "\xff\xff", "zzz"}) {
    request.set_page(std::string(page));
    EXPECT_THAT(internal::ReadNames(system, request).names(), SizeIs(0));
  }
}

TEST(ReadActorsTest, AnyPageAndSizeIsAnswered) {
  TestSystem system;
  for (int i = 0; i < 3; ++i) system.Spawn<Clerk>();
  system.RunUntilIdle();
  proto::ListActorsRequest request;
  request.set_at_most(UINT32_MAX);
  EXPECT_THAT(Actors(system, request).actors(), SizeIs(3));
  for (const uint64_t after : {uint64_t{1} << 31, uint64_t{UINT32_MAX}, UINT64_MAX - 1, UINT64_MAX}) {
    request.set_after(after);
    const proto::ListActorsReply reply = Actors(system, request);
    EXPECT_THAT(reply.actors(), SizeIs(0)) << after;
    EXPECT_EQ(reply.next(), 0U) << after;
  }
  request.set_after(0);
  request.set_state(static_cast<proto::ActorStateValue>(77));
  EXPECT_THAT(Actors(system, request).actors(), SizeIs(3)) << "an unknown state filters nothing";
}

TEST(ReadActorsTest, ASearchIsMadeInSlicesUntilAPageIsFullOrABoundIsReached) {
  TestSystem system;
  constexpr size_t kActors = 3 * limits::kActorsReadPerLookMax;
  for (size_t i = 0; i < kActors; ++i) system.Spawn<Clerk>();
  const Ref<Clerk> last = system.Spawn<Clerk>(SpawnOptions{.registered_as = "last"});
  system.RunUntilIdle();
  proto::ListActorsRequest request;
  request.set_text("last");
  internal::ActorSearch search(system, request);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(search.Look().has_value()) << i;
  const absl::optional<proto::ListActorsReply> reply = search.Look();
  ASSERT_TRUE(reply.has_value());
  ASSERT_THAT(reply->actors(), SizeIs(1));
  EXPECT_EQ(reply->actors(0).pid(), TextOf(last.pid()));
  EXPECT_EQ(reply->next(), 0U);
  request.set_text("Clerk");
  request.set_at_most(limits::kActorsPerPageMax);
  EXPECT_THAT(Actors(system, request).actors(), SizeIs(limits::kActorsPerPageMax));
  request.set_text("nobody");
  for (size_t i = kActors; i < limits::kOpsActorsPerSearchMax; ++i) system.Spawn<Clerk>();
  system.RunUntilIdle();
  const proto::ListActorsReply nobody = Actors(system, request);
  EXPECT_THAT(nobody.actors(), SizeIs(0));
  EXPECT_EQ(nobody.next(), limits::kOpsActorsPerSearchMax);
}

TEST(ReadActorsTest, AReplyIsBoundedInBytesAndTheNextOneGoesOn) {
  TestSystem system;
  constexpr int kActors = 1000;
  std::vector<Ref<Clerk>> clerks;
  for (int i = 0; i < kActors; ++i) {
    clerks.push_back(system.Spawn<Clerk>(SpawnOptions{.label = std::string(100'000, '\x1b')}));
  }
  system.RunUntilIdle();
  proto::ListActorsRequest request;
  request.set_at_most(kActors);
  std::set<std::string> pids;
  int pages = 0;
  do {
    const proto::ListActorsReply reply = Actors(system, request);
    EXPECT_LE(reply.ByteSizeLong(), limits::kOpsReplyBytesMax);
    for (const proto::ActorDetails& actor : reply.actors()) EXPECT_TRUE(pids.insert(actor.pid()).second);
    request.set_after(reply.next());
    ++pages;
  } while (request.after() != 0 && pages < 100);
  EXPECT_THAT(pids, SizeIs(kActors));
  EXPECT_GT(pages, 1);
  proto::TopActorsRequest top;
  top.set_at_most(UINT32_MAX);
  EXPECT_THAT(Top(system, top).actors(), SizeIs(0)) << "none has mail";
  for (const Ref<Clerk>& clerk : clerks) {
    system.Suspend(clerk.pid(), absl::Minutes(1));
    clerk[&Clerk::file].Tell(1);
  }
  system.RunUntilIdle();
  const proto::ListActorsReply reply = Top(system, top);
  EXPECT_GT(reply.actors_size(), 100);
  EXPECT_LE(reply.ByteSizeLong(), limits::kOpsReplyBytesMax);
}

// Spawns a clerk, which is linked to it.
class Boss final : public Actor {
 public:
  Mailbox<"call", int> call{this};
  StartResult Start() override {
    context().Spawn<Clerk>(SpawnOptions{.registered_as = "clerk"});
    return quiet_;
  }

 private:
  Behavior quiet_{"quiet", On(call, [](int) {})};
};

TEST(ReadActorTest, AnActorsLinksAreTold) {
  TestSystem system;
  const Ref<Boss> boss = system.Spawn<Boss>();
  system.RunUntilIdle();
  proto::GetActorRequest request;
  request.set_actor("clerk");
  const absl::StatusOr<proto::ActorDetails> clerk = internal::ReadActor(system, request);
  ASSERT_TRUE(clerk.ok()) << clerk.status();
  EXPECT_THAT(clerk->links(), ElementsAre(boss.pid().ToString()));
  EXPECT_EQ(clerk->link_count(), 1);
}

TEST(ReadActorsTest, ATextIsFoundInTheBehaviorAndInTheParent) {
  TestSystem system;
  const Ref<Boss> boss = system.Spawn<Boss>();
  system.Spawn<Clerk>();
  system.RunUntilIdle();
  const auto count = [&](const std::string& text) {
    proto::ListActorsRequest request;
    request.set_text(text);
    return Actors(system, request).actors_size();
  };
  EXPECT_EQ(count("working"), 2);
  EXPECT_EQ(count("quiet"), 1);
  EXPECT_EQ(count(boss.pid().ToString()), 2) << "itself and its child";
}

TEST(ReadPeersTest, APeerIsToldWithItsSessionItsEnvelopesAndWhatItRefused) {
  PeerStatus peer{.node = "b\x1b", .address = "127.0.0.1:7001", .is_live = true, .is_up = true, .epoch = 3};
  peer.times = SessionTimes::Wan();
  peer.ledger = {.accepted = 15, .acknowledged = 1, .refused_by_peer = 2, .unconfirmed = 4, .waiting = 8};
  peer.bytes_waiting = 90;
  peer.refused_by_peer = {{ErrorKind::kFull, 2}, {ErrorKind::kNoName, 0}};
  peer.claims_refused = 7;
  proto::PeerDetails told = internal::DetailsOf(peer);
  EXPECT_EQ(told.node(), "b\\x1b");
  EXPECT_EQ(told.epoch(), 3U);
  EXPECT_EQ(told.heartbeat_interval_nanos(), absl::ToInt64Nanoseconds(SessionTimes::Wan().heartbeat_interval));
  EXPECT_EQ(told.silence_timeout_nanos(), absl::ToInt64Nanoseconds(SessionTimes::Wan().silence_timeout));
  EXPECT_EQ(told.grace_period_nanos(), absl::ToInt64Nanoseconds(SessionTimes::Wan().grace_period));
  EXPECT_EQ(told.envelopes_accepted(), 15);
  EXPECT_EQ(told.envelopes_acknowledged(), 1);
  EXPECT_EQ(told.envelopes_refused(), 2);
  EXPECT_EQ(told.envelopes_unconfirmed(), 4);
  EXPECT_EQ(told.envelopes_waiting(), 8);
  EXPECT_EQ(told.bytes_waiting(), 90);
  ASSERT_THAT(told.refused_by_peer(), SizeIs(1));
  EXPECT_EQ(told.refused_by_peer(0).why(), "Full");
  EXPECT_EQ(told.refused_by_peer(0).count(), 2);
  EXPECT_EQ(told.claims_refused(), 7);
  peer.is_live = false;
  EXPECT_EQ(internal::DetailsOf(peer).silence_timeout_nanos(), 0) << "none was agreed";
}

TEST(ReadTreeTest, AReplyIsBoundedInBytesAndTheNextOneGoesOn) {
  TestSystem system;
  std::set<std::string> spawned;
  for (int i = 0; i < 20; ++i) {
    auto builder = OneForOne();
    for (int n = 0; n < 900; ++n) builder.Child(absl::StrCat(std::string(200, '\xff'), n), Of<Clerk>());
    spawned.insert(TextOf(system.Spawn(std::move(builder)).pid()));
  }
  system.RunUntilIdle();
  proto::GetTreeRequest request;
  request.set_at_most(1'000'000);
  std::set<std::string> told;
  std::set<std::string> children;
  int pages = 0;
  proto::GetTreeReply reply;
  do {
    reply = internal::ReadTree(system, request);
    EXPECT_LE(reply.ByteSizeLong(), limits::kOpsReplyBytesMax);
    for (const proto::SupervisorDetails& supervisor : reply.supervisors()) {
      told.insert(supervisor.pid());
      for (const proto::ChildDetails& child : supervisor.children()) {
        EXPECT_TRUE(children.insert(child.pid()).second);
      }
    }
    *request.mutable_from() = reply.next();
    ++pages;
  } while (reply.has_next());
  EXPECT_EQ(told, spawned);
  EXPECT_THAT(children, SizeIs(20 * 900));
  EXPECT_GT(pages, 2) << "each id has 800 bytes when it is printable";
}

TEST(ReadTreeTest, PagesGoThroughAllChildrenOfASupervisor) {
  TestSystem system;
  auto builder = OneForOne();
  for (int n = 0; n < 2'500; ++n) builder.Child(absl::StrCat(n), Of<Clerk>());
  system.Spawn(std::move(builder));
  system.RunUntilIdle();
  proto::GetTreeRequest request;
  std::vector<int> sizes;
  int next_id = 0;
  proto::GetTreeReply reply;
  do {
    reply = internal::ReadTree(system, request);
    ASSERT_THAT(reply.supervisors(), SizeIs(1));
    sizes.push_back(reply.supervisors(0).children_size());
    for (const proto::ChildDetails& child : reply.supervisors(0).children()) {
      EXPECT_EQ(child.id(), absl::StrCat(next_id++));
    }
    *request.mutable_from() = reply.next();
  } while (reply.has_next());
  EXPECT_THAT(sizes, ElementsAre(999, 999, 502));
}

TEST(ReadTreeTest, AnyPageAndSizeIsAnswered) {
  TestSystem system;
  system.Spawn(OneForOne().Child("a", Of<Clerk>()).Child("b", Of<Clerk>()));
  system.RunUntilIdle();
  proto::GetTreeRequest request;
  for (const uint64_t supervisor : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 40, UINT64_MAX}) {
    for (const uint64_t child : {uint64_t{0}, uint64_t{2}, UINT64_MAX}) {
      for (const uint32_t at_most : {1U, 2U, UINT32_MAX}) {
        request.mutable_from()->set_supervisor(supervisor);
        request.mutable_from()->set_child(child);
        request.set_at_most(at_most);
        EXPECT_LE(internal::ReadTree(system, request).supervisors_size(), 1);
      }
    }
  }
}

TEST(ReadTreeTest, SupervisorsAreToldParentsFirstWithTheirChildren) {
  TestSystem system;
  system.Spawn(
      SpawnOptions{.registered_as = "root"},
      OneForOne().Child("inner", Of(OneForAll().Child("clerk", Of<Clerk>().Transient()))).Child("clerk", Of<Clerk>()));
  system.RunUntilIdle();
  const proto::GetTreeReply reply = internal::ReadTree(system, {});
  ASSERT_THAT(reply.supervisors(), SizeIs(2));
  const proto::SupervisorDetails& root = reply.supervisors(0);
  const proto::SupervisorDetails& inner = reply.supervisors(1);
  EXPECT_EQ(root.parent(), "");
  EXPECT_THAT(root.names(), ElementsAre("root"));
  EXPECT_EQ(inner.parent(), root.pid());
  ASSERT_THAT(root.children(), SizeIs(2));
  EXPECT_EQ(root.children(0).id(), "inner");
  EXPECT_EQ(root.children(0).pid(), inner.pid());
  EXPECT_EQ(root.children(0).kind(), "supervisor");
  EXPECT_EQ(root.children(1).restart(), "permanent");
  EXPECT_EQ(inner.strategy(), "one_for_all");
  ASSERT_THAT(inner.children(), SizeIs(1));
  EXPECT_EQ(inner.children(0).restart(), "transient");
  EXPECT_EQ(inner.children(0).state(), "running");
  EXPECT_FALSE(reply.has_next());
}

TEST(ReadTreeTest, AChildIsToldWithItsSpecItsLastExitAndItsNextStart) {
  TestSystem system;
  const RestartBackoff backoff{.min = absl::Seconds(8), .max = absl::Seconds(60), .jitter = 0};
  system.Spawn(OneForOne()
                   .Intensity(3, absl::Seconds(10))
                   .Child("clerk", Of<Clerk>().RegisteredAs("clerk").Backoff(backoff).ShutdownWithin(absl::Seconds(2)))
                   .Child("other", Of<Clerk>().BrutalKill().Budget(2, absl::Seconds(7))));
  system.RunUntilIdle();
  for (int i = 0; i < 2; ++i) {
    system.Kill(*system.WhereIs("clerk"));
    system.RunUntilIdle();
  }
  system.Advance(absl::Seconds(3));
  const proto::GetTreeReply reply = internal::ReadTree(system, {});
  ASSERT_THAT(reply.supervisors(), SizeIs(1));
  const proto::SupervisorDetails& root = reply.supervisors(0);
  EXPECT_EQ(root.intensity(), 3);
  EXPECT_EQ(root.period_nanos(), absl::ToInt64Nanoseconds(absl::Seconds(10)));
  EXPECT_EQ(root.restarts_in_period(), 1) << "the second restart waits, and is not counted";
  ASSERT_THAT(root.children(), SizeIs(2));
  const proto::ChildDetails& clerk = root.children(0);
  EXPECT_EQ(clerk.state(), "restarting");
  EXPECT_EQ(clerk.restarts(), 2);
  EXPECT_EQ(clerk.last_exit(), "Killed");
  EXPECT_EQ(absl::Nanoseconds(reply.clock_nanos() - clerk.exited_at_nanos()), absl::Seconds(3));
  EXPECT_EQ(absl::Nanoseconds(clerk.starts_at_nanos() - reply.clock_nanos()), absl::Seconds(5));
  EXPECT_EQ(clerk.shutdown_nanos(), absl::ToInt64Nanoseconds(absl::Seconds(2)));
  EXPECT_EQ(clerk.backoff().min_nanos(), absl::ToInt64Nanoseconds(backoff.min));
  EXPECT_EQ(clerk.backoff().give_up_after_nanos(), 0);
  const proto::ChildDetails& other = root.children(1);
  EXPECT_EQ(other.last_exit(), "");
  EXPECT_TRUE(other.is_killed());
  EXPECT_EQ(other.budget().intensity(), 2);
}

TEST(ReadHandlerTimesTest, TheTimesOfHandlersAreToldByClassAndMailbox) {
  TestSystem system;
  const Ref<Clerk> clerk = system.Spawn<Clerk>();
  for (int i = 0; i < 1000; ++i) clerk[&Clerk::file].Tell(1);
  system.RunUntilIdle();
  const proto::ListHandlerTimesReply reply = internal::ReadHandlerTimes(system, {});
  ASSERT_THAT(reply.handlers(), SizeIs(1));
  EXPECT_THAT(reply.handlers(0).class_name(), ::testing::EndsWith("Clerk"));
  EXPECT_EQ(reply.handlers(0).mailbox(), "file");
  EXPECT_GT(reply.handlers(0).samples(), 0);
  EXPECT_EQ(reply.handlers(0).sum_nanos(), 0) << "virtual time stands still in a handler";
}

class Giver final : public Actor {
 public:
  Mailbox<"give", Call<int, int>> give{this};
  Mailbox<"open", int> open{this};
  StartResult Start() override { return shut_; }

 private:
  Behavior shut_{"shut", On(open, [this](int) { return open_; })};
  Behavior open_{"open", On(give, [](int asked) { return asked; })};
};

class Taker final : public Actor {
 public:
  Mailbox<"take", int> take{this};
  explicit Taker(Ref<Giver> giver) : giver_(giver) {}
  StartResult Start() override { return working_; }

 private:
  Task<> Take(int what) {
    auto asked = giver_[&Giver::give].Ask(what, absl::Hours(1));
    (void)co_await asked;
  }
  const Ref<Giver> giver_;
  Behavior working_{"working", On(take, &Taker::Take)};
};

TEST(ReadActorsTest, WhoWaitsForWhoseAnswersIsTold) {
  TestSystem system;
  const Ref<Giver> giver = system.Spawn<Giver>();
  const Ref<Taker> taker = system.Spawn<Taker>(giver);
  taker[&Taker::take].Tell(1);
  system.RunUntilIdle();
  proto::ListActorsRequest request;
  request.set_asking_only(true);
  proto::ListActorsReply reply = Actors(system, request);
  ASSERT_THAT(reply.actors(), SizeIs(1));
  EXPECT_EQ(reply.actors(0).pid(), internal::TextOf(taker.pid()));
  EXPECT_THAT(reply.actors(0).asks(), ElementsAre(internal::TextOf(giver.pid())));
  giver[&Giver::open].Tell(1);
  system.RunUntilIdle();
  EXPECT_THAT(Actors(system, request).actors(), SizeIs(0));
}

proto::DeadLetterEntry Entry(const std::string& why) {
  proto::DeadLetterEntry entry;
  entry.set_why(why);
  return entry;
}

TEST(KeptEntriesTest, AReaderGetsEachEntryOnceAndIsToldOfThoseThatItLost) {
  KeptEntries<proto::DeadLetterEntry> kept(3, 1000);
  EXPECT_FALSE(kept.After(0).has_value());
  for (const char* why : {"a", "b"}) kept.Add(Entry(why));
  EXPECT_EQ(kept.After(0)->why(), "a");
  EXPECT_EQ(kept.After(0)->lost(), 0U);
  EXPECT_EQ(kept.After(1)->why(), "b");
  EXPECT_FALSE(kept.After(2).has_value());
  for (const char* why : {"c", "d", "e", "f"}) kept.Add(Entry(why));
  const absl::optional<proto::DeadLetterEntry> next = kept.After(1);
  ASSERT_TRUE(next.has_value());
  EXPECT_EQ(next->why(), "d");
  EXPECT_EQ(next->number(), 4U);
  EXPECT_EQ(next->lost(), 2U);
}

TEST(KeptEntriesTest, TheBytesOfAllEntriesAreBounded) {
  KeptEntries<proto::DeadLetterEntry> kept(1000, 300);
  for (int i = 0; i < 10; ++i) kept.Add(Entry(std::string(100, 'x')));
  EXPECT_EQ(kept.After(0)->number(), 9U) << "two entries of some 100 bytes are kept";
  kept.Add(Entry(std::string(1000, 'x')));
  EXPECT_FALSE(kept.After(0).has_value());
  kept.Add(Entry("y"));
  EXPECT_EQ(kept.After(10)->lost(), 1U);
}

}  // namespace
}  // namespace understudy
