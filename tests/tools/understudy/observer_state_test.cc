// What pages of the observer are told of a tree and of entries, for fixed answers of a node.
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
  EXPECT_THAT(
      changes.Look(Tree({"a", "b"})),
      ElementsAre("{\"whole\":false,\"more\":false,\"gone\":[],\"supervisors\":[{\"pid\":\"a\"},{\"pid\":\"b\"}]}"));
  EXPECT_THAT(changes.Look(Tree({"b", "a"})), IsEmpty());
  proto::GetTreeReply tree = Tree({"b", "c"});
  tree.mutable_supervisors(0)->set_error("no answer");
  EXPECT_THAT(changes.Look(tree),
              ElementsAre("{\"whole\":false,\"more\":false,\"gone\":[\"a\"],\"supervisors\":[{\"pid\":"
                          "\"b\",\"error\":\"no answer\"},{\"pid\":\"c\"}]}"));
  tree.set_has_more(true);
  EXPECT_THAT(changes.Look(tree), ElementsAre("{\"whole\":false,\"more\":true,\"gone\":[],\"supervisors\":[]}"));
  EXPECT_THAT(changes.All(), ElementsAre("{\"whole\":true,\"more\":true,\"gone\":[],\"supervisors\":[{\"pid\":\"b\","
                                         "\"error\":\"no answer\"},{\"pid\":\"c\"}]}"));
}

TEST(TreeChangesTest, ALongTreeIsToldInPartsOfWhichTheFirstSaysThatItIsWhole) {
  proto::GetTreeReply tree;
  for (int i = 0; i < 10; ++i) {
    proto::SupervisorDetails& supervisor = *tree.add_supervisors();
    supervisor.set_pid(absl::StrCat("pid ", i));
    supervisor.set_error(std::string(limits::kObserverTreePartChars / 4, 'x'));
  }
  TreeChanges changes;
  EXPECT_THAT(changes.Look(tree), SizeIs(3));
  const std::vector<std::string> all = changes.All();
  ASSERT_THAT(all, SizeIs(3));
  EXPECT_THAT(all[0], HasSubstr("\"whole\":true"));
  EXPECT_THAT(all[1], HasSubstr("\"whole\":false"));
}

TEST(TreeChangesTest, ASupervisorThatIsNamedTwiceIsToldOnce) {
  TreeChanges changes;
  EXPECT_THAT(changes.Look(Tree({"a", "a"})),
              ElementsAre("{\"whole\":false,\"more\":false,\"gone\":[],\"supervisors\":[{\"pid\":\"a\"}]}"));
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
