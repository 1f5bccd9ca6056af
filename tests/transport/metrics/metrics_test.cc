// Tests of metrics and probes over HTTP: their contents, while workers are stuck and while the node drains, and clients
// that misbehave.
#include "understudy/transport/metrics/metrics.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/testing/kept_log.h"
#include "understudy/actors/trace.h"
#include "understudy/supervision/builders.h"
#include "understudy/tests/transport/metrics/scrape.h"
#include "understudy/tests/transport/metrics/strict_exposition.h"
#include "understudy/transport/core/node_core.h"
#include "understudy/transport/http/http_message.h"
#include "understudy/transport/metrics/metrics_limits.h"
#include "understudy/transport/metrics/page_thread.h"
#include "understudy/transport/node.h"

namespace understudy {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr absl::Duration kWithin = absl::Seconds(60);

class Clerk final : public Actor {
 public:
  Mailbox<"file", int> file{this};
  Mailbox<"crash", int> crash{this};
  StartResult Start() override { return working_; }

 private:
  Behavior working_{"working", On(file, [](int) {}),
                    On(crash, [this](int) { (void)Fail(absl::InternalError("the file is on fire")); })};
};

// Blocks its worker while it handles `block`, or while it ends.
class Blocker final : public Actor {
 public:
  Mailbox<"block", int> block{this};
  Blocker(absl::Notification* begun, absl::Notification* go_on) : begun_(begun), go_on_(go_on) {}
  StartResult Start() override { return blocking_; }
  void OnExit(const ExitReason&) override {
    if (!begun_->HasBeenNotified()) Block(0);
  }

 private:
  void Block(int) {
    begun_->Notify();
    go_on_->WaitForNotification();
  }
  absl::Notification* const begun_;
  absl::Notification* const go_on_;
  Behavior blocking_{"blocking", On(block, &Blocker::Block)};
};

class MetricsTest : public ::testing::Test {
 protected:
  void StartMetrics(MetricsOptions options = {}) {
    absl::StatusOr<std::unique_ptr<Metrics>> started = Metrics::Start(system_, std::move(options));
    ASSERT_TRUE(started.ok()) << started.status();
    metrics_ = *std::move(started);
  }
  HttpReply Get(absl::string_view path) { return Fetch(metrics_->address(), path); }
  // Scrapes until `is_there` holds for the page.
  Series ScrapeUntil(const std::function<bool(const Series&)>& is_there) {
    const MonotonicTime deadline = Clock::Real().Now() + kWithin;
    Series series;
    do {
      const HttpReply reply = Get("/metrics");
      EXPECT_EQ(reply.status, 200);
      absl::StatusOr<Series> parsed = ParseExposition(reply.body);
      EXPECT_TRUE(parsed.ok()) << parsed.status();
      series = parsed.value_or(Series());
    } while (!is_there(series) && Clock::Real().Now() < deadline);
    return series;
  }
  HttpReply GetUntil(absl::string_view path, int status) {
    const MonotonicTime deadline = Clock::Real().Now() + kWithin;
    HttpReply reply = Get(path);
    while (reply.status != status && Clock::Real().Now() < deadline) reply = Get(path);
    EXPECT_EQ(reply.status, status) << path;
    return reply;
  }

  // Used by a Blocker, whose handler may run until the system has ended, so these are declared before the system.
  absl::Notification begun_;
  absl::Notification go_on_;
  KeptLog log_;
  ActorSystem system_{
      {.name = "desk", .threads = {.threads = 1, .surplus_threads_max = 0, .log = &log_}, .log = &log_}};
  std::unique_ptr<Metrics> metrics_;
};

TEST_F(MetricsTest, APageTellsWhatHappened) {
  StartMetrics({.version = "1.2 \"three\""});
  const SupervisorRef root = system_.Spawn(OneForOne().Child("clerk", Of<Clerk>().RegisteredAs("clerk")));
  ASSERT_TRUE(system_.AwaitStart(root.pid(), kWithin).ok());
  const Ref<Clerk> clerk(*system_.WhereIs("clerk"));
  for (int i = 0; i < 3; ++i) clerk[&Clerk::file].Tell(i);
  clerk[&Clerk::crash].Tell(1);
  ASSERT_TRUE(system_.AwaitEnd(clerk.pid(), kWithin).ok());
  clerk[&Clerk::file].Tell(4);  // a dead letter
  system_.log().Write(LogSeverity::kError, "a line of the log");
  Series page = ScrapeUntil([](const Series& series) {
    const auto started = series.find("understudy_supervision_events_total{event=\"started\"}");
    const auto lost = series.find("understudy_dead_letters_total");
    // The thread that waited for the end was an actor for a moment.
    return started != series.end() && started->second == 2 && series.at("understudy_actors") == 2 &&
           lost != series.end() && lost->second == 1;
  });
  EXPECT_EQ(page["understudy_node_info{node=\"desk\"}"], 1);
  EXPECT_EQ(page["understudy_messages_total{mailbox=\"file\",outcome=\"handled\"}"], 3);
  EXPECT_EQ(page["understudy_messages_total{mailbox=\"crash\",outcome=\"failed\"}"], 1);
  EXPECT_EQ(page["understudy_messages_accepted_total{mailbox=\"crash\"}"], 1);
  EXPECT_EQ(page["understudy_messages_waiting{mailbox=\"file\"}"], 0);
  EXPECT_EQ(page["understudy_messages_refused_total"], 1);
  EXPECT_EQ(page["understudy_dead_letters_total"], 1);
  EXPECT_EQ(page["understudy_child_restarts_total"], 1);
  EXPECT_EQ(page["understudy_supervision_events_total{event=\"exited\"}"], 1);
  EXPECT_EQ(page["understudy_supervision_give_ups_total"], 0);
  EXPECT_EQ(page["understudy_actors"], 2);
  EXPECT_EQ(page["understudy_ready"], 1);
  EXPECT_GE(page["understudy_log_lines_total{severity=\"error\"}"], 1);
  EXPECT_EQ(page["understudy_log_lines_left_out_total"], 0);
  EXPECT_EQ(page["understudy_workers{state=\"busy\"}"] + page["understudy_workers{state=\"parked\"}"], 1);
  EXPECT_GT(page["understudy_handlers_entered_total"], 0);
  EXPECT_GT(page["process_cpu_seconds_total"], 0);
  EXPECT_GT(page["process_resident_memory_bytes"], 1 << 20);
  EXPECT_GT(page["process_virtual_memory_bytes"], page["process_resident_memory_bytes"]);
  EXPECT_GT(page["process_open_fds"], 3);
  EXPECT_GT(page["process_max_fds"], page["process_open_fds"]);
  EXPECT_GT(page["process_start_time_seconds"], 1.7e9);
  EXPECT_GE(page["process_threads"], 3);
  EXPECT_THAT(Get("/metrics").body, HasSubstr("version=\"1.2 \\\"three\\\"\"} 1\n"));
  EXPECT_FALSE(page.contains("understudy_peers{state=\"up\"}")) << "there is no node";
}

TEST_F(MetricsTest, APageHasTheTimesOfHandlers) {
  StartMetrics();
  const Ref<Clerk> clerk = system_.Spawn<Clerk>();
  for (int i = 0; i < 1000; ++i) clerk[&Clerk::file].Tell(i);
  Series page = ScrapeUntil([](const Series& series) {
    const auto handled = series.find("understudy_messages_total{mailbox=\"file\",outcome=\"handled\"}");
    return handled != series.end() && handled->second == 1000;
  });
  const auto count = std::find_if(page.begin(), page.end(), [](const auto& sample) {
    return absl::StartsWith(sample.first, "understudy_handler_seconds_count{class=") &&
           absl::StrContains(sample.first, "mailbox=\"file\"");
  });
  ASSERT_NE(count, page.end());
  EXPECT_GE(count->second, 1);
  EXPECT_LE(count->second, 1000);
  const std::string last = absl::StrReplaceAll(count->first, {{"_count", "_bucket"}, {"}", ",le=\"+Inf\"}"}});
  EXPECT_EQ(page.at(last), count->second);
}

// Takes nothing out of `shut`.
class Shut final : public Actor {
 public:
  Mailbox<"shut", int> shut{this};
  Mailbox<"open", int> open{this};
  StartResult Start() override { return working_; }

 private:
  Behavior working_{"working", On(open, [](int) {})};
};

TEST_F(MetricsTest, APageHasTheAgeOfTheOldestMessageAndTheLatenessOfTimers) {
  StartMetrics();
  const Ref<Shut> shut = system_.Spawn<Shut>();
  shut[&Shut::shut].Tell(1);
  absl::Notification called;
  system_.executor().RunAt(system_.clock().Now(), [&called] { called.Notify(); });
  called.WaitForNotification();
  const Series page = ScrapeUntil([](const Series& series) {
    return series.at("understudy_oldest_message_age_seconds") > 0.2 &&
           series.at("understudy_timer_lateness_seconds_count") > 0;
  });
  EXPECT_LT(page.at("understudy_oldest_message_age_seconds"), 600);
  system_.Kill(shut.pid());
}

TEST_F(MetricsTest, APageOfASystemWithTracesSaysWhichSpansWereLost) {
  class Spans final : public SpanSink {
   public:
    void Take(const Span& /*span*/) override {}
    SpanCounts counts() const override { return {.exported = 7, .dropped_full = 2, .dropped_sent = 1}; }
  };
  Spans spans;
  ActorSystem traced({.name = "traced", .log = &log_, .tracing = {.spans = &spans}});
  const absl::StatusOr<std::unique_ptr<Metrics>> metrics = Metrics::Start(traced);
  ASSERT_TRUE(metrics.ok()) << metrics.status();
  const absl::StatusOr<Series> page = ParseExposition(Fetch((*metrics)->address(), "/metrics").body);
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(page->at("understudy_spans_exported_total"), 7);
  EXPECT_EQ(page->at("understudy_spans_dropped_total{cause=\"queue_full\"}"), 2);
  EXPECT_EQ(page->at("understudy_spans_dropped_total{cause=\"not_taken\"}"), 1);
  EXPECT_EQ(page->at("understudy_foreign_traces_refused_total"), 0);
  StartMetrics();
  EXPECT_THAT(Get("/metrics").body, Not(HasSubstr("understudy_spans"))) << "this system has no traces";
}

// Has a mailbox that is bounded in bytes and that no behavior opens.
class Archive final : public Actor {
 public:
  Mailbox<"text", std::string> text{this, {.capacity_bytes = 1000}};
  Mailbox<"open", int> open{this};
  StartResult Start() override { return closed_; }

 private:
  Behavior closed_{"closed", On(open, [](int) {})};
};

TEST_F(MetricsTest, APageHasTheMemoryOfTheKernel) {
  StartMetrics();
  const Ref<Archive> archive = system_.Spawn<Archive>();
  ASSERT_TRUE(system_.AwaitStart(archive.pid(), kWithin).ok());
  const Series before = ScrapeUntil([](const Series&) { return true; });
  EXPECT_EQ(before.at("understudy_messages_waiting_bytes"), 0);
  EXPECT_GE(before.at("understudy_cell_memory_bytes"), 192);
  EXPECT_LE(before.at("understudy_message_memory_free_bytes"), before.at("understudy_message_memory_bytes"));
  for (int i = 0; i < 1000; ++i) (void)system_.Spawn<Archive>();
  archive[&Archive::text].Tell(std::string(300, 'x'));
  archive[&Archive::text].Tell(std::string(400, 'x'));
  const Series after =
      ScrapeUntil([](const Series& page) { return page.at("understudy_messages_waiting_bytes") >= 700; });
  EXPECT_GE(after.at("understudy_messages_waiting_bytes"), 700);
  EXPECT_LE(after.at("understudy_messages_waiting_bytes"), 1000);
  EXPECT_GE(after.at("understudy_cell_memory_bytes"), 1000 * 192);
}

TEST_F(MetricsTest, NoLabelHasAPid) {
  StartMetrics();
  const Ref<Clerk> clerk = system_.Spawn<Clerk>();
  clerk[&Clerk::file].Tell(1);
  EXPECT_THAT(Get("/metrics").body, Not(HasSubstr("<desk.")));
}

TEST_F(MetricsTest, APageHasThePeersOfTheNode) {
  absl::Notification up;
  ActorSystem other({.name = "other", .log = &log_});
  absl::StatusOr<std::unique_ptr<Node>> there = Node::Start(other);
  ASSERT_TRUE(there.ok()) << there.status();
  absl::StatusOr<std::unique_ptr<Node>> here =
      Node::Start(system_, {.peers = {{"other", (*there)->address()}}, .on_peer = [&up](const PeerEvent& event) {
                              if (event.kind == PeerEvent::Kind::kUp && !up.HasBeenNotified()) up.Notify();
                            }});
  ASSERT_TRUE(here.ok()) << here.status();
  ASSERT_TRUE(up.WaitForNotificationWithTimeout(kWithin));
  StartMetrics({.node = here->get()});
  Series page = ScrapeUntil([](const Series& series) { return series.contains("understudy_peer_up{peer=\"other\"}"); });
  EXPECT_EQ(page["understudy_peers{state=\"up\"}"], 1);
  EXPECT_EQ(page["understudy_peers{state=\"down\"}"], 0);
  EXPECT_EQ(page["understudy_peer_up{peer=\"other\"}"], 1);
  EXPECT_TRUE(page.contains("understudy_peer_envelopes_total{peer=\"other\",outcome=\"acknowledged\"}"));
  EXPECT_TRUE(page.contains("understudy_node_refusals_total{cause=\"no_grant\"}"));
  EXPECT_EQ(page["understudy_sessions_begun_total"], 1);
  EXPECT_EQ(page.at("understudy_sessions_ended_total{cause=\"grace_over\"}"), 0);
  EXPECT_EQ(page.at("understudy_handshakes_refused_total{by=\"this_node\",cause=\"no_hello\"}"), 0);
  EXPECT_EQ(page.at("understudy_handshakes_refused_total{by=\"peer\",cause=\"name_taken\"}"), 0);
  metrics_ = nullptr;
}

TEST_F(MetricsTest, OnlyThePathsAndMethodsOfTheContractAreAnswered) {
  StartMetrics();
  const HttpReply page = Get("/metrics?name=x");
  EXPECT_EQ(page.status, 200);
  EXPECT_THAT(page.headers, HasSubstr("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
  EXPECT_THAT(page.headers, HasSubstr("Connection: close\r\n"));
  const HttpReply head = Fetch(metrics_->address(), "/metrics", "HEAD");
  EXPECT_EQ(head.status, 200);
  EXPECT_THAT(head.body, IsEmpty());
  for (const char* path : {"/", "/metrics/", "/Metrics", "/../etc/passwd", "/livez/x"}) {
    EXPECT_EQ(Get(path).status, 404) << path;
  }
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "TRACE", "NONSENSE"}) {
    const HttpReply reply = Fetch(metrics_->address(), "/metrics", method);
    EXPECT_EQ(reply.status, 405) << method;
    EXPECT_THAT(reply.headers, HasSubstr("Allow: GET, HEAD\r\n")) << method;
  }
}

TEST_F(MetricsTest, AnAddressThatCannotBeUsedIsRefused) {
  for (const char* listen : {"", "unix:/tmp/metrics", "9464", "127.0.0.1:", "127.0.0.1:70000"}) {
    const absl::Status status = Metrics::Start(system_, {.listen = listen}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << listen;
    EXPECT_THAT(std::string(status.message()), HasSubstr("expected a TCP address"));
  }
  EXPECT_EQ(Metrics::Start(system_, {.stuck_after = absl::ZeroDuration()}).status().code(),
            absl::StatusCode::kInvalidArgument);
  StartMetrics();
  EXPECT_EQ(Metrics::Start(system_, {.listen = metrics_->address()}).status().code(), absl::StatusCode::kAlreadyExists);
}

TEST_F(MetricsTest, AnAddressBeyondLoopbackNeedsTlsOrTheInsecureOption) {
  for (const char* listen : {"0.0.0.0:0", "[::]:0", "monitoring:9464"}) {
    const absl::Status status = Metrics::Start(system_, {.listen = listen}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << listen;
    EXPECT_THAT(std::string(status.message()), HasSubstr("insecure_plaintext_beyond_loopback"));
  }
  StartMetrics({.listen = "0.0.0.0:0", .insecure_plaintext_beyond_loopback = true});
  EXPECT_EQ(Get("/livez").status, 200);
}

TEST_F(MetricsTest, TheAddressMayBeOfIpv6) {
  const int socket_of_6 = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in6 loopback{};
  loopback.sin6_family = AF_INET6;
  loopback.sin6_addr = in6addr_loopback;
  const bool has_6 = bind(socket_of_6, reinterpret_cast<const sockaddr*>(&loopback), sizeof(loopback)) == 0;
  close(socket_of_6);
  if (!has_6) GTEST_SKIP() << "this machine has no IPv6";
  StartMetrics({.listen = "[::1]:0"});
  EXPECT_EQ(Get("/livez").status, 200);
}

TEST_F(MetricsTest, WhileEveryWorkerIsStuckThePageIsAnsweredAndLivezSaysWhy) {
  StartMetrics({.stuck_after = absl::Milliseconds(50)});
  EXPECT_EQ(Get("/livez").status, 200);
  const Ref<Clerk> clerk = system_.Spawn<Clerk>();
  ASSERT_TRUE(system_.AwaitStart(clerk.pid(), kWithin).ok());
  const Ref<Blocker> blocker = system_.Spawn<Blocker>(&begun_, &go_on_);
  blocker[&Blocker::block].Tell(1);
  begun_.WaitForNotification();
  clerk[&Clerk::file].Tell(1);
  const HttpReply stuck = GetUntil("/livez", 503);
  EXPECT_THAT(stuck.body, HasSubstr("all 1 workers are in a handler for "));
  EXPECT_THAT(stuck.body, HasSubstr("block"));
  EXPECT_THAT(stuck.body, testing::EndsWith("\n"));
  EXPECT_EQ(Get("/readyz").status, 200);
  Series page = ScrapeUntil([](const Series& series) {
    const auto stuck = series.find("understudy_workers{state=\"stuck\"}");
    return stuck != series.end() && stuck->second == 1;
  });
  EXPECT_EQ(page["understudy_workers{state=\"stuck\"}"], 1);
  EXPECT_EQ(page["understudy_messages_waiting{mailbox=\"file\"}"], 1);
  EXPECT_GT(page["understudy_longest_running_handler_seconds"], 0);
  system_.Kill(blocker.pid());
  page = ScrapeUntil([](const Series& series) { return series.at("understudy_actors_fenced") == 1; });
  EXPECT_EQ(page.at("understudy_actors_fenced"), 1);
  go_on_.Notify();
  GetUntil("/livez", 200);
}

TEST_F(MetricsTest, ReadyzSaysWhenTheTreeHasStartedAndThatTheNodeDrains) {
  absl::StatusOr<std::unique_ptr<Node>> node = Node::Start(system_, {.listen = "", .drain_within = kWithin});
  ASSERT_TRUE(node.ok()) << node.status();
  StartMetrics({.node = node->get()});
  HttpReply reply = Get("/readyz");
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.body, "the tree of desk has not started\n");
  EXPECT_EQ(Get("/livez").status, 200);
  int status = -1;
  std::thread runs([&] {
    status = (*node)->RunTree(OneForOne().Child("blocker", Of<Blocker>(&begun_, &go_on_).ShutdownWithin(kWithin)));
  });
  EXPECT_EQ(GetUntil("/readyz", 200).body, "ok\n");
  (*node)->RequestStop();
  begun_.WaitForNotification();
  reply = Get("/readyz");
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.body, "desk drains\n");
  Series page = ScrapeUntil([](const Series& series) { return series.contains("understudy_ready"); });
  EXPECT_EQ(page["understudy_ready"], 0);
  go_on_.Notify();
  runs.join();
  EXPECT_EQ(status, 0);
  EXPECT_EQ(Get("/readyz").status, 503);
  metrics_ = nullptr;
}

TEST_F(MetricsTest, ASlowClientDelaysNoOtherAndIsCutOff) {
  StartMetrics();
  RawClient slow(metrics_->address());
  EXPECT_TRUE(slow.Say("GET /metrics HTTP/1.1\r\nHost: "));
  EXPECT_EQ(Get("/metrics").status, 200);
  // The client sends a byte now and then, so that the connection is never idle for long and the request stays small.
  const MonotonicTime deadline = Clock::Real().Now() + kWithin;
  while (slow.Say("x") && !slow.HearsWithin(200) && Clock::Real().Now() < deadline) {
    EXPECT_EQ(Get("/livez").status, 200);
  }
  EXPECT_LT(Clock::Real().Now(), deadline) << "it is still connected";
  EXPECT_THAT(slow.Hear(), Not(HasSubstr("200 OK")));
}

// A page of a system with these takes until `go_on`.
class SlowSpans final : public SpanSink {
 public:
  void Take(const Span& /*span*/) override {}
  SpanCounts counts() const override {
    if (!begun.HasBeenNotified()) begun.Notify();
    go_on.WaitForNotification();
    return {};
  }
  mutable absl::Notification begun;
  absl::Notification go_on;
};

TEST_F(MetricsTest, WhileAPageTakesLongProbesAreAnswered) {
  SlowSpans spans;
  ActorSystem traced({.name = "traced", .log = &log_, .tracing = {.spans = &spans}});
  const absl::StatusOr<std::unique_ptr<Metrics>> metrics = Metrics::Start(traced);
  ASSERT_TRUE(metrics.ok()) << metrics.status();
  RawClient scrape((*metrics)->address());
  EXPECT_TRUE(scrape.Say("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"));
  spans.begun.WaitForNotification();
  RawClient probe((*metrics)->address());
  EXPECT_TRUE(probe.Say("GET /livez HTTP/1.1\r\nHost: a\r\n\r\n"));
  EXPECT_TRUE(probe.HearsWithin(30'000)) << "the probe waits for the page";
  spans.go_on.Notify();
  EXPECT_EQ(ParseReply(probe.Hear()).status, 200);
}

TEST(PageThreadTest, RequestsShareThePageThatIsMadeAndThoseBeyondTheBoundAreRefused) {
  absl::Notification go_on;
  internal::PageThread pages([&go_on] {
    go_on.WaitForNotification();
    return std::string("page");
  });
  const auto ask = [&pages](absl::Notification& answered) {
    const auto slot = std::make_shared<internal::HttpReplier::Slot>([&answered] { answered.Notify(); });
    pages.Answer(internal::HttpReplier(slot));
    return slot;
  };
  std::vector<absl::Notification> answered(limits::kMetricsScrapesMax + 2);
  std::vector<std::shared_ptr<internal::HttpReplier::Slot>> slots;
  for (size_t i = 0; i <= limits::kMetricsScrapesMax; ++i) slots.push_back(ask(answered[i]));
  EXPECT_EQ(slots.back()->Take()->status, 503);
  slots.pop_back();
  for (const auto& slot : slots) EXPECT_FALSE(slot->HasAnswer());
  go_on.Notify();
  for (size_t i = 0; i < slots.size(); ++i) {
    answered[i].WaitForNotification();
    const std::optional<internal::HttpAnswer> answer = slots[i]->Take();
    EXPECT_EQ(answer->status, 200);
    EXPECT_EQ(answer->body, "page");
  }
  const auto next = ask(answered.back());
  answered.back().WaitForNotification();
  EXPECT_EQ(next->Take()->body, "page");
}

TEST_F(MetricsTest, AnEnormousRequestIsRefused) {
  StartMetrics();
  const std::string big(size_t{1} << 20, 'x');
  for (const std::string& request : {
           absl::StrCat("GET /metrics HTTP/1.1\r\nHost: a\r\nX-Big: ", big, "\r\n\r\n"),
           absl::StrCat("GET /", big, " HTTP/1.1\r\nHost: a\r\n\r\n"),
           absl::StrCat(big, "\r\n\r\n"),
       }) {
    RawClient client(metrics_->address());
    (void)client.Say(request);
    EXPECT_THAT(client.Hear(), Not(HasSubstr("200 OK")));
  }
  RawClient body(metrics_->address());
  (void)body.Say(absl::StrCat("POST /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 1048576\r\n\r\n", big));
  EXPECT_THAT(body.Hear(), AnyOf(IsEmpty(), HasSubstr(" 405 ")));
  EXPECT_EQ(Get("/metrics").status, 200);
}

TEST_F(MetricsTest, ItEndsWhileClientsAreConnected) {
  StartMetrics();
  RawClient idle(metrics_->address());
  EXPECT_TRUE(idle.Say("GET /metrics"));
  EXPECT_EQ(Get("/livez").status, 200);
  metrics_ = nullptr;
  EXPECT_THAT(idle.Hear(), IsEmpty());
}

}  // namespace
}  // namespace understudy
