// corpus/RULE/ has a protocol `before`, a protocol that `breaks` the rule and one that `passes` it. X.proto imports
// X_common.proto as understudy/corpus/common.proto. corpus/findings.golden has the expected output for each rule.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"
#include "understudy/tests/tools/actor_protocol/imported_files.h"
#include "understudy/tools/actor_protocol/baseline_text.h"
#include "understudy/tools/actor_protocol/proto_files.h"
#include "understudy/transport/protocol/compare.h"
#include "understudy/transport/protocol/findings.h"
#include "understudy/transport/protocol/placed_protocol.h"

namespace understudy::actor_protocol {
namespace {

using testing::IsEmpty;
using testing::Not;

const std::string kCorpus = "tests/tools/actor_protocol/corpus";

std::vector<std::string> Cases() {
  std::vector<std::string> cases;
  for (const auto& entry : std::filesystem::directory_iterator(kCorpus)) {
    if (entry.is_directory()) cases.push_back(entry.path().filename());
  }
  std::sort(cases.begin(), cases.end());
  return cases;
}

PlacedProtocol ReadOrDie(const std::string& name, const std::string& phase) {
  std::vector<ProtoFile> sources = ImportedFiles();
  const std::string stem = absl::StrCat(kCorpus, "/", name, "/", phase);
  sources.push_back({"understudy/corpus/service.proto", stem + ".proto"});
  sources.push_back({"understudy/corpus/common.proto", stem + "_common.proto"});
  absl::StatusOr<PlacedProtocol> read = ReadProtoFiles({"understudy/corpus/service.proto"}, sources);
  if (!read.ok()) {
    std::cerr << read.status() << "\n";
    std::abort();
  }
  return *std::move(read);
}

// Returns the protocol as it is after it has been written to a baseline and read again.
PlacedProtocol Recorded(const PlacedProtocol& protocol) {
  absl::StatusOr<PlacedProtocol> recorded =
      ReadBaselineText(BaselineText(protocol.protocol, "bazel run //x:y.update"), "baseline");
  if (!recorded.ok()) {
    std::cerr << recorded.status() << "\n";
    std::abort();
  }
  return *std::move(recorded);
}

std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Fails the test unless the golden file has this text, and says how to accept the text.
void ExpectGolden(const std::string& name, const std::string& text) {
  if (ReadText(absl::StrCat(kCorpus, "/", name)) == text) return;
  const char* const outputs = std::getenv("TEST_UNDECLARED_OUTPUTS_DIR");
  std::ofstream(absl::StrCat(outputs == nullptr ? "." : outputs, "/", name)) << text;
  ADD_FAILURE() << kCorpus << "/" << name << " is not this text. To accept it: unzip -o bazel-testlogs/tests/tools/"
                << "actor_protocol/corpus_test/test.outputs/outputs.zip " << name << " -d " << kCorpus << "\n"
                << text;
}

TEST(CorpusTest, EachRuleHasAPairThatBreaksItAndOneThatPasses) {
  const std::vector<std::string> cases = Cases();
  for (const Rule rule : AllRules()) {
    SCOPED_TRACE(std::string(NameOf(rule)));
    const std::string name(NameOf(rule));
    ASSERT_TRUE(std::find(cases.begin(), cases.end(), name) != cases.end()) << "there is no folder for it";
    const PlacedProtocol before = Recorded(ReadOrDie(name, "before"));
    const std::vector<Finding> findings = Compare(before, ReadOrDie(name, "breaks")).findings;
    EXPECT_TRUE(std::any_of(findings.begin(), findings.end(), [&](const Finding& f) { return f.rule == rule; }));
    for (const Finding& finding : findings) EXPECT_THAT(finding.affected.Text(), Not(IsEmpty())) << finding.what;
    for (const Finding& finding : Compare(before, ReadOrDie(name, "passes")).findings) ADD_FAILURE() << finding.what;
  }
}

TEST(CorpusTest, FindingsAndNotesAreThoseOfTheGoldenFile) {
  std::string text;
  for (const std::string& name : Cases()) {
    const PlacedProtocol before = Recorded(ReadOrDie(name, "before"));
    for (const absl::string_view phase : {"breaks", "passes"}) {
      absl::StrAppend(&text, "== ", name, " ", phase, "\n",
                      absl::StrReplaceAll(Compare(before, ReadOrDie(name, std::string(phase))).Text(),
                                          {{absl::StrCat(kCorpus, "/", name, "/"), ""}}));
    }
  }
  ExpectGolden("findings.golden", text);
}

TEST(CorpusTest, ABaselineHasTheWholeProtocolAndItsTextIsStable) {
  for (const std::string& name : Cases()) {
    for (const absl::string_view phase : {"before", "breaks", "passes"}) {
      SCOPED_TRACE(absl::StrCat(name, " ", phase));
      const PlacedProtocol protocol = ReadOrDie(name, std::string(phase));
      const PlacedProtocol recorded = Recorded(protocol);
      EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(protocol.protocol, recorded.protocol));
      EXPECT_EQ(BaselineText(recorded.protocol, "u"), BaselineText(protocol.protocol, "u"));
      EXPECT_EQ(Compare(recorded, protocol).Text(), "");
    }
  }
}

TEST(CorpusTest, ABaselineIsWhatTheGoldenFileHas) {
  ExpectGolden("baseline.golden",
               BaselineText(ReadOrDie("message-renamed", "before").protocol, "bazel run //x:y.update"));
}

TEST(CorpusTest, RulesHaveDifferentNames) {
  std::set<absl::string_view> names;
  for (const Rule rule : AllRules()) EXPECT_TRUE(names.insert(NameOf(rule)).second) << NameOf(rule);
  EXPECT_EQ(names.size(), static_cast<size_t>(Rule::kEnumClosed) + 1);
}

}  // namespace
}  // namespace understudy::actor_protocol
