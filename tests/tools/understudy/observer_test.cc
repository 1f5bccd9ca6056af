// The observer page's server, tested without a browser: the events about nodes, the actions, and the requests that it
// refuses.
#include "understudy/tools/understudy/observer/observer.h"

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/printable_text.h"
#include "understudy/actors/testing/kept_log.h"
#include "understudy/supervision/builders.h"
#include "understudy/tests/tools/understudy/impostor.h"
#include "understudy/tests/transport/metrics/scrape.h"
#include "understudy/tests/transport/socket_path.h"
#include "understudy/tests/transport/test_certificates.h"
#include "understudy/tools/understudy/observer/observer_limits.h"
#include "understudy/tools/understudy/observer/page_files.h"
#include "understudy/transport/credentials.h"
#include "understudy/transport/grants.h"
#include "understudy/transport/node.h"
#include "understudy/transport/ops/ops.h"

namespace understudy::tool {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr absl::Duration kWithin = absl::Seconds(60);

class Clerk final : public Actor {
 public:
  Mailbox<"crash", int> crash{this};
  StartResult Start() override { return working_; }

 private:
  Behavior working_{"working", On(crash, [this](int) { (void)Fail(absl::InternalError("the file is on fire")); })};
};

// A node with a clerk below a supervisor, and the node's operator service.
class Desk {
 public:
  explicit Desk(std::string name)
      : system_({.name = name, .log = &log_}),
        ops_(*Ops::Start(system_, {.listen = absl::StrCat("unix:", SocketPath(name)), .actions = {OpsAction::kKill}})),
        root_(system_.Spawn(OneForOne().Child("clerk", Of<Clerk>().RegisteredAs("clerk")))) {
    EXPECT_TRUE(system_.AwaitStart(root_.pid(), kWithin).ok());
  }
  Ref<Clerk> clerk() { return Ref<Clerk>(*system_.WhereIs("clerk")); }
  void EndOps() { ops_ = nullptr; }

 private:
  KeptLog log_;
  ActorSystem system_;
  std::unique_ptr<Ops> ops_;
  SupervisorRef root_;
};

class ObserverTest : public ::testing::Test {
 protected:
  void Observe(const std::vector<std::string>& names) {
    ObserverOptions options;
    for (const std::string& name : names) options.nodes.push_back(SocketPath(name));
    Observe(std::move(options));
  }
  void Observe(ObserverOptions options) {
    absl::StatusOr<std::unique_ptr<Observer>> started = Observer::Start(std::move(options));
    ASSERT_TRUE(started.ok()) << started.status();
    observer_ = *std::move(started);
    const std::string printed = observer_->PrintedAddress();
    const std::pair<std::string, std::string> parts =
        absl::StrSplit(absl::StripPrefix(printed, "http://"), absl::MaxSplits("/#", 1));
    authority_ = parts.first;
    token_ = parts.second;
  }
  // Returns the head of a request that the page sends. `more` is empty or ends with a line break.
  std::string Head(absl::string_view method, absl::string_view path, absl::string_view more = "") const {
    return absl::StrCat(method, " ", path, " HTTP/1.1\r\nHost: ", authority_, "\r\nX-Understudy-Token: ", token_,
                        "\r\n", more, "\r\n");
  }
  HttpReply Send(absl::string_view request) const {
    RawClient client(authority_);
    EXPECT_TRUE(client.Say(request));
    return ParseReply(client.Hear());
  }
  HttpReply Read(absl::string_view path) const { return Send(Head("GET", path)); }
  HttpReply Act(absl::string_view body) const {
    return Send(
        absl::StrCat(Head("POST", "/api/act?node=0",
                          absl::StrCat("Origin: http://", authority_, "\r\nContent-Length: ", body.size(), "\r\n")),
                     body));
  }
  // Returns a page that has asked for the stream.
  std::unique_ptr<RawClient> OpenPage() const {
    auto page = std::make_unique<RawClient>(authority_);
    EXPECT_TRUE(page->Say(Head("GET", "/api/stream")));
    return page;
  }

  std::string authority_;
  std::string token_;
  std::unique_ptr<Observer> observer_;
};

TEST_F(ObserverTest, ThePageIsServedWithAStrictPolicyAndNamesNothingFromElsewhere) {
  Observe({"nobody"});
  for (const char* name : {"/", "/page.js", "/page.css", "/rows.js", "/stream.js", "/model.js", "/panel.js"}) {
    const HttpReply file = Send(absl::StrCat("GET ", name, " HTTP/1.1\r\nHost: ", authority_, "\r\n\r\n"));
    EXPECT_EQ(file.status, 200) << name;
    EXPECT_THAT(file.headers, HasSubstr("Content-Security-Policy: default-src 'none';"));
    EXPECT_THAT(file.headers, HasSubstr("frame-ancestors 'none'"));
    EXPECT_THAT(file.headers, Not(HasSubstr("unsafe")));
    EXPECT_THAT(file.headers, HasSubstr("X-Frame-Options: DENY\r\n"));
    EXPECT_THAT(file.headers, HasSubstr("Referrer-Policy: no-referrer\r\n"));
    EXPECT_THAT(file.headers, Not(HasSubstr("Set-Cookie")));
    for (const char* never :
         {"http:", "https:", "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("}) {
      EXPECT_THAT(file.body, Not(HasSubstr(never))) << name;
    }
    EXPECT_THAT(file.body, Not(HasSubstr(token_)));
  }
  EXPECT_THAT(Read("/").headers, HasSubstr("Content-Type: text/html; charset=utf-8\r\n"));
  EXPECT_EQ(Read("/../../etc/passwd").status, 404);
  EXPECT_EQ(Read("/page.html/x").status, 404);
}

TEST_F(ObserverTest, RequestsOfOtherPagesAreRefused) {
  Observe({"nobody"});
  for (const char* path : {"/api/stream", "/api/actor?node=0&actor=x", "/api/search?node=0&text=x"}) {
    EXPECT_EQ(Send(absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: ", authority_, "\r\n\r\n")).status, 401) << path;
    EXPECT_EQ(
        Send(absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: evil.example\r\nX-Understudy-Token: ", token_, "\r\n\r\n"))
            .status,
        403)
        << path;
    EXPECT_EQ(Send(Head("GET", path, "Origin: http://evil.example\r\n")).status, 403) << path;
    EXPECT_EQ(Send(Head("GET", path, "Host: evil.example\r\n")).status, 403) << "a second Host";
  }
  EXPECT_EQ(Send("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n").status, 403);
  EXPECT_EQ(Send(Head("GET", "/api/act?node=0")).status, 405);
  EXPECT_EQ(Send(Head("POST", "/api/act?node=0", "Content-Length: 0\r\n")).status, 403) << "no Origin";
  const HttpReply preflight = Send(Head("OPTIONS", "/api/act?node=0", "Origin: http://evil.example\r\n"));
  EXPECT_EQ(preflight.status, 405);
  EXPECT_THAT(preflight.headers, Not(HasSubstr("Access-Control-Allow")));
  const HttpReply wrong = Send(absl::StrCat("GET /api/stream HTTP/1.1\r\nHost: ", authority_,
                                            "\r\nX-Understudy-Token: ", std::string(32, '0'), "\r\n\r\n"));
  EXPECT_EQ(wrong.status, 401);
  EXPECT_THAT(wrong.body, Not(HasSubstr(token_)));
}

TEST_F(ObserverTest, APageGetsWhatIsKnownAndThenACrashWithItsRestart) {
  Desk desk("desk");
  Observe({"desk"});
  const std::unique_ptr<RawClient> page = OpenPage();
  const std::string first = page->HearUntil("\"state\":\"running\"");
  EXPECT_THAT(first, HasSubstr("event: nodes\ndata: 1\n\n"));
  EXPECT_THAT(first, HasSubstr(absl::StrCat("\"id\":\"clerk\"")));
  (void)page->HearUntil("\"name\":\"desk\"");
  (void)page->HearUntil("\"kind\":\"started\"");  // the initial state has arrived, so the crash is a change
  desk.clerk()[&Clerk::crash].Tell(1);
  const std::string crash = page->HearUntil("\"kind\":\"is restarted\"");
  EXPECT_THAT(crash, HasSubstr("event: events\ndata: {\"number\":0,\"body\":{\"whole\":false,"));
  EXPECT_THAT(crash, HasSubstr("\"kind\":\"exited\""));
  EXPECT_THAT(crash, HasSubstr("the file is on fire"));
  (void)page->HearUntil("\"restarts\":1");
}

TEST_F(ObserverTest, ANodeIsSeenOverTls) {
  TestCertificates certificates;
  certificates.Make("all", "desk alice");
  KeptLog log;
  ActorSystem system({.name = "desk", .log = &log});
  const absl::StatusOr<std::unique_ptr<Node>> node =
      Node::Start(system, {.listen = "", .grants = {{.node = "alice", .ops = {OpsAction::kRead}}}});
  ASSERT_TRUE(node.ok()) << node.status();
  const absl::StatusOr<std::unique_ptr<Ops>> ops =
      Ops::Start(system, {.listen = "127.0.0.1:0",
                          .node = node->get(),
                          .credentials = Credentials::Tls(certificates.Files("all", "desk"))});
  ASSERT_TRUE(ops.ok()) << ops.status();
  Observe({.nodes = {absl::StrCat("tls://desk@", (*ops)->address())}, .tls = certificates.Files("all", "alice")});
  (void)OpenPage()->HearUntil("\"name\":\"desk\"");
}

TEST_F(ObserverTest, APageThatIsOpenedLaterGetsTheEntriesThatWereKept) {
  Desk desk("desk");
  desk.clerk()[&Clerk::crash].Tell(1);
  Observe({"desk"});
  (void)OpenPage()->HearUntil("the file is on fire");
  const std::unique_ptr<RawClient> second = OpenPage();
  (void)second->HearUntil("the file is on fire");
  (void)OpenPage()->HearUntil("\"restarts\":1");
}

TEST_F(ObserverTest, AnActorIsReadAndFound) {
  Desk desk("desk");
  Observe({"nobody", "desk"});
  const HttpReply actor = Read("/api/actor?node=1&actor=clerk");
  EXPECT_EQ(actor.status, 200) << actor.body;
  EXPECT_THAT(actor.headers, HasSubstr("Content-Type: application/json\r\n"));
  EXPECT_THAT(actor.body, HasSubstr("\"behavior\":\"working\""));
  EXPECT_THAT(actor.body, HasSubstr("\"name\":\"crash\""));
  EXPECT_THAT(Read("/api/search?node=1&text=Clerk").body, HasSubstr("\"names\":[\"clerk\"]"));
  const HttpReply none = Read("/api/actor?node=1&actor=%3Cscript%3E");
  EXPECT_EQ(none.status, 404);
  EXPECT_THAT(none.body, HasSubstr("is neither a pid of node desk nor a name"));
  EXPECT_EQ(Read("/api/actor?node=2&actor=clerk").status, 400);
  EXPECT_EQ(Read("/api/actor?actor=clerk").status, 400);
  EXPECT_EQ(Read("/api/search?node=1&text=x&after=y").status, 400);
  EXPECT_EQ(Read("/api/actor?node=0&actor=clerk").status, 502) << "there is no such node";
}

TEST_F(ObserverTest, AnActionIsForwardedAndWhatTheNodeRefusesIsRefused) {
  Desk desk("desk");
  Observe({"desk"});
  const std::unique_ptr<RawClient> page = OpenPage();
  (void)page->HearUntil("\"actions\":[\"KILL\"]");
  const HttpReply stop = Act("{\"action\":\"STOP\",\"actor\":\"clerk\"}");
  EXPECT_EQ(stop.status, 403);
  EXPECT_THAT(stop.body, HasSubstr(" to stop clerk: OpsOptions::actions lacks stop"));
  const HttpReply kill = Act("{\"action\":\"KILL\",\"actor\":\"clerk\"}");
  EXPECT_EQ(kill.status, 200) << kill.body;
  EXPECT_THAT(kill.body, HasSubstr("kill clerk"));
  (void)page->HearUntil("\"kind\":\"is restarted\"");
  for (const char* body : {"", "{", "[]", "{\"action\":\"EXPLODE\"}", "{\"nobody\":1}", "\"\\ud800\""}) {
    EXPECT_EQ(Act(body).status, 400) << body;
  }
  EXPECT_EQ(Act(std::string(limits::kObserverBodyBytesMax + 1, ' ')).status, 413);
}

TEST_F(ObserverTest, ANodeThatEndsIsToldAndOneThatBeginsTooWithoutTheOthersWaiting) {
  auto desk = std::make_unique<Desk>("desk");
  Observe({"desk", "late"});
  const std::unique_ptr<RawClient> page = OpenPage();
  (void)page->HearUntil("\"name\":\"desk\"");
  desk->EndOps();
  (void)page->HearUntil(absl::StrCat("cannot reach the node's socket ", SocketPath("desk")));
  const Desk late("late");
  (void)page->HearUntil("\"name\":\"late\"");
}

TEST_F(ObserverTest, ARestartedNodeWithoutEntriesDoesNotKeepThoseOfItsLifeBefore) {
  const auto desk = [](KeptLog& log) {
    return std::make_unique<ActorSystem>(ActorSystemOptions{.name = "desk", .log = &log});
  };
  const auto serve = [](ActorSystem& system) {
    absl::StatusOr<std::unique_ptr<Ops>> ops =
        Ops::Start(system, {.listen = absl::StrCat("unix:", SocketPath("desk"))});
    EXPECT_TRUE(ops.ok()) << ops.status();
    return *std::move(ops);
  };
  KeptLog log;
  auto first = desk(log);
  auto ops = serve(*first);
  const Ref<Clerk> clerk = first->Spawn<Clerk>();
  first->Kill(clerk.pid());
  ASSERT_TRUE(first->AwaitEnd(clerk.pid(), absl::Seconds(60)).ok());
  clerk[&Clerk::crash].Tell(1);
  Observe({"desk"});
  const std::unique_ptr<RawClient> page = OpenPage();
  (void)page->HearUntil("\"mailbox\":\"crash\"");
  ops = nullptr;
  first = nullptr;
  (void)page->HearUntil("cannot reach the node's socket");
  const auto second = desk(log);
  ops = serve(*second);
  (void)page->HearUntil(absl::StrCat("\"incarnation\":\"", second->incarnation().bits, "\""));
  const std::unique_ptr<RawClient> other = OpenPage();  // a new page gets the state that the server has kept
  (void)other->HearUntil(R"(event: letters
data: {"number":0,"body":{"whole":true,"lost":0,"entries":[]}})");
  ops = nullptr;
}

TEST_F(ObserverTest, WhatAHostileNodeSaysIsPrintableJson) {
  Impostor impostor(SocketPath("impostor"));
  Observe({"impostor"});
  const std::unique_ptr<RawClient> page = OpenPage();
  (void)page->HearUntil("event: top");
  std::vector<std::string> said = {Read("/api/actor?node=0&actor=x").body, Read("/api/search?node=0&text=x").body,
                                   Act("{\"action\":\"KILL\",\"actor\":\"x\"}").body};
  int events = 0;
  for (const absl::string_view line : absl::StrSplit(page->HearUntil("\"pid\":\"root\""), '\n')) {
    absl::string_view data = line;
    // The last line may be incomplete, and a line of the transfer encoding contains no data.
    if (!absl::ConsumePrefix(&data, "data: ") || !absl::EndsWith(data, "}}")) continue;
    said.emplace_back(data);
    ++events;
  }
  EXPECT_GE(events, 4);
  for (const std::string& json : said) {
    EXPECT_EQ(PrintableText(json, Backslashes::kKeep), json);
    EXPECT_THAT(json, Not(HasSubstr("<")));
    google::protobuf::Struct any;
    EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(json, &any).ok()) << json;
  }
}

TEST_F(ObserverTest, ItEndsWithPagesOpenAndRequestsUnderWay) {
  Desk desk("desk");
  Observe({"desk"});
  const std::unique_ptr<RawClient> page = OpenPage();
  (void)page->HearUntil("event: tree");
  RawClient asks(authority_);
  EXPECT_TRUE(asks.Say(Head("GET", "/api/actor?node=0&actor=clerk")));
  observer_ = nullptr;
  (void)page->Hear();
  (void)asks.Hear();
}

TEST_F(ObserverTest, OptionsThatCannotBeAreRefused) {
  EXPECT_EQ(Observer::Start({}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Observer::Start({.nodes = std::vector<std::string>(limits::kObservedNodesMax + 1, "/x")}).status().code(),
            absl::StatusCode::kInvalidArgument);
  for (const int port : {-1, 65536}) {
    EXPECT_EQ(Observer::Start({.nodes = {"/x"}, .port = port}).status().code(), absl::StatusCode::kInvalidArgument);
  }
  Observe({"nobody"});
  int port = 0;
  ASSERT_TRUE(absl::SimpleAtoi(authority_.substr(authority_.find(':') + 1), &port));
  EXPECT_EQ(Observer::Start({.nodes = {"/x"}, .port = port}).status().code(), absl::StatusCode::kAlreadyExists);
}

}  // namespace
}  // namespace understudy::tool
