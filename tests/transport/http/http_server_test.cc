// HttpServer with clients that are honest, slow, large, many or gone.
#include "understudy/transport/http/http_server.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/clock.h"
#include "understudy/tests/transport/metrics/scrape.h"
#include "understudy/transport/credentials.h"
#include "understudy/transport/http/event_stream.h"
#include "understudy/transport/http/http_message.h"

namespace understudy::internal {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr absl::Duration kWithin = absl::Seconds(60);
constexpr EventStream::Bounds kStreamBounds = {.events_max = 1000, .bytes_max = size_t{1} << 20};

class HttpServerTest : public ::testing::Test {
 protected:
  void Serve(HttpHandler handler) {
    absl::StatusOr<std::unique_ptr<HttpServer>> started =
        HttpServer::Start(*NodeAddress::Parse("127.0.0.1:0"), Credentials(), bounds_, std::move(handler));
    ASSERT_TRUE(started.ok()) << started.status();
    server_ = *std::move(started);
  }
  // A server whose answer is a stream; the streams of all requests go to streams_.
  void ServeStreams() {
    Serve([this](const HttpRequest&, const HttpReplier& replier) {
      streams_.push_back(std::make_shared<EventStream>(kStreamBounds));
      streams_.back()->Send("hello", absl::StrCat(streams_.size()));
      replier.Answer({.events = streams_.back()});
    });
  }
  std::string Ask(absl::string_view request) {
    RawClient client(server_->address());
    (void)client.Say(request);
    return client.Hear();
  }
  static bool Holds(const std::function<bool()>& condition) {
    const MonotonicTime deadline = Clock::Real().Now() + kWithin;
    while (!condition() && Clock::Real().Now() < deadline) std::this_thread::yield();
    return condition();
  }

  HttpBounds bounds_ = {.connections_max = 8,
                        .connection_within = absl::Seconds(3),
                        .connection_bytes_max = size_t{16} << 10,
                        .body_bytes_max = 1000,
                        .answer_within = absl::Seconds(1),
                        .streams_max = 3};
  std::vector<std::shared_ptr<EventStream>> streams_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerTest, TheHandlerSeesMethodPathQueryHeadersAndBody) {
  HttpRequest seen;
  Serve([&seen](HttpRequest request, const HttpReplier& replier) {
    seen = std::move(request);
    replier.Answer({.status = 201, .content_type = "text/x", .body = "done", .headers = {{"X-More", "yes"}}});
  });
  const HttpReply reply = ParseReply(Ask(
      "POST /a%20b?x=1&y=%3C7%3E HTTP/1.1\r\nHost: here\r\nX-Twice: a\r\nx-twice: b\r\nContent-Length: 4\r\n\r\nbody"));
  EXPECT_EQ(reply.status, 201);
  EXPECT_EQ(reply.body, "done");
  EXPECT_THAT(reply.headers, HasSubstr("Content-Type: text/x\r\n"));
  EXPECT_THAT(reply.headers, HasSubstr("X-More: yes\r\n"));
  EXPECT_THAT(reply.headers, HasSubstr("Connection: close\r\n"));
  EXPECT_THAT(reply.headers, HasSubstr("X-Content-Type-Options: nosniff\r\n"));
  EXPECT_EQ(seen.method, "POST");
  EXPECT_EQ(seen.path, "/a b");
  EXPECT_EQ(seen.query["x"], "1");
  EXPECT_EQ(seen.query["y"], "<7>");
  EXPECT_EQ(seen.body, "body");
  EXPECT_EQ(seen.Header("host"), "here");
  EXPECT_EQ(seen.Header("x-twice"), "a, b");
  EXPECT_EQ(seen.Header("x-none"), std::nullopt);
}

TEST_F(HttpServerTest, ABodyBeyondTheBoundIsRefusedWithoutTheHandler) {
  int handled = 0;
  Serve([&handled](const HttpRequest& request, const HttpReplier& replier) {
    ++handled;
    replier.Answer({.body = absl::StrCat(request.body.size())});
  });
  const std::string most(1000, 'x');
  EXPECT_THAT(Ask(absl::StrCat("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n", most)),
              testing::EndsWith("\r\n\r\n1000"));
  EXPECT_EQ(handled, 1);
  EXPECT_THAT(Ask("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\n\r\n"), HasSubstr("HTTP/1.1 413 "));
  EXPECT_THAT(Ask("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n"),
              Not(HasSubstr(" 200 ")));
  EXPECT_THAT(Ask(absl::StrCat("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3e8\r\n", most,
                               "\r\n1\r\nx\r\n0\r\n\r\n")),
              HasSubstr("HTTP/1.1 413 "));
  EXPECT_EQ(handled, 1);
}

TEST_F(HttpServerTest, EnormousHeadersAreRefusedAndABodyWithoutEndIsCutOff) {
  Serve([](const HttpRequest&, const HttpReplier& replier) { replier.Answer({.body = "fine"}); });
  const std::string big(size_t{1} << 20, 'x');
  EXPECT_THAT(Ask(absl::StrCat("GET / HTTP/1.1\r\nHost: a\r\nX-Big: ", big, "\r\n\r\n")), Not(HasSubstr(" 200 ")));
  EXPECT_THAT(Ask(absl::StrCat("GET /", big, " HTTP/1.1\r\nHost: a\r\n\r\n")), Not(HasSubstr(" 200 ")));
  RawClient endless(server_->address());
  EXPECT_TRUE(endless.Say("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"));
  const MonotonicTime deadline = Clock::Real().Now() + kWithin;
  while (endless.Say("1000\r\n" + std::string(0x1000, 'x') + "\r\n") && Clock::Real().Now() < deadline) {
  }
  EXPECT_LT(Clock::Real().Now(), deadline) << "it is still connected";
  EXPECT_THAT(Ask("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), HasSubstr(" 200 "));
}

TEST_F(HttpServerTest, AnAnswerMayComeLaterFromAnotherThreadAndDelaysNoOtherRequest) {
  bounds_.answer_within = kWithin;
  bounds_.connection_within = kWithin;
  std::optional<HttpReplier> later;
  absl::Notification asked;
  Serve([&](const HttpRequest& request, const HttpReplier& replier) {
    if (request.path == "/now") return replier.Answer({.body = "now"});
    later = replier;
    asked.Notify();
  });
  RawClient waits(server_->address());
  EXPECT_TRUE(waits.Say("GET /later HTTP/1.1\r\nHost: a\r\n\r\n"));
  ASSERT_TRUE(asked.WaitForNotificationWithTimeout(kWithin));
  EXPECT_EQ(Fetch(server_->address(), "/now").body, "now");
  std::thread([&later] {
    later->Answer({.body = "later"});
    later->Answer({.body = "twice"});
  }).join();
  EXPECT_EQ(ParseReply(waits.Hear()).body, "later");
}

TEST_F(HttpServerTest, ARequestThatNobodyAnswersGets504) {
  Serve([](const HttpRequest&, const HttpReplier&) {});
  EXPECT_EQ(Fetch(server_->address(), "/").status, 504);
}

TEST_F(HttpServerTest, AStreamGoesOnWhileOthersAreAnsweredAndOutlivesTheTimeOfAConnection) {
  bounds_.connection_within = absl::Seconds(1);
  ServeStreams();
  RawClient reader(server_->address());
  EXPECT_TRUE(reader.Say("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
  EXPECT_THAT(reader.HearUntil("data: 1\n\n"), HasSubstr("Content-Type: text/event-stream\r\n"));
  const MonotonicTime begun = Clock::Real().Now();
  int number = 0;
  while (Clock::Real().Now() - begun < absl::Seconds(3)) {
    streams_[0]->Send("n", absl::StrCat("event ", ++number));
    EXPECT_THAT(reader.HearUntil(absl::StrCat("event ", number)), HasSubstr("event: n\n"));
  }
  streams_[0]->End();
  (void)reader.Hear();
}

TEST_F(HttpServerTest, AStreamWithoutEventsBeats) {
  ServeStreams();
  RawClient reader(server_->address());
  EXPECT_TRUE(reader.Say("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
  (void)reader.HearUntil("event: hello\ndata: 1\n\n");
  (void)reader.HearUntil("\n:\n\n");
}

TEST_F(HttpServerTest, StreamsBeyondTheBoundAreRefusedUntilAReaderHasGone) {
  ServeStreams();
  std::vector<std::unique_ptr<RawClient>> readers;
  for (size_t i = 0; i < bounds_.streams_max; ++i) {
    readers.push_back(std::make_unique<RawClient>(server_->address()));
    EXPECT_TRUE(readers.back()->Say("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
    (void)readers.back()->HearUntil("event: hello");
  }
  EXPECT_EQ(Fetch(server_->address(), "/").status, 503);
  EXPECT_FALSE(streams_.back()->is_open());
  readers.pop_back();
  EXPECT_TRUE(Holds([this] { return !streams_[2]->is_open(); })) << "the server has not seen that the reader has gone";
  RawClient next(server_->address());
  EXPECT_TRUE(next.Say("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
  (void)next.HearUntil("event: hello");
  for (const std::shared_ptr<EventStream>& stream : streams_) stream->End();
}

TEST_F(HttpServerTest, ASlowReaderLosesTheOldestAndIsTold) {
  ServeStreams();
  RawClient reader(server_->address());
  EXPECT_TRUE(reader.Say("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
  (void)reader.HearUntil("event: hello");
  const std::string data(size_t{100} << 10, 'x');
  for (int i = 0; i < 300; ++i) streams_[0]->Send("n", absl::StrCat(i, " ", data));
  streams_[0]->Send("last", "one");
  const std::string heard = reader.HearUntil("event: last");
  EXPECT_THAT(heard, HasSubstr("event: lost\ndata: "));
  EXPECT_LT(heard.size(), 300 * data.size());
  streams_[0]->End();
}

TEST_F(HttpServerTest, ASilentConnectionIsCutOff) {
  Serve([](const HttpRequest&, const HttpReplier& replier) { replier.Answer({.body = "fine"}); });
  RawClient silent(server_->address());
  EXPECT_THAT(silent.Hear(), IsEmpty());
}

TEST_F(HttpServerTest, AtTheBoundTheOldestConnectionWithoutARequestGivesItsPlaceAndThoseWithOneKeepIt) {
  bounds_.connection_within = 10 * kWithin;
  bounds_.answer_within = 10 * kWithin;
  absl::Mutex mu;
  std::vector<HttpReplier> repliers;
  Serve([&](const HttpRequest& request, const HttpReplier& replier) {
    if (request.path != "/later") return replier.Answer({.body = "now"});
    const absl::MutexLock lock(&mu);
    repliers.push_back(replier);
  });
  const auto asked = [&] {
    const absl::MutexLock lock(&mu);
    return repliers.size();
  };
  std::vector<std::unique_ptr<RawClient>> asking;
  const auto ask_later = [&] {
    asking.push_back(std::make_unique<RawClient>(server_->address()));
    EXPECT_TRUE(asking.back()->Say("GET /later HTTP/1.1\r\nHost: a\r\n\r\n"));
    EXPECT_TRUE(Holds([&] { return asked() == asking.size(); }));
  };
  ask_later();
  std::vector<std::unique_ptr<RawClient>> silent;
  for (unsigned i = 1; i < bounds_.connections_max; ++i) {
    silent.push_back(std::make_unique<RawClient>(server_->address()));
  }
  EXPECT_EQ(Fetch(server_->address(), "/").body, "now");
  EXPECT_THAT(silent.front()->Hear(), IsEmpty());
  EXPECT_FALSE(silent.back()->HearsWithin(0)) << "one place was needed";
  while (asking.size() < bounds_.connections_max) ask_later();
  EXPECT_THAT(silent.back()->Hear(), IsEmpty());
  RawClient next(server_->address());
  EXPECT_TRUE(next.Say("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
  EXPECT_FALSE(next.HearsWithin(200)) << "all places are of clients that wait for an answer";
  const absl::MutexLock lock(&mu);
  for (const HttpReplier& replier : repliers) replier.Answer({.body = "later"});
  for (const std::unique_ptr<RawClient>& client : asking) EXPECT_EQ(ParseReply(client->Hear()).body, "later");
  EXPECT_EQ(ParseReply(next.Hear()).body, "now");
}

TEST_F(HttpServerTest, AnswersThatNobodyReadsKeepNobodyOut) {
  bounds_.connection_within = 10 * kWithin;
  const std::string large(size_t{16} << 20, 'x');
  Serve([&](const HttpRequest& request, const HttpReplier& replier) {
    replier.Answer({.body = request.path == "/large" ? large : "alive"});
  });
  std::vector<std::unique_ptr<RawClient>> unread;
  for (unsigned i = 0; i < bounds_.connections_max; ++i) {
    unread.push_back(std::make_unique<RawClient>(server_->address()));
    EXPECT_TRUE(unread.back()->Say("GET /large HTTP/1.1\r\nHost: a\r\n\r\n"));
    EXPECT_TRUE(unread.back()->HearsWithin(60'000));
  }
  EXPECT_EQ(Fetch(server_->address(), "/").body, "alive");
  EXPECT_LT(unread.front()->Hear().size(), large.size()) << "the first gave its place";
  EXPECT_EQ(ParseReply(unread.back()->Hear()).body, large) << "one place was needed";
}

TEST_F(HttpServerTest, ItEndsWithStreamsAndRequestsUnderWayWhoseOwnersMayGoOn) {
  std::vector<HttpReplier> repliers;
  bounds_.answer_within = kWithin;
  Serve([&](const HttpRequest& request, const HttpReplier& replier) {
    if (request.path == "/later") return repliers.push_back(replier);
    streams_.push_back(std::make_shared<EventStream>(kStreamBounds));
    streams_.back()->Send("hello", "1");
    replier.Answer({.events = streams_.back()});
  });
  RawClient waits(server_->address());
  EXPECT_TRUE(waits.Say("GET /later HTTP/1.1\r\nHost: a\r\n\r\n"));
  RawClient reads(server_->address());
  EXPECT_TRUE(reads.Say("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
  (void)reads.HearUntil("event: hello");
  server_ = nullptr;
  EXPECT_THAT(waits.Hear(), IsEmpty());
  (void)reads.Hear();
  EXPECT_FALSE(streams_[0]->is_open());
  streams_[0]->Send("n", "2");
  for (const HttpReplier& replier : repliers) replier.Answer({.body = "too late"});
}

}  // namespace
}  // namespace understudy::internal
