// The trace id in lines of the log: as text, as JSON, and of a crash.
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/seeded_executor.h"
#include "understudy/actors/testing/kept_spans.h"
#include "understudy/actors/trace.h"
#include "understudy/actors/trace_scope.h"

namespace understudy {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Writes each text to the log, and fails at "fail".
class Clerk final : public Actor {
 public:
  Mailbox<"file", std::string> file{this};
  Mailbox<"file_later", std::string> file_later{this};
  StartResult Start() override { return working_; }

 private:
  void File(const std::string& text) {
    context().Log().Write(LogSeverity::kInfo, text);
    if (text == "fail") (void)Fail(absl::DataLossError("torn"));
  }
  Task<> FileLater(const std::string& text) {
    auto pause = context().Sleep(absl::Seconds(1));
    (void)co_await pause;
    File(text);
  }
  Behavior working_{"working", On(file, &Clerk::File), On(file_later, &Clerk::FileLater)};
};

class TracedLogTest : public ::testing::TestWithParam<LogFormat> {
 protected:
  // Returns the log lines of a clerk that gets `text` in `mailbox` within a trace.
  template <class M>
  std::string Traced(M Clerk::* mailbox, const std::string& text) {
    const Ref<Clerk> clerk = system_.Spawn<Clerk>();
    executor_.RunUntilIdle();
    testing::internal::CaptureStderr();
    {
      const TraceScope trace(system_, "work");
      trace_id_ = trace.context().trace.ToString();
      clerk[mailbox].Tell(text);
    }
    executor_.Advance(absl::Minutes(1));
    return testing::internal::GetCapturedStderr();
  }
  // How a line has the trace.
  std::string Mark() const {
    return GetParam() == LogFormat::kJson ? absl::StrCat("\"trace_id\":\"", trace_id_, "\"")
                                          : absl::StrCat("> trace ", trace_id_, "] ");
  }

  std::string trace_id_;
  KeptSpans spans_;
  SeededExecutor executor_{1};
  ActorSystem system_{{.name = "house-2",
                       .executor = &executor_,
                       .seed = 1,
                       .log = &LogSink::Stderr(LogSeverity::kInfo, GetParam()),
                       .tracing = {.spans = &spans_, .sampled_ratio = 1}}};
};

TEST_P(TracedLogTest, ALineOfAHandlerOfATraceHasTheTracesId) {
  const std::string written = Traced(&Clerk::file, "filed");
  EXPECT_THAT(written, HasSubstr("filed"));
  EXPECT_THAT(written, HasSubstr(Mark()));
}

TEST_P(TracedLogTest, ALineAfterAnAwaitHasTheTracesId) {
  const std::string written = Traced(&Clerk::file_later, "filed");
  EXPECT_THAT(written, HasSubstr(Mark()));
}

TEST_P(TracedLogTest, TheLineOfACrashHasTheIdOfTheHandlersTrace) {
  for (const bool is_later : {false, true}) {
    const std::string written = is_later ? Traced(&Clerk::file_later, "fail") : Traced(&Clerk::file, "fail");
    const size_t crash = written.find("torn");
    ASSERT_NE(crash, std::string::npos) << written;
    EXPECT_THAT(written.substr(written.rfind('\n', crash) + 1), HasSubstr(Mark()));
  }
}

TEST_P(TracedLogTest, ALineOfAPlainThreadInATraceHasItToo) {
  testing::internal::CaptureStderr();
  {
    const TraceScope trace(system_, "work");
    trace_id_ = trace.context().trace.ToString();
    system_.log().Write(LogSeverity::kInfo, "outside");
  }
  const std::string written = testing::internal::GetCapturedStderr();
  EXPECT_THAT(written, HasSubstr(GetParam() == LogFormat::kJson ? Mark() : absl::StrCat("house-2 trace ", trace_id_)));
}

TEST_P(TracedLogTest, ALineOutsideTracesHasNone) {
  const Ref<Clerk> clerk = system_.Spawn<Clerk>();
  testing::internal::CaptureStderr();
  clerk[&Clerk::file].Tell("fail");
  executor_.RunUntilIdle();
  const std::string written = testing::internal::GetCapturedStderr();
  EXPECT_THAT(written, HasSubstr("torn"));
  EXPECT_THAT(written, Not(HasSubstr(GetParam() == LogFormat::kJson ? "trace_id" : " trace ")));
}

INSTANTIATE_TEST_SUITE_P(Formats, TracedLogTest, ::testing::Values(LogFormat::kText, LogFormat::kJson),
                         [](const auto& format) { return format.param == LogFormat::kJson ? "Json" : "Text"; });

}  // namespace
}  // namespace understudy
