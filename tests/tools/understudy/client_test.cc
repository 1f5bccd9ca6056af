// The commands against a node of this process, and against a listener that is no node of ours.
#include "understudy/tools/understudy/client.h"

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/printable_text.h"
#include "understudy/actors/registry.h"
#include "understudy/actors/testing/kept_log.h"
#include "understudy/tests/tools/understudy/impostor.h"
#include "understudy/tests/transport/socket_path.h"
#include "understudy/tools/understudy/arguments.h"
#include "understudy/transport/ops/ops.h"

namespace understudy::tool {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

struct Outcome {
  absl::Status status;
  std::string out;
  std::string prompt;
};

// Runs `understudy WORD… --ops=…`, with `answer` on its standard input.
Outcome RunWords(std::vector<std::string> words, const std::string& answer = "") {
  const absl::StatusOr<Arguments> arguments = ParseArguments(words, SocketPath());
  if (!arguments.ok()) return {.status = arguments.status()};
  std::istringstream in(answer);
  std::ostringstream out;
  std::ostringstream prompt;
  absl::Status status = RunCommand(*arguments, {.in = in, .out = out, .prompt = prompt});
  return {.status = std::move(status), .out = out.str(), .prompt = prompt.str()};
}

// True if each line of `text` can be shown as it is.
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
    // The last name of the first page and some others are not UTF-8.
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
