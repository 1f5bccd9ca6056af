#include "understudy/actors/testing/seeds.h"

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "gtest/gtest-spi.h"
#include "gtest/gtest.h"
#include "understudy/actors/check.h"
#include "understudy/actors/simulation_trace.h"
#include "understudy/actors/testing/replay_notice.h"
#include "understudy/actors/testing/sequence_diagram.h"

namespace understudy {
namespace {

std::string EnvironmentOr(const char* name, absl::string_view otherwise) {
  const char* const text = std::getenv(name);
  return std::string(text == nullptr || *text == '\0' ? otherwise : text);
}

// "Suite.Case"; "test" outside tests.
std::string TestName() {
  const testing::TestInfo* const test = testing::UnitTest::GetInstance()->current_test_info();
  return test == nullptr ? "test" : absl::StrCat(test->test_suite_name(), ".", test->name());
}

// The failures of `body` with `seed`, which do not fail the test.
std::vector<std::string> FailuresOf(uint64_t seed, absl::FunctionRef<void(uint64_t)> body) {
  testing::TestPartResultArray results;
  {
    const testing::ScopedFakeTestPartResultReporter reporter(
        testing::ScopedFakeTestPartResultReporter::INTERCEPT_ALL_THREADS, &results);
    const ReplayNotice notice(
        absl::StrCat("the test crashes with seed ", seed, "; to repeat it:\n  ", ReplayCommand(seed)));
    body(seed);
  }
  std::vector<std::string> failures;
  for (int i = 0; i < results.size(); ++i) {
    const testing::TestPartResult& result = results.GetTestPartResult(i);
    if (result.failed()) failures.emplace_back(result.message());
  }
  return failures;
}

bool WriteFile(const std::string& path, absl::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  return static_cast<bool>(file.flush());
}

// Writes the trace of `run` where Bazel collects the outputs of a test. Returns a sentence that says where it is.
std::string KeepTrace(const SeedRun& run) {
  if (run.trace.empty()) return "";
  const std::string folder = EnvironmentOr("TEST_UNDECLARED_OUTPUTS_DIR", "");
  if (folder.empty()) return "\nwith TEST_UNDECLARED_OUTPUTS_DIR set, its trace is written into that folder";
  const std::string name = absl::StrReplaceAll(absl::StrCat(TestName(), ".seed-", run.seed), {{"/", "_"}});
  std::string text;
  for (const std::string& line : run.trace) absl::StrAppend(&text, line, "\n");
  const std::string path = absl::StrCat(folder, "/", name);
  if (!WriteFile(path + ".txt", text) || !WriteFile(path + ".svg", SequenceDiagram(run.trace))) {
    return absl::StrCat("\nits trace could not be written to ", folder);
  }
  // Bazel packs the folder, which may be in a sandbox, into a file of the same place below bazel-testlogs.
  const size_t logs = folder.rfind("/testlogs/");
  const std::string place =
      logs == std::string::npos ? folder : absl::StrCat("bazel-testlogs/", folder.substr(logs + 10), "/outputs.zip");
  return absl::StrCat("\nits trace: ", name, ".txt and ", name, ".svg in ", place);
}

// Returns false if the test has failed with this seed.
bool PassesWith(uint64_t seed, absl::FunctionRef<void(uint64_t)> body) {
  const std::string command = ReplayCommand(seed);
  {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const ReplayNotice notice(absl::StrCat("the test crashes with seed ", seed, "; to repeat it:\n  ", command));
    body(seed);
  }
  if (!testing::Test::HasFailure()) return true;
  const SeedRun again = RecordSeed(seed, body);
  ADD_FAILURE() << "the test fails with seed " << seed << "; to repeat it:\n  " << command << KeepTrace(again)
                << (again.failures.empty()
                        ? "\na second run with this seed passed: something else than the seed decides"
                          " what the test does"
                        : "");
  return false;
}

}  // namespace

absl::optional<uint64_t> SeedFromEnvironment() {
  const char* text = std::getenv("UNDERSTUDY_SEED");
  if (text == nullptr || *text == '\0') return absl::nullopt;
  uint64_t seed = 0;
  UNDERSTUDY_CHECK(absl::SimpleAtoi(text, &seed), "UNDERSTUDY_SEED is \"", text, "\", not a number");
  return seed;
}

int RoundsOf(int count) {
  const char* text = std::getenv("UNDERSTUDY_ROUNDS_FACTOR");
  if (text == nullptr || *text == '\0') return count;
  int factor = 0;
  UNDERSTUDY_CHECK(absl::SimpleAtoi(text, &factor) && factor > 0, "UNDERSTUDY_ROUNDS_FACTOR is \"", text,
                   "\": expected a positive number");
  UNDERSTUDY_CHECK(count <= std::numeric_limits<int>::max() / factor, "UNDERSTUDY_ROUNDS_FACTOR ", factor, " times ",
                   count, " rounds is too many");
  return count * factor;
}

std::string ReplayCommand(uint64_t seed) {
  const std::string target = EnvironmentOr("TEST_TARGET", "");
  if (target.empty()) return absl::StrCat("UNDERSTUDY_SEED=", seed, " GTEST_FILTER='", TestName(), "'");
  return absl::StrCat("bazel test ", target, " --test_filter='", TestName(), "' --test_env=UNDERSTUDY_SEED=", seed);
}

SeedRun RecordSeed(uint64_t seed, absl::FunctionRef<void(uint64_t)> body) {
  SeedRun run;
  run.seed = seed;
  const SimulationTrace trace;
  run.failures = FailuresOf(seed, body);
  if (trace.dropped() > 0) run.trace.push_back(absl::StrCat("0 ", trace.dropped(), " earlier lines were dropped"));
  run.trace.insert(run.trace.end(), trace.lines().begin(), trace.lines().end());
  return run;
}

absl::optional<SeedRun> FindFailingSeed(int count, absl::FunctionRef<void(uint64_t)> body) {
  for (int i = 1; i <= count; ++i) {
    const auto seed = static_cast<uint64_t>(i);
    if (!FailuresOf(seed, body).empty()) return RecordSeed(seed, body);
  }
  return absl::nullopt;
}

void ForEachSeed(int count, absl::FunctionRef<void(uint64_t)> body) {
  if (const absl::optional<uint64_t> only = SeedFromEnvironment()) {
    (void)PassesWith(*only, body);
    return;
  }
  const int rounds = RoundsOf(count);
  for (int seed = 1; seed <= rounds; ++seed) {
    if (!PassesWith(static_cast<uint64_t>(seed), body)) return;
  }
}

}  // namespace understudy
