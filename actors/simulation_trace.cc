#include "understudy/actors/simulation_trace.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "understudy/actors/check.h"
#include "understudy/actors/clock.h"

namespace understudy {

SimulationTrace* SimulationTrace::current_ = nullptr;

SimulationTrace::SimulationTrace() {
  UNDERSTUDY_CHECK(current_ == nullptr, "a second SimulationTrace: one exists at a time");
  current_ = this;
}

SimulationTrace::~SimulationTrace() { current_ = nullptr; }

void SimulationTrace::Add(MonotonicTime now, absl::string_view line) {
  if (lines_.size() == kLinesMax) {
    lines_.pop_front();
    ++dropped_;
  }
  lines_.push_back(absl::StrCat(now.nanos(), " ", line));
}

}  // namespace understudy
