// Tests of what a parent knows of its process children, and of what it tells them.
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/pid.h"
#include "understudy/proto/process.pb.h"
#include "understudy/proto/ref.pb.h"
#include "understudy/transport/process/parent_invitation.h"
#include "understudy/transport/process/process_spawner.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(ProcessDirectory, TellsTheOthersWhereAChildListensAndWhenItIsGone) {
  std::vector<std::string> told;
  internal::ProcessDirectory directory([&told](Pid proxy, const proto::PeerAddress& peer) {
    told.push_back(absl::StrCat(proxy.serial(), " hears: ", peer.node(), " ", peer.address()));
  });
  for (const uint64_t life : {1, 2}) {  // the second has the first one's names
    EXPECT_TRUE(directory.Add("a", Pid(1, 1, 10 * life)).ok());
    EXPECT_TRUE(directory.Add("b", Pid(1, 2, 10 * life + 1)).ok());
    EXPECT_TRUE(directory.Add("c", Pid(1, 3, 10 * life + 2)).ok());
    EXPECT_EQ(directory.Add("c", Pid(1, 4, 10 * life + 3)).code(), absl::StatusCode::kAlreadyExists);
    EXPECT_THAT(directory.Enter("a", "here"), IsEmpty());
    const std::vector<proto::PeerAddress> others = directory.Enter("b", "there");
    ASSERT_THAT(others, SizeIs(1));
    EXPECT_EQ(others[0].node(), "a");
    EXPECT_EQ(others[0].address(), "here");
    directory.Remove("c");  // which never listened
    directory.Remove("b");
    EXPECT_TRUE(directory.ProxyOf("b").is_null());
    EXPECT_EQ(directory.ProxyOf("a").serial(), 10 * life);
    directory.Remove("a");
  }
  EXPECT_THAT(told, ElementsAre("11 hears: a here", "12 hears: a here", "10 hears: b there", "12 hears: b there",
                                "10 hears: b ", "21 hears: a here", "22 hears: a here", "20 hears: b there",
                                "22 hears: b there", "20 hears: b "));
}

TEST(ParentInvitation, IsReadAsItWasWrittenAndNonsenseIsRefused) {
  proto::Ref proxy;
  proxy.set_node("launcher");
  proxy.set_incarnation(77);
  proxy.set_serial(5);
  const internal::ParentInvitation written = {.descriptor = 3,
                                              .proxy = proxy,
                                              .node = "house-1",
                                              .silence = absl::Milliseconds(1500),
                                              .listen = "unix:/tmp/with space"};
  const auto read = internal::ParentInvitation::Parse(written.ToString());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->ToString(), written.ToString());
  EXPECT_EQ(read->silence, written.silence);
  EXPECT_EQ(read->parent(), "launcher");
  const std::string hex = absl::BytesToHexString(proxy.SerializeAsString());
  proxy.set_node("Launcher");
  const std::string bad_name = absl::BytesToHexString(proxy.SerializeAsString());
  for (const std::string& text :
       {std::string(), std::string("3"), absl::StrCat("x ", hex, " house-1 20000 127.0.0.1:0"),
        absl::StrCat("3 ", bad_name, " house-1 20000 127.0.0.1:0"),
        absl::StrCat("-1 ", hex, " house-1 20000 127.0.0.1:0"), absl::StrCat("3 ", hex, "  20000 127.0.0.1:0"),
        absl::StrCat("3 ", hex, " house-1 127.0.0.1:0"), absl::StrCat("3 ", hex, " house-1 0 127.0.0.1:0"),
        std::string("3 launcher house-1 20000 127.0.0.1:0"), std::string("3 abc house-1 20000 127.0.0.1:0")}) {
    EXPECT_EQ(internal::ParentInvitation::Parse(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace understudy
