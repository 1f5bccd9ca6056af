#include "understudy/supervision/internal/remote_children.h"

#include <memory>

#include "gtest/gtest.h"
#include "understudy/actors/pid.h"

namespace understudy::internal {
namespace {

TEST(RemoteChildren, LifeIsFoundByItsProxyUntilThatEnds) {
  RemoteChildren remote;
  const Pid proxy(1, 1, 1);
  const auto life = remote.NewLife("a");
  remote.Spawned(7, proxy, life);
  EXPECT_EQ(remote.ProxyOf(7), proxy);
  EXPECT_EQ(remote.LifeOf(proxy), 7U);
  EXPECT_TRUE(remote.ChildOf(7).is_null()) << "it has not started";
  life->child = Pid(2, 1, 5);
  EXPECT_EQ(remote.ChildOf(7), Pid(2, 1, 5));
  remote.Ended(7, "a");
  EXPECT_TRUE(remote.ProxyOf(7).is_null());
  EXPECT_TRUE(remote.ChildOf(7).is_null());
  EXPECT_EQ(remote.LifeOf(proxy), 0U);
}

TEST(RemoteChildren, LocalLifeIsUnknown) {
  RemoteChildren remote;
  remote.Ended(3, "a");
  EXPECT_TRUE(remote.ProxyOf(3).is_null());
  EXPECT_EQ(remote.LifeOf(Pid(1, 1, 1)), 0U);
}

TEST(RemoteChildren, WhatALifeLeftGoesToTheNextLifeOfTheSameChildOnly) {
  RemoteChildren remote;
  const auto first = remote.NewLife("a");
  EXPECT_EQ(first->left, nullptr);
  remote.Spawned(1, Pid(1, 1, 1), first);
  first->left = std::make_shared<int>(5);
  const auto left = first->left;
  remote.Ended(1, "a");
  EXPECT_EQ(remote.NewLife("b")->left, nullptr);
  EXPECT_EQ(remote.NewLife("a")->left, left);
  EXPECT_EQ(remote.NewLife("a")->left, nullptr) << "the second life has taken it";
}

TEST(RemoteChildren, ForgottenChildLeavesNothing) {
  RemoteChildren remote;
  const auto life = remote.NewLife("a");
  remote.Spawned(1, Pid(1, 1, 1), life);
  life->left = std::make_shared<int>(5);
  remote.Ended(1, "a");
  remote.Forget("a");
  EXPECT_EQ(remote.NewLife("a")->left, nullptr);
}

}  // namespace
}  // namespace understudy::internal
