#include "understudy/supervision/internal/child_names.h"

#include <set>

#include "gtest/gtest.h"
#include "understudy/supervision/child_spec.h"

namespace understudy {
namespace {

using Keys = std::set<KeptNames::Key>;

TEST(WatchedNames, EachNameIsWatchedOnce) {
  WatchedNames names;
  EXPECT_TRUE(names.Watch("a"));
  EXPECT_FALSE(names.Watch("a"));
  EXPECT_TRUE(names.Watch("b"));
}

TEST(WatchedNames, ChildWaitsWhileAnyOfItsNamesIsTaken) {
  WatchedNames names;
  const ChildSpec child{.id = "c", .registered_as = "here", .published_as = "everywhere"};
  EXPECT_FALSE(names.IsTaken(child));
  names.Taken("here");
  names.Taken("everywhere");
  names.Freed("here");
  EXPECT_TRUE(names.IsTaken(child));
  names.Freed("everywhere");
  EXPECT_FALSE(names.IsTaken(child));
  names.Freed("everywhere");
  names.Taken("another");
  EXPECT_FALSE(names.IsTaken(child));
}

TEST(KeptNames, OnlyKeptNamesAreDoubtedAndFreed) {
  KeptNames names;
  names.Doubt(1);
  EXPECT_EQ(names.TakeDoubtful(), Keys());
  EXPECT_FALSE(names.Free(1));
  names.Keep(1);
  EXPECT_TRUE(names.Keeps(1));
  names.Doubt(1);
  EXPECT_EQ(names.TakeDoubtful(), Keys({1}));
  EXPECT_EQ(names.TakeDoubtful(), Keys()) << "a name is doubtful again only after the next change";
  EXPECT_TRUE(names.Keeps(1));
  EXPECT_TRUE(names.Free(1));
  EXPECT_FALSE(names.Keeps(1));
  EXPECT_FALSE(names.Free(1));
}

TEST(KeptNames, FreedChildIsNoLongerDoubtful) {
  KeptNames names;
  names.Keep(1);
  names.Keep(2);
  names.DoubtAll();
  EXPECT_TRUE(names.Free(1));
  EXPECT_EQ(names.TakeDoubtful(), Keys({2}));
}

}  // namespace
}  // namespace understudy
