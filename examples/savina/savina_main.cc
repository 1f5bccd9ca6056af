// Runs programs of the suite:
//
//   bazel run --config=opt //examples/savina:savina                        # all of them
//   bazel run --config=opt //examples/savina:savina -- quicksort 1000000
#include <cstdint>
#include <iostream>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/log_sink.h"
#include "understudy/examples/savina/savina.h"

namespace understudy::savina {
namespace {

// Prints a line; returns whether the oracle agrees.
bool RunAndPrint(const Entry& program, int64_t size) {
  // Searches that stop early leave messages, each of which would be a line in the log.
  ActorSystem system({.log = &LogSink::Null()});
  const MonotonicTime begin = system.clock().Now();
  const absl::StatusOr<std::string> result = RunProgram(system, program, size);
  const absl::Duration took = system.clock().Now() - begin;
  std::cout << program.name << " " << size << " (" << program.size_of
            << "): " << (result.ok() ? *result : absl::StrCat("FAILED: ", result.status().message())) << ", "
            << absl::ToInt64Milliseconds(took) << " ms" << std::endl;
  return result.ok();
}

int Main(int argc, char** argv) {
  const absl::string_view name = argc > 1 ? argv[1] : "";
  int64_t size = 0;
  if (argc > 3 || (argc > 2 && (!absl::SimpleAtoi(argv[2], &size) || size < 1))) {
    std::cerr << "usage: savina [PROGRAM [SIZE]], where SIZE is a number from 1\n";
    return 2;
  }
  bool is_known = false;
  bool is_good = true;
  for (const Entry& program : Programs()) {
    if (!name.empty() && name != program.name) continue;
    is_known = true;
    is_good = RunAndPrint(program, size > 0 ? size : program.size) && is_good;
  }
  if (is_known) return is_good ? 0 : 1;
  std::cerr << "unknown program '" << name << "': expected one of\n";
  for (const Entry& program : Programs()) std::cerr << "  " << program.name << " SIZE (" << program.size_of << ")\n";
  return 2;
}

}  // namespace
}  // namespace understudy::savina

int main(int argc, char** argv) { return understudy::savina::Main(argc, argv); }
