// The commands against a node in this process, and against a listener that is not a node.
#include "understudy/tools/understudy/client.h"

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <memory>
#include <ostream>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/inspection.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/printable_text.h"
#include "understudy/actors/registry.h"
#include "understudy/actors/testing/kept_log.h"
#include "understudy/proto/ops.grpc.pb.h"
#include "understudy/proto/ops.pb.h"
#include "understudy/supervision/builders.h"
#include "understudy/tests/tools/understudy/impostor.h"
#include "understudy/tests/transport/socket_path.h"
#include "understudy/tests/transport/test_certificates.h"
#include "understudy/tools/understudy/arguments.h"
#include "understudy/tools/understudy/ops_channel.h"
#include "understudy/tools/understudy/screen.h"
#include "understudy/transport/credentials.h"
#include "understudy/transport/grants.h"
#include "understudy/transport/node.h"
#include "understudy/transport/ops/ops.h"

namespace understudy::tool {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

struct Outcome {
  absl::Status status;
  std::string out;
  std::string prompt;
};

// Runs `understudy WORD… --ops=…` with `answer` on its standard input.
Outcome RunWords(std::vector<std::string> words, const std::string& answer = "",
                 absl::Duration answers_within = absl::Seconds(60)) {
  const absl::StatusOr<Arguments> arguments = ParseArguments(words, SocketPath());
  if (!arguments.ok()) return {.status = arguments.status()};
  std::istringstream in(answer);
  std::ostringstream out;
  std::ostringstream prompt;
  absl::Status status =
      RunCommand(*arguments, {.in = in, .out = out, .prompt = prompt, .answers_within = answers_within});
  return {.status = std::move(status), .out = out.str(), .prompt = prompt.str()};
}

// Expects that each line of `text` can be printed without escaping.
void ExpectPrintable(absl::string_view text) {
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    EXPECT_EQ(PrintableText(line, Backslashes::kKeep), line);
  }
}

TEST(ClientTest, NamesShowsAllPagesAlsoIfANameIsNotUtf8) {
  KeptLog log;
  ActorSystem system({.name = "desk", .log = &log});
  const absl::StatusOr<std::unique_ptr<Ops>> ops = Ops::Start(system, {.listen = absl::StrCat("unix:", SocketPath())});
  ASSERT_TRUE(ops.ok()) << ops.status();
  constexpr int kNames = 2500;
  for (int i = 0; i < kNames; ++i) {
    // The last name of the first page and several others are not valid UTF-8.
    const std::string name = i % 100 == 99 ? absl::StrCat(1000 + i, "\xff") : absl::StrCat(1000 + i);
    ASSERT_TRUE(system.registry().Insert({.name = name, .pid = Pid(system.node(), 1, 1)}).ok());
  }
  const Outcome names = RunWords({"names"});
  ASSERT_TRUE(names.status.ok()) << names.status;
  const std::vector<std::string> lines = absl::StrSplit(names.out, '\n', absl::SkipEmpty());
  EXPECT_THAT(lines, SizeIs(kNames + 1)) << "with the heading";
  EXPECT_EQ(std::set<std::string>(lines.begin(), lines.end()).size(), lines.size());
  EXPECT_THAT(names.out, HasSubstr("1999\\xff"));
  ExpectPrintable(names.out);
}

TEST(ClientTest, WhatIsShownIsPrintableWhateverTheListenerSays) {
  Impostor impostor(SocketPath());
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"node"}, {"top"}, {"ps"}, {"actor", "x"}, {"names"}, {"tree"}, {"events"}, {"kill", "x"}, {"peers"}}) {
    for (const bool is_json : {false, true}) {
      std::vector<std::string> line = words;
      if (is_json) line.emplace_back("--json");
      const Outcome shown = RunWords(line, "y\n");
      ExpectPrintable(shown.out);
      ExpectPrintable(shown.prompt);
      EXPECT_EQ(PrintableText(shown.status.message(), Backslashes::kKeep), shown.status.message());
      if (!is_json || words[0] == "names" || words[0] == "peers") continue;
      for (const absl::string_view json : absl::StrSplit(shown.out, '\n', absl::SkipEmpty())) {
        google::protobuf::Struct any;
        EXPECT_TRUE(google::protobuf::util::JsonStringToMessage({json.data(), json.size()}, &any).ok()) << json;
      }
    }
  }
  EXPECT_THAT(std::string(RunWords({"names"}).status.message()), HasSubstr("does not say where its names go on"));
  EXPECT_EQ(RunWords({"peers"}).status.code(), absl::StatusCode::kUnimplemented);
}

TEST(ClientTest, WithoutTheRightToReadTheErrorOfAnActionNamesYes) {
  class Closed final : public Impostor {
   public:
    using Impostor::Impostor;
    grpc::Status GetNode(grpc::ServerContext*, const proto::GetNodeRequest*, proto::NodeDetails*) override {
      return grpc::Status(grpc::StatusCode::PERMISSION_DENIED, "lacks OpsAction::kRead");
    }
  };
  Closed closed(SocketPath());
  EXPECT_EQ(
      RunWords({"kill", "clerk"}, "y\n").status,
      absl::PermissionDeniedError("lacks OpsAction::kRead; the question before an action needs that, --yes asks none"));
  EXPECT_TRUE(RunWords({"kill", "clerk", "--yes"}).status.ok());
}

TEST(ClientTest, AQuestionNamesTheActorThatIsMeantAndAnythingButYesDoesNothing) {
  Impostor impostor(SocketPath());
  for (const char* answer : {"", "n\n", "Y\n", "yes please\n"}) {
    const Outcome asked = RunWords({"kill", "clerk"}, answer);
    EXPECT_EQ(asked.status.code(), absl::StatusCode::kCancelled) << answer;
    EXPECT_EQ(asked.out, "");
    EXPECT_THAT(asked.prompt, HasSubstr("(clerk)"));
    EXPECT_THAT(asked.prompt, HasSubstr("? [y/N] "));
  }
  EXPECT_TRUE(RunWords({"kill", "clerk"}, "y\n").status.ok());
  EXPECT_EQ(RunWords({"kill", "clerk", "--yes"}).prompt, "");
}

TEST(ClientTest, ANodeThatDoesNotTellItsKeptEntriesIsNotWaitedForForEver) {
  Impostor impostor(SocketPath());
  const Outcome shown = RunWords({"dead-letters"}, "", absl::Milliseconds(50));
  EXPECT_EQ(shown.status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(shown.status.message()), HasSubstr("has not answered within 50ms"));
}

// Keeps the text that is written to it. A flush fails if `goes_on` returns false.
class Display final : public std::stringbuf {
 public:
  explicit Display(std::function<bool(const std::string& shown)> goes_on) : goes_on_(std::move(goes_on)) {}
  int sync() override { return goes_on_(str()) ? 0 : -1; }

 private:
  const std::function<bool(const std::string& shown)> goes_on_;
};

TEST(ClientTest, TopIsShownAgainAlsoAfterANodeThatDidNotAnswer) {
  for (const auto& [is_terminal, format] : {std::pair(true, "--by=age"), {false, "--by=age"}, {true, "--json"}}) {
    auto impostor = std::make_unique<Impostor>(SocketPath());
    int pictures = 0;
    // The node stops after the first picture, and starts again when its absence has been reported.
    const auto goes_on = [&](const std::string& shown) {
      if (absl::EndsWith(shown, "; trying again\n")) {
        if (impostor == nullptr) impostor = std::make_unique<Impostor>(SocketPath());
        return true;
      }
      impostor = nullptr;
      return ++pictures < 2;
    };
    Display shown(goes_on);
    Display told(goes_on);
    std::ostream out(&shown);
    std::ostream prompt(&told);
    std::istringstream in;
    const absl::StatusOr<Arguments> arguments = ParseArguments({"top", "--watch", format}, SocketPath());
    ASSERT_TRUE(arguments.ok()) << arguments.status();
    Terminal terminal{.in = in, .out = out, .prompt = prompt, .watch_period = absl::Milliseconds(1)};
    if (is_terminal) terminal.window = [] { return Window{.rows = 4, .columns = 200}; };
    EXPECT_TRUE(RunCommand(*arguments, terminal).ok());
    EXPECT_EQ(pictures, 2);
    if (is_terminal && !arguments->json) {
      EXPECT_THAT(shown.str(), AllOf(HasSubstr("\033[H\033[2Jsystem "), HasSubstr(" more lines)\n")));
      EXPECT_THAT(shown.str(), HasSubstr("understudy: no node answers on "));
    } else {
      EXPECT_THAT(shown.str(), Not(HasSubstr("\033")));
      EXPECT_THAT(told.str(), HasSubstr("understudy: no node answers on "));
    }
  }
}

// Accepts files and does nothing with them.
class Clerk final : public Actor {
 public:
  Mailbox<"file", int> file{this};
  StartResult Start() override { return working_; }

 private:
  Behavior working_{"working", On(file, [](int) {})};
};

TEST(ClientTest, ATraceShowsEachMessageUntilItsBound) {
  KeptLog log;
  ActorSystem system({.name = "desk", .log = &log});
  const absl::StatusOr<std::unique_ptr<Ops>> ops = Ops::Start(system, {.listen = absl::StrCat("unix:", SocketPath())});
  ASSERT_TRUE(ops.ok()) << ops.status();
  const Ref<Clerk> clerk = system.Spawn<Clerk>(SpawnOptions{.registered_as = "clerk"});
  ASSERT_TRUE(system.AwaitStart(clerk.pid(), absl::Seconds(60)).ok());
  std::atomic<bool> is_over{false};
  std::thread telling([&] {
    while (!is_over.load()) {
      clerk[&Clerk::file].Tell(1);
      std::this_thread::yield();
    }
  });
  const Outcome trace = RunWords({"trace", "clerk", "--messages=3", "--for=5m"});
  is_over.store(true);
  telling.join();
  EXPECT_TRUE(trace.status.ok()) << trace.status;
  const std::vector<std::string> lines = absl::StrSplit(trace.out, '\n', absl::SkipEmpty());
  EXPECT_THAT(lines, ElementsAre(HasSubstr("#1  file  int  4 bytes from outside any actor"), HasSubstr("#2  file"),
                                 HasSubstr("#3  file")));
}

MATCHER_P2(InOrder, first, second, "") {
  const size_t at = arg.find(first);
  return at != std::string::npos && arg.find(second, at) != std::string::npos;
}

TEST(ClientTest, AClusterIsShownAsOneWithTheNodesThatAnswer) {
  KeptLog log;
  ActorSystem desk({.name = "desk", .log = &log});
  ActorSystem shop({.name = "shop", .log = &log});
  const std::string first = SocketPath();
  const std::string second = SocketPath() + "2";
  const absl::StatusOr<std::unique_ptr<Ops>> of_desk = Ops::Start(desk, {.listen = "unix:" + first});
  const absl::StatusOr<std::unique_ptr<Ops>> of_shop = Ops::Start(shop, {.listen = "unix:" + second});
  ASSERT_TRUE(of_desk.ok() && of_shop.ok());
  for (ActorSystem* const system : {&desk, &shop}) {
    const SupervisorRef root = system->Spawn(OneForOne().Child("clerk", Of<Clerk>().RegisteredAs("clerk")));
    ASSERT_TRUE(system->AwaitStart(root.pid(), absl::Seconds(60)).ok());
  }
  const Outcome ps = RunWords({"cluster", "ps", first, second});
  EXPECT_TRUE(ps.status.ok()) << ps.status;
  EXPECT_THAT(ps.out, AllOf(HasSubstr("<desk."), HasSubstr("<shop.")));
  const Outcome tree = RunWords({"cluster", "tree", first, second});
  EXPECT_THAT(tree.out, AllOf(HasSubstr("<desk."), HasSubstr("<shop.")));
  const Outcome names = RunWords({"cluster", "names", first, second, first});
  EXPECT_TRUE(names.status.ok()) << names.status;
  EXPECT_EQ(std::vector<std::string>(absl::StrSplit(names.out, "clerk")).size(), 3U)
      << "one of each node: " << names.out;
  EXPECT_THAT(names.out, InOrder("<desk.", "<shop."));
  // The busiest actors of both systems, by either order. The desk's clerk has the older message, and the shop's clerk
  // has more messages.
  const auto tell = [](ActorSystem& system, int messages) {
    const Ref<Clerk> clerk(*system.WhereIs("clerk"));
    system.Suspend(clerk.pid(), absl::Hours(1));
    for (int i = 0; i < messages; ++i) clerk[&Clerk::file].Tell(i);
  };
  tell(desk, 1);
  while (OldestMessageAge(desk) < absl::Milliseconds(500)) std::this_thread::yield();
  tell(shop, 2);
  EXPECT_THAT(RunWords({"cluster", "top", first, second}).out, InOrder("<shop.", "<desk."));
  EXPECT_THAT(RunWords({"cluster", "top", "--by=age", first, second}).out, InOrder("<desk.", "<shop."));
  const Outcome half = RunWords({"cluster", "tree", first, second + "x"});
  EXPECT_EQ(half.status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(half.out, HasSubstr("<desk."));
  EXPECT_THAT(half.prompt, HasSubstr("cannot reach the node's socket"));
}

TEST(ClientTest, ACommandIsRunOverTls) {
  TestCertificates certificates;
  certificates.Make("all", "desk alice");
  KeptLog log;
  ActorSystem system({.name = "desk", .log = &log});
  absl::StatusOr<std::unique_ptr<Node>> node =
      Node::Start(system, {.listen = "", .grants = {{.node = "alice", .ops = {OpsAction::kRead}}}});
  ASSERT_TRUE(node.ok()) << node.status();
  absl::StatusOr<std::unique_ptr<Ops>> ops =
      Ops::Start(system, {.listen = "127.0.0.1:0",
                          .node = node->get(),
                          .credentials = Credentials::Tls(certificates.Files("all", "desk"))});
  ASSERT_TRUE(ops.ok()) << ops.status();
  const auto run = [&](const std::string& name, std::vector<std::string> words) {
    words.push_back(absl::StrCat("--ops=tls://", name, "@", (*ops)->address()));
    for (const char* option : {"--cert=FOLDER/alice.pem", "--key=FOLDER/alice.key", "--ca=FOLDER/ca.pem"}) {
      words.push_back(absl::StrReplaceAll(option, {{"FOLDER", certificates.File("all")}}));
    }
    return RunWords(words);
  };
  const Outcome shown = run("desk", {"node"});
  EXPECT_TRUE(shown.status.ok()) << shown.status;
  EXPECT_THAT(shown.out, HasSubstr("node desk"));
  EXPECT_EQ(run("desk", {"drain", "--yes"}).status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(run("shop", {"node"}).status.code(), absl::StatusCode::kUnavailable)
      << "the certificate names another node";
  *ops = nullptr;
}

TEST(ClientTest, TheProxyOfTheEnvironmentIsNotUsed) {
  KeptLog log;
  ActorSystem system({.name = "desk", .log = &log});
  absl::StatusOr<std::unique_ptr<Node>> node =
      Node::Start(system, {.listen = "", .insecure_loopback_ops = {OpsAction::kRead}});
  ASSERT_TRUE(node.ok()) << node.status();
  absl::StatusOr<std::unique_ptr<Ops>> ops = Ops::Start(system, {.listen = "127.0.0.1:0", .node = node->get()});
  ASSERT_TRUE(ops.ok()) << ops.status();
  setenv("http_proxy", "http://127.0.0.1:1", /*replace=*/1);  // where nobody listens
  const Outcome shown = RunWords({"node", absl::StrCat("--ops=tcp://", (*ops)->address())});
  unsetenv("http_proxy");
  EXPECT_TRUE(shown.status.ok()) << shown.status;
  *ops = nullptr;
}

TEST(ClientTest, AnAddressThatIsRefusedIsNeverReached) {
  for (const char* address : {"tls://desk@127.0.0.1:1", "tcp://10.0.0.7:1"}) {
    const OpsTarget target{.address = address};
    EXPECT_FALSE(CheckTarget(target).ok());
    OpsChannel channel(target);
    const absl::Status status =
        channel.Ask(&proto::Ops::Stub::GetNode, proto::GetNodeRequest(), std::chrono::seconds(60)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << "it tried to connect: " << status;
  }
}

TEST(ClientTest, AnAddressThatCannotBeUsedIsToldWithWhatIsExpected) {
  const auto error = [](const std::string& address) {
    return std::string(RunWords({"node", absl::StrCat("--ops=", address)}).status.message());
  };
  EXPECT_THAT(error("tls://127.0.0.1:7000"), HasSubstr("does not say which node is there: expected tls://NODE@HOST"));
  EXPECT_THAT(error("tls://desk@127.0.0.1:7000"), HasSubstr("needs your certificate: expected --cert=FILE too"));
  EXPECT_THAT(error("tls://desk@nowhere"), HasSubstr("is not an address: expected tls://NODE@HOST:PORT"));
  EXPECT_THAT(error("tcp://10.0.0.7:7000"), HasSubstr("expected tls://NODE@HOST:PORT, because tcp:// proves nothing"));
}

TEST(ClientTest, ASocketThatCannotBeUsedIsToldWithTheReason) {
  const auto error = [](const std::string& socket) {
    return std::string(RunWords({"node", absl::StrCat("--ops=", socket)}).status.message());
  };
  EXPECT_EQ(error("/tmp/no/such\x1b"), "cannot reach the node's socket /tmp/no/such\\x1b: No such file or directory");
  EXPECT_EQ(error("/dev/null"), "/dev/null is not a socket: expected the path that the node's OpsOptions::listen has");
  EXPECT_EQ(error("/tmp"), "/tmp is not a socket: expected the path that the node's OpsOptions::listen has");
}

}  // namespace
}  // namespace understudy::tool
