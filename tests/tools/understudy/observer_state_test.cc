// The data about a tree and about log entries that the observer sends to its pages, for fixed replies of a node.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/proto/ops.pb.h"
#include "understudy/tools/understudy/observer/entry_log.h"
#include "understudy/tools/understudy/observer/observer_limits.h"
#include "understudy/tools/understudy/observer/tree_changes.h"
#include "understudy/tools/understudy/tree_pages.h"

namespace understudy::tool {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

proto::GetTreeReply Tree(const std::vector<std::string>& pids) {
  proto::GetTreeReply tree;
  for (const std::string& pid : pids) tree.add_supervisors()->set_pid(pid);
  return tree;
}

TEST(TreeChangesTest, OnlyWhatHasChangedIsTold) {
  TreeChanges changes;
  EXPECT_THAT(changes.Look(Tree({"a", "b"})), ElementsAre(R"({"whole":false,"more":false,"clock":0,"gone":[],)"
                                                          R"("supervisors":[{"pid":"a"},{"pid":"b"}],"own":[],)"
                                                          R"("children":[]})"));
  EXPECT_THAT(changes.Look(Tree({"b", "a"})), IsEmpty());
  proto::GetTreeReply tree = Tree({"b", "c"});
  tree.set_clock_nanos(7);
  tree.mutable_supervisors(0)->set_restarts_in_period(1);
  tree.mutable_supervisors(1)->add_children()->set_id("x");
  EXPECT_THAT(changes.Look(tree),
              ElementsAre(R"({"whole":false,"more":false,"clock":7,"gone":["a"],"supervisors":[)"
                          R"({"pid":"c","children":[{"id":"x"}]}],"own":[{"pid":"b","restarts_in_period":1}],)"
                          R"("children":[]})"));
  tree.mutable_next();
  EXPECT_THAT(changes.Look(tree), ElementsAre(R"({"whole":false,"more":true,"clock":7,"gone":[],"supervisors":[],)"
                                              R"("own":[],"children":[]})"));
  EXPECT_THAT(changes.All(),
              ElementsAre(R"({"whole":true,"more":true,"clock":7,"gone":[],"supervisors":[)"
                          R"({"pid":"b","restarts_in_period":1},{"pid":"c","children":[{"id":"x"}]}],"own":[],)"
                          R"("children":[]})"));
  tree.set_clock_nanos(8);
  EXPECT_THAT(changes.Look(tree), IsEmpty()) << "the time alone is no change";
}

TEST(TreeChangesTest, AChildThatHasChangedIsToldAloneUntilThereAreOtherChildren) {
  TreeChanges changes;
  proto::GetTreeReply tree = Tree({"a"});
  proto::SupervisorDetails& supervisor = *tree.mutable_supervisors(0);
  for (const char* id : {"x", "y"}) supervisor.add_children()->set_id(id);
  (void)changes.Look(tree);
  supervisor.mutable_children(1)->set_restarts(1);
  EXPECT_THAT(changes.Look(tree), ElementsAre(R"({"whole":false,"more":false,"clock":0,"gone":[],"supervisors":[],)"
                                              R"("own":[],"children":[)"
                                              R"({"of":"a","at":1,"child":{"id":"y","restarts":1}}]})"));
  EXPECT_THAT(changes.Look(tree), IsEmpty());
  supervisor.mutable_children(0)->set_id("z");
  EXPECT_THAT(changes.Look(tree),
              ElementsAre(R"({"whole":false,"more":false,"clock":0,"gone":[],"supervisors":[{"pid":"a","children":[)"
                          R"({"id":"z"},{"id":"y","restarts":1}]}],"own":[],"children":[]})"));
  EXPECT_THAT(changes.All(), ElementsAre(HasSubstr(R"({"id":"z"},{"id":"y","restarts":1})")));
}

TEST(TreeChangesTest, ALongTreeIsToldInPartsOfWhichTheFirstSaysThatItIsWhole) {
  proto::GetTreeReply tree;
  for (int i = 0; i < 10; ++i) {
    proto::SupervisorDetails& supervisor = *tree.add_supervisors();
    supervisor.set_pid(absl::StrCat("pid ", i));
    supervisor.set_strategy(std::string(limits::kObserverTreePartChars / 4, 'x'));
  }
  TreeChanges changes;
  EXPECT_THAT(changes.Look(tree), SizeIs(3));
  for (proto::SupervisorDetails& supervisor : *tree.mutable_supervisors()) {
    supervisor.add_children()->set_id("x");
  }
  (void)changes.Look(tree);
  for (proto::SupervisorDetails& supervisor : *tree.mutable_supervisors()) {
    supervisor.mutable_children(0)->set_state(std::string(limits::kObserverTreePartChars / 4, 'x'));
  }
  EXPECT_THAT(changes.Look(tree), SizeIs(3)) << "changed children are cut likewise";
  const std::vector<std::string> all = changes.All();
  ASSERT_THAT(all, SizeIs(5));
  EXPECT_THAT(all[0], HasSubstr("\"whole\":true"));
  EXPECT_THAT(all[1], HasSubstr("\"whole\":false"));
}

TEST(TreeChangesTest, ASupervisorThatIsNamedTwiceIsToldOnce) {
  TreeChanges changes;
  EXPECT_THAT(changes.Look(Tree({"a", "a"})),
              ElementsAre(R"({"whole":false,"more":false,"clock":0,"gone":[],"supervisors":[{"pid":"a"}],"own":[],)"
                          R"("children":[]})"));
  EXPECT_THAT(changes.Look(Tree({"a", "a"})), IsEmpty());
}

TEST(EntryLogTest, PagesGetWhatIsFreshAndNewOnesAll) {
  EntryLog log;
  EXPECT_EQ(log.TakeFresh(), "");
  log.Begin();
  log.Add("1");
  log.Add("2");
  EXPECT_EQ(log.TakeFresh(), "{\"whole\":true,\"lost\":0,\"entries\":[1,2]}");
  log.Add("3");
  EXPECT_EQ(log.TakeFresh(), "{\"whole\":false,\"lost\":0,\"entries\":[3]}");
  EXPECT_EQ(log.TakeFresh(), "");
  EXPECT_EQ(log.All(), "{\"whole\":true,\"lost\":0,\"entries\":[1,2,3]}");
  log.Begin();
  EXPECT_EQ(log.TakeFresh(), "{\"whole\":true,\"lost\":0,\"entries\":[]}") << "the node has begun anew";
}

TEST(EntryLogTest, EntriesBeyondTheBoundAreLostAndTold) {
  EntryLog log;
  for (size_t i = 0; i < limits::kObserverEntriesMax + 5; ++i) log.Add(absl::StrCat(i));
  EXPECT_THAT(log.TakeFresh(), HasSubstr("\"lost\":5,\"entries\":[5,6,"));
  EXPECT_THAT(log.All(), Not(HasSubstr("[4,")));
}

TEST(EntryLogTest, BytesBeyondTheBoundAreLostAndTold) {
  EntryLog log;
  const std::string quarter(limits::kObserverEntriesBytesMax / 4, '1');
  for (int i = 0; i < 6; ++i) log.Add(quarter);
  EXPECT_THAT(log.TakeFresh(), StartsWith(R"({"whole":false,"lost":2,"entries":[1)"));
  EXPECT_LT(log.All().size(), limits::kObserverEntriesBytesMax + 100);
  log.Add(std::string(limits::kObserverEntriesBytesMax + 1, '2'));
  EXPECT_EQ(log.TakeFresh(), R"({"whole":false,"lost":1,"entries":[]})");
  log.Begin();
  for (int i = 0; i < 4; ++i) log.Add(quarter);
  EXPECT_THAT(log.TakeFresh(), StartsWith(R"({"whole":true,"lost":0,)"));
}

// Returns a pool of as many children as a page shows of one node, each with a long last exit.
proto::GetTreeReply LargeTree() {
  proto::GetTreeReply tree = Tree({"<warehouse-7.4711.3>"});
  for (size_t i = 0; i < limits::kObserverTreeEntriesMax; ++i) {
    proto::ChildDetails& child = *tree.mutable_supervisors(0)->add_children();
    child.set_id(absl::StrCat("shelf#", i));
    child.set_state("running");
    child.set_pid(absl::StrCat("<warehouse-7.", 100'000 + i, ".12>"));
    child.set_kind("worker");
    child.set_restart("permanent");
    child.set_restarts(3);
    child.set_last_exit("Failed(UNAVAILABLE: the shelf <17> has been moved)");
    child.set_exited_at_nanos(int64_t{1} << 60);
    child.set_shutdown_nanos(5'000'000'000);
  }
  return tree;
}

TEST(FirstStateTest, OfAsManyLargeNodesAsAPageShowsItFitsIntoWhatMayWait) {
  EntryLog log;
  for (int i = 0; i < 2000; ++i) log.Add(std::string(limits::kObserverEntriesBytesMax / 1000, '1'));
  TreeChanges changes;
  (void)changes.Look(*AllTreePages({.entries_max = limits::kObserverTreeEntriesMax,
                                    .bytes_max = limits::kObserverTreesBytesMax / limits::kObservedNodesMax},
                                   [](const auto&) { return LargeTree(); }));
  const std::vector<std::string> parts = changes.All();
  EXPECT_THAT(parts[0], HasSubstr("\"more\":true"));
  size_t bytes = 2 * log.All().size();
  for (const std::string& part : parts) bytes += part.size();
  EXPECT_LT(bytes * limits::kObservedNodesMax, limits::kObserverWaitingBytesMax);

  TreeChanges alone;
  (void)alone.Look(
      *AllTreePages({.entries_max = limits::kObserverTreeEntriesMax, .bytes_max = limits::kObserverTreesBytesMax},
                    [](const auto&) { return LargeTree(); }));
  EXPECT_THAT(alone.All()[0], HasSubstr("\"more\":false")) << "one node alone is shown whole";
}

}  // namespace
}  // namespace understudy::tool
