#include "understudy/actors/log_sink.h"

#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace understudy {
namespace {

class StderrSink final : public LogSink {
 public:
  void Write(LogSeverity severity, absl::string_view line) override {
    constexpr absl::string_view kLetters = "IWE";
    const std::string text = absl::StrCat(kLetters.substr(static_cast<size_t>(severity), 1), " ", line, "\n");
    std::fwrite(text.data(), 1, text.size(), stderr);
  }
};

class NullSink final : public LogSink {
 public:
  void Write(LogSeverity /*severity*/, absl::string_view /*line*/) override {}
  bool Wants(LogSeverity /*severity*/) const override { return false; }
};

}  // namespace

LogSink& LogSink::Stderr() {
  static StderrSink* const sink = new StderrSink;
  return *sink;
}

LogSink& LogSink::Null() {
  static NullSink* const sink = new NullSink;
  return *sink;
}

}  // namespace understudy
