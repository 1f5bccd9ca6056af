#include "understudy/supervision/internal/event_listeners.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/pid.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/supervision_event.h"

namespace understudy::internal {
namespace {

using Kind = SupervisionEvent::Kind;

class Lines final : public LogSink {
 public:
  void Put(const LogLine& line) override { lines.emplace_back(line.severity, std::string(line.text)); }
  bool Wants(LogSeverity severity) const override { return severity >= least; }

  LogSeverity least = LogSeverity::kDebug;
  std::vector<std::pair<LogSeverity, std::string>> lines;
};

std::shared_ptr<const SupervisorSpec> PoolOf(int shards) {
  auto pool = std::make_shared<PoolSpec>();
  pool->shards = shards;
  auto spec = std::make_shared<SupervisorSpec>();
  spec->pool = std::move(pool);
  return spec;
}

LogSeverity SeverityOf(std::shared_ptr<const SupervisorSpec> spec, Kind kind, const ExitReason& reason) {
  EventListeners listeners(std::move(spec));
  Lines log;
  SupervisionEvent event;
  event.kind = kind;
  event.child = "a";
  event.reason = reason;
  listeners.Tell(event, log);
  EXPECT_EQ(log.lines.size(), 1U);
  return log.lines.at(0).first;
}

TEST(EventListeners, SeverityIsThatOfTheKindAndOfTheReason) {
  const auto tree = std::make_shared<const SupervisorSpec>();
  EXPECT_EQ(SeverityOf(tree, Kind::kStarted, ExitReason()), LogSeverity::kInfo);
  EXPECT_EQ(SeverityOf(tree, Kind::kExited, ExitReason::Normal()), LogSeverity::kInfo);
  EXPECT_EQ(SeverityOf(tree, Kind::kExited, ExitReason::Killed()), LogSeverity::kWarning);
  EXPECT_EQ(SeverityOf(tree, Kind::kStartFailed, ExitReason::Killed()), LogSeverity::kWarning);
  EXPECT_EQ(SeverityOf(tree, Kind::kGaveUp, ExitReason::Killed()), LogSeverity::kError);
}

TEST(EventListeners, UsualEventsOfAPoolsChildrenAreForDebuggingAndThoseOfItsShardsAreNot) {
  EXPECT_EQ(SeverityOf(PoolOf(1), Kind::kStarted, ExitReason()), LogSeverity::kDebug);
  EXPECT_EQ(SeverityOf(PoolOf(1), Kind::kExited, ExitReason::Killed()), LogSeverity::kWarning);
  EXPECT_EQ(SeverityOf(PoolOf(2), Kind::kStarted, ExitReason()), LogSeverity::kInfo);
}

TEST(EventListeners, LogAndHandlerHearWhatTheyWant) {
  auto tree = std::make_shared<SupervisorSpec>();
  std::vector<std::string> heard;
  tree->on_event = [&heard](const SupervisionEvent& event) { heard.push_back(event.child); };
  EventListeners listeners(tree);
  Lines log;
  log.least = LogSeverity::kWarning;
  SupervisionEvent event;
  event.supervisor = Pid(1, 1, 1);
  event.child = "a";
  listeners.Tell(event, log);
  EXPECT_EQ(heard, std::vector<std::string>{"a"});
  EXPECT_TRUE(log.lines.empty());
  event.kind = Kind::kGaveUp;
  listeners.Tell(event, log);
  ASSERT_EQ(log.lines.size(), 1U);
  EXPECT_TRUE(absl::StrContains(log.lines[0].second, event.supervisor.ToString()));
}

TEST(EventListeners, WithoutLogAndHandlerNothingIsHeard) {
  const EventListeners silent(std::make_shared<const SupervisorSpec>());
  EXPECT_FALSE(silent.HearsWithoutSubscribers(LogSink::Null()));
  Lines log;
  log.least = LogSeverity::kError;
  EXPECT_TRUE(silent.HearsWithoutSubscribers(log));
  auto tree = std::make_shared<SupervisorSpec>();
  tree->on_event = [](const SupervisionEvent&) {};
  EXPECT_TRUE(EventListeners(tree).HearsWithoutSubscribers(LogSink::Null()));
}

}  // namespace
}  // namespace understudy::internal
