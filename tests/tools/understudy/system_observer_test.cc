// The observer page that a program serves for its own system.
#include "understudy/tools/understudy/observer/system_observer.h"

#include <filesystem>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/testing/kept_log.h"
#include "understudy/tests/transport/metrics/scrape.h"
#include "understudy/tests/transport/socket_path.h"

namespace understudy::tool {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Returns the answer of the server at `printed`, http://127.0.0.1:PORT/#TOKEN, to a request for its page.
std::string PageOf(const std::string& printed) {
  const std::string host = printed.substr(7, printed.find("/#") - 7);
  RawClient client(host);
  (void)client.Say(absl::StrCat("GET / HTTP/1.1\r\nHost: ", host, "\r\nConnection: close\r\n\r\n"));
  return client.Hear();
}

TEST(SystemObserverTest, ItServesThePageAndRemovesItsSocketInTheEnd) {
  KeptLog log;
  ActorSystem system({.name = "desk", .log = &log});
  const std::string folder = std::filesystem::path(SocketPath()).parent_path().string();
  absl::StatusOr<std::unique_ptr<SystemObserver>> observer = SystemObserver::Start(system, nullptr, folder);
  ASSERT_TRUE(observer.ok()) << observer.status();
  EXPECT_THAT((*observer)->PrintedAddress(), StartsWith("http://127.0.0.1:"));
  EXPECT_THAT(PageOf((*observer)->PrintedAddress()), HasSubstr("<title>Understudy observer</title>"));
  EXPECT_TRUE(std::filesystem::exists(folder + "/ops"));
  *observer = nullptr;
  EXPECT_FALSE(std::filesystem::exists(folder + "/ops"));
  EXPECT_TRUE(std::filesystem::exists(folder)) << "it is the caller's";
}

TEST(SystemObserverTest, EachMakesAFolderOfItsOwn) {
  KeptLog log;
  ActorSystem first({.name = "first", .log = &log});
  ActorSystem second({.name = "second", .log = &log});
  const absl::StatusOr<std::unique_ptr<SystemObserver>> of_first = SystemObserver::Start(first, nullptr);
  const absl::StatusOr<std::unique_ptr<SystemObserver>> of_second = SystemObserver::Start(second, nullptr);
  ASSERT_TRUE(of_first.ok() && of_second.ok()) << of_first.status() << of_second.status();
  EXPECT_NE((*of_first)->PrintedAddress(), (*of_second)->PrintedAddress());
}

TEST(SystemObserverTest, AFolderThatIsNotThereIsAnError) {
  ActorSystem system({.name = "desk"});
  EXPECT_FALSE(SystemObserver::Start(system, nullptr, "/no/such/folder").ok());
}

}  // namespace
}  // namespace understudy::tool
