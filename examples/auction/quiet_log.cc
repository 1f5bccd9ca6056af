#include "understudy/examples/auction/quiet_log.h"

#include "absl/strings/string_view.h"
#include "understudy/actors/log_sink.h"

namespace auction {
namespace {

using understudy::LogSeverity;
using understudy::LogSink;

class WarningsOnly final : public LogSink {
 public:
  void Write(LogSeverity severity, absl::string_view line) override {
    if (severity != LogSeverity::kInfo) LogSink::Stderr().Write(severity, line);
  }
};

}  // namespace

LogSink& QuietLog() {
  static WarningsOnly* const log = new WarningsOnly;
  return *log;
}

}  // namespace auction
