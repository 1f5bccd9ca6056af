// Log lines as JSON: their fields, and that any bytes give valid JSON.
#include "understudy/actors/internal/system/log_json.h"

#include <string>

#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/util/json_util.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/seeded_executor.h"

namespace understudy {
namespace {

using google::protobuf::Struct;
using ::testing::MatchesRegex;

Struct Parsed(absl::string_view line) {
  Struct object;
  const auto parsed = google::protobuf::util::JsonStringToMessage({line.data(), line.size()}, &object);
  EXPECT_TRUE(parsed.ok()) << parsed.message().ToString() << " in " << line;
  return object;
}

std::string Text(const Struct& object, const std::string& field) {
  const auto found = object.fields().find(field);
  return found == object.fields().end() ? "(none)" : found->second.string_value();
}

TEST(JsonLogLineTest, ALineIsOneObjectWithItsSite) {
  const std::string line = internal::JsonLogLine({.severity = LogSeverity::kWarning, .text = "it is \"late\"\n\tstill"},
                                                 {.node = "house-2"});
  EXPECT_THAT(line, MatchesRegex(R"(\{"severity":"warning","time":"[-0-9]+T[:0-9]+[.][0-9]{6}Z","pid":[0-9]+,)"
                                 R"("tid":[0-9]+,"node":"house-2","site":"log_json_test.cc:[0-9]+",)"
                                 R"("text":"it is \\"late\\"\\n\\tstill"\})"));
  EXPECT_EQ(Text(Parsed(line), "text"), "it is \"late\"\n\tstill");
  EXPECT_EQ(Text(Parsed(internal::JsonLogLine({}, {})), "text"), "");
}

TEST(JsonLogLineTest, AnyBytesGiveValidJson) {
  std::string bytes;
  for (int first = 0; first < 256; ++first) {
    for (const int second : {0x00, 0x22, 0x5c, 0x0a, 0x80, 0xa0, 0xff}) {
      bytes += static_cast<char>(first);
      bytes += static_cast<char>(second);
    }
  }
  bytes += "\xe2\x80\xae\xf0\x9f\x98\x80\xf4\x90\x80\x80\xed\xa0\x80\xe2\x80";
  const Struct object = Parsed(internal::JsonLogLine(
      {.text = bytes}, {.node = bytes, .actor = bytes, .name = bytes, .class_name = bytes, .behavior = bytes}));
  EXPECT_EQ(object.fields().size(), 11);
  EXPECT_EQ(Text(object, "name"), Text(object, "text"));
  EXPECT_EQ(Text(Parsed(internal::JsonLogLine({.text = "\x1b[2J \xff \xc3\xbc \xe2\x80\xae"}, {})), "text"),
            "\\x1b[2J \\xff \xc3\xbc \\xe2\\x80\\xae");
}

class Clerk final : public Actor {
 public:
  Mailbox<"file", int> file{this};
  StartResult Start() override { return working_; }

 private:
  Behavior working_{"working", On(file, [this](int) { context().Log().Write(LogSeverity::kInfo, "filed"); })};
};

TEST(JsonLogTest, ALineOfATurnHasTheActorsPidNameClassAndBehavior) {
  SeededExecutor executor(1);
  ActorSystem house({.name = "house-2",
                     .executor = &executor,
                     .seed = 1,
                     .log = &LogSink::Stderr(LogSeverity::kInfo, LogFormat::kJson)});
  const Ref<Clerk> clerk = house.Spawn<Clerk>(SpawnOptions{.registered_as = "desk/\"1\""});
  executor.RunUntilIdle();
  clerk[&Clerk::file].Tell(1);
  testing::internal::CaptureStderr();
  executor.RunUntilIdle();
  house.log().Write(LogSeverity::kError, "outside");
  const std::string written = testing::internal::GetCapturedStderr();
  const size_t end = written.find('\n');
  ASSERT_NE(end, std::string::npos);
  const Struct line = Parsed(absl::string_view(written).substr(0, end));
  EXPECT_EQ(Text(line, "severity"), "info");
  EXPECT_EQ(Text(line, "node"), "house-2");
  EXPECT_EQ(Text(line, "actor"), clerk.pid().ToString());
  EXPECT_EQ(Text(line, "name"), "desk/\"1\"");
  EXPECT_THAT(Text(line, "class"), ::testing::EndsWith("Clerk"));
  EXPECT_EQ(Text(line, "behavior"), "working");
  EXPECT_EQ(Text(line, "text"), "filed");
  const Struct outside = Parsed(absl::string_view(written).substr(end + 1));
  EXPECT_EQ(Text(outside, "severity"), "error");
  EXPECT_EQ(Text(outside, "actor"), "(none)");
  EXPECT_EQ(Text(outside, "node"), "house-2");
}

}  // namespace
}  // namespace understudy
