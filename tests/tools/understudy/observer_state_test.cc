// The data about a tree and about log entries that the observer sends to its pages, for fixed replies of a node.
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

namespace understudy::tool {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

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

}  // namespace
}  // namespace understudy::tool
