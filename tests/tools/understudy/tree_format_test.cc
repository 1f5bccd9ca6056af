// A supervision tree as pages, as a table and as a graph, for fixed replies of a node.
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/proto/ops.pb.h"
#include "understudy/tools/understudy/dot.h"
#include "understudy/tools/understudy/tables.h"
#include "understudy/tools/understudy/tree_pages.h"

namespace understudy::tool {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

// Returns a supervisor with an inner supervisor, whose child has crashed.
proto::GetTreeReply RootWithInner() {
  proto::GetTreeReply tree;
  tree.set_clock_nanos(absl::ToInt64Nanoseconds(absl::Seconds(100)));
  proto::SupervisorDetails& root = *tree.add_supervisors();
  root.set_pid("<desk.1.1>");
  root.add_names("root");
  root.set_strategy("rest_for_one");
  root.set_intensity(3);
  root.set_period_nanos(absl::ToInt64Nanoseconds(absl::Seconds(10)));
  root.set_restarts_in_period(1);
  proto::ChildDetails& inner = *root.add_children();
  inner.set_id("inner");
  inner.set_state("running");
  inner.set_kind("supervisor");
  inner.set_restart("permanent");
  inner.set_pid("<desk.2.1>");
  inner.set_restarts(3);
  proto::SupervisorDetails& below = *tree.add_supervisors();
  below.set_pid("<desk.2.1>");
  below.set_parent("<desk.1.1>");
  below.set_strategy("one_for_one");
  below.set_is_pool(true);
  below.set_intensity(1);
  below.set_period_nanos(absl::ToInt64Nanoseconds(absl::Seconds(5)));
  proto::ChildDetails& job = *below.add_children();
  job.set_id("job#1");
  job.set_state("restarting");
  job.set_kind("worker");
  job.set_restart("transient");
  job.set_restarts(2);
  job.set_starts_at_nanos(absl::ToInt64Nanoseconds(absl::Milliseconds(101'500)));
  job.set_last_exit("Failed(INTERNAL: on fire)");
  job.set_exited_at_nanos(absl::ToInt64Nanoseconds(absl::Milliseconds(99'750)));
  return tree;
}

TEST(TablesTest, ATreeIsIndentedWithRestartsInThePeriodTheNextStartAndTheLastExit) {
  EXPECT_EQ(FormatTree(RootWithInner()),
            "CHILD      STATE               KIND        RESTART    PID         RESTARTS  "
            "SUPERVISES                            LAST EXIT\n"
            "root       -                   -           -          <desk.1.1>         -  "
            "rest_for_one, 1 of 3 restarts in 10s  -\n"
            "  inner    running             supervisor  permanent  <desk.2.1>         3  "
            "pool, 0 of 1 restarts in 5s           -\n"
            "    job#1  restarting in 1.5s  worker      transient  -                  2  "
            "-                                     250ms ago: Failed(INTERNAL: on fire)\n");
  EXPECT_EQ(FormatTree(proto::GetTreeReply()), "no supervisors\n");
}

TEST(TablesTest, TimesOfAnotherNodeAreMovedToOneClock) {
  proto::GetTreeReply tree = RootWithInner();
  const std::string before = FormatTree(tree);
  MoveClock(7, tree);
  EXPECT_EQ(tree.clock_nanos(), 7);
  EXPECT_EQ(FormatTree(tree), before);
  EXPECT_EQ(tree.supervisors(0).children(0).exited_at_nanos(), 0) << "it has not exited";
  tree.mutable_supervisors(1)->mutable_children(0)->set_exited_at_nanos(INT64_MIN);
  MoveClock(INT64_MAX, tree);
  MoveClock(INT64_MIN, tree);
  (void)FormatTree(tree);
}

// Returns the page that begins after the first `place` children of the only supervisor and ends with child `until`.
proto::GetTreeReply Page(uint64_t place, uint64_t until) {
  proto::GetTreeReply page;
  proto::SupervisorDetails& supervisor = *page.add_supervisors();
  supervisor.set_pid("<desk.1.1>");
  for (; place < until; ++place) supervisor.add_children()->set_id(absl::StrCat(place));
  page.mutable_next()->set_supervisor(1);
  page.mutable_next()->set_child(until);
  return page;
}

TEST(TreePagesTest, PagesAreReadUntilTheLastOrABoundAndAreOneTree) {
  const auto ask = [](const proto::GetTreeRequest& request) -> absl::StatusOr<proto::GetTreeReply> {
    const uint64_t place = request.from().child();
    proto::GetTreeReply page = Page(place, place + 10);
    if (place >= 40) page.clear_next();
    return page;
  };
  absl::StatusOr<proto::GetTreeReply> tree = AllTreePages({.entries_max = 1000}, ask);
  ASSERT_TRUE(tree.ok()) << tree.status();
  ASSERT_THAT(tree->supervisors(), SizeIs(1));
  EXPECT_THAT(tree->supervisors(0).children(), SizeIs(50));
  EXPECT_FALSE(tree->has_next());
  tree = AllTreePages({.entries_max = 20}, ask);
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_THAT(tree->supervisors(0).children(), SizeIs(20));
  EXPECT_TRUE(tree->has_next());
  for (const size_t bytes : {45, 5}) {
    tree = AllTreePages({.bytes_max = bytes}, ask);
    ASSERT_TRUE(tree.ok()) << tree.status();
    EXPECT_TRUE(tree->has_next());
    EXPECT_LE(tree->ByteSizeLong(), 100U);
    EXPECT_EQ(tree->supervisors_size(), bytes == 45 ? 1 : 0);
  }
  EXPECT_THAT(AllTreePages({.bytes_max = 45}, ask)->supervisors(0).children(), SizeIs(10));
}

TEST(TreePagesTest, AnErrorAndAPageThatDoesNotGoOnEndTheTree) {
  EXPECT_EQ(AllTreePages({}, [](const auto&) { return absl::NotFoundError("gone"); }).status().code(),
            absl::StatusCode::kNotFound);
  const auto same = AllTreePages({}, [](const auto&) { return Page(0, 10); });
  EXPECT_THAT(std::string(same.status().message()), HasSubstr("does not say where its tree goes on"));
}

TEST(ActorPagesTest, AllPagesAreOneListAndAPageThatDoesNotGoOnIsAnError) {
  const auto ask = [](const proto::ListActorsRequest& request) -> absl::StatusOr<proto::ListActorsReply> {
    proto::ListActorsReply page;
    page.add_actors()->set_pid(absl::StrCat("<a.", request.after(), ".1>"));
    page.set_next(request.after() < 2 ? request.after() + 1 : 0);
    return page;
  };
  const auto actors = AllActorPages({}, ask);
  ASSERT_TRUE(actors.ok()) << actors.status();
  EXPECT_THAT(*actors, SizeIs(3));
  const auto same = AllActorPages({}, [](const auto&) {
    proto::ListActorsReply page;
    page.set_next(7);
    return page;
  });
  EXPECT_THAT(std::string(same.status().message()), HasSubstr("does not say where its actors go on"));
}

TEST(PagesTest, ANodeWhosePagesDoNotEndIsRefused) {
  const auto refused = [](const auto& answer) { return std::string(answer.status().message()); };
  uint64_t next = 0;
  EXPECT_THAT(refused(AllTreePages({},
                                   [&](const auto&) {
                                     ++next;
                                     return Page(next - 1, next);
                                   })),
              HasSubstr("does not end"));
  EXPECT_THAT(refused(AllActorPages({},
                                    [&](const auto&) {
                                      proto::ListActorsReply page;
                                      page.set_next(++next);
                                      return page;
                                    })),
              HasSubstr("does not end"));
  EXPECT_THAT(refused(AllNamePages("",
                                   [&](const auto&) {
                                     proto::ListNamesReply page;
                                     page.set_has_more(true);
                                     page.set_next(absl::StrCat(++next));  // as many digits: they ascend
                                     return page;
                                   })),
              HasSubstr("does not end"));
  const auto alternates = [&](const auto&) {
    proto::ListNamesReply page;
    page.set_has_more(true);
    page.set_next(++next % 2 == 0 ? "a" : "b");
    return page;
  };
  EXPECT_THAT(refused(AllNamePages("", alternates)), HasSubstr("does not say where its names go on"));
}

TEST(PagesTest, TheBytesOfAllPagesAreBounded) {
  proto::ListActorsReply page;
  page.add_actors()->set_class_name(std::string(size_t{64} << 20, 'x'));
  PageBound bound;
  for (size_t i = 0; i < PageBound::kBytesMax / page.ByteSizeLong(); ++i) EXPECT_TRUE(bound.Add(page).ok());
  EXPECT_EQ(bound.Add(page).code(), absl::StatusCode::kResourceExhausted);
}

TEST(DotTest, ATreeHasAnEdgeToEachChild) {
  proto::GetTreeReply tree = RootWithInner();
  proto::SupervisorDetails& root = *tree.mutable_supervisors(0);
  proto::ChildDetails& down = *root.add_children();
  down.set_id("a\"]; n9 [shape=none]");
  down.set_state("restarting");
  down.set_kind("worker");
  down.set_restart("transient");
  EXPECT_EQ(TreeDot(tree), R"dot(digraph tree {
  node [shape=box];
  n0 [label="inner\n<desk.2.1>\nrunning, supervisor, permanent\nrestarts: 3"];
  n1 [label="a\"]; n9 [shape=none]\nrestarting, worker, transient"];
  n2 [label="job#1\nrestarting, worker, transient\nrestarts: 2"];
  n3 [label="root\n<desk.1.1>"];
  n3 -> n0;
  n3 -> n1;
  n0 -> n2;
}
)dot");
  EXPECT_EQ(TreeDot(proto::GetTreeReply()), "digraph tree {\n  node [shape=box];\n}\n");
}

}  // namespace
}  // namespace understudy::tool
