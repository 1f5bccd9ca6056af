#include "understudy/actors/test_system.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/executor.h"
#include "understudy/actors/internal/system/system_core.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/seeded_executor.h"
#include "understudy/actors/simulation_trace.h"

namespace understudy {
namespace {

ActorSystemOptions Options(Executor& executor, uint64_t seed, std::string name) {
  ActorSystemOptions options;
  options.name = std::move(name);
  options.executor = &executor;
  options.seed = seed + 1;  // a seed of 0 means one from the operating system
  options.log = &LogSink::Null();
  options.closed_mail_limit = absl::InfiniteDuration();
  options.call_cycles = FindCallCycles::kAlways;
  return options;
}

}  // namespace

TestSystem::TestSystem(uint64_t seed, std::string name)
    : TestSystem(std::make_unique<SeededExecutor>(seed), seed, std::move(name)) {}

TestSystem::TestSystem(std::unique_ptr<SeededExecutor> own, uint64_t seed, std::string name)
    : internal::ExecutorHolder{std::move(own)},
      ActorSystem(Options(*internal::ExecutorHolder::own, seed, std::move(name))),
      executor_(*internal::ExecutorHolder::own) {
  TraceIfRecorded();
}

TestSystem::TestSystem(SeededExecutor& executor, uint64_t seed, std::string name)
    : TestSystem(executor, executor, seed, std::move(name)) {}

TestSystem::TestSystem(SeededExecutor& executor, Executor& share, uint64_t seed, std::string name)
    : ActorSystem(Options(share, seed, std::move(name))), executor_(executor) {
  TraceIfRecorded();
}

TestSystem::~TestSystem() { Shutdown(absl::Seconds(5)); }

void TestSystem::TraceTo(SpanSink& spans, double sampled_ratio) {
  SetTracing({.spans = &spans, .sampled_ratio = sampled_ratio});
}

void TestSystem::StartTrace() { StartTrace(&trace_); }

void TestSystem::StartTrace(std::vector<std::string>* lines) {
  lines_ = lines;
  core().observation().set_tracer([this](absl::string_view line) { AddToTrace(line); });
}

void TestSystem::StopTrace() { core().observation().set_tracer(nullptr); }

void TestSystem::TraceIfRecorded() {
  if (SimulationTrace::Current() == nullptr) return;
  core().observation().set_tracer([this](absl::string_view line) { AddToTrace(line); });
}

void TestSystem::AddToTrace(absl::string_view line) {
  if (SimulationTrace* const recorder = SimulationTrace::Current(); recorder != nullptr) recorder->Add(Now(), line);
  if (lines_ != nullptr) lines_->push_back(absl::StrCat(Now().nanos(), " ", line));
}

}  // namespace understudy
