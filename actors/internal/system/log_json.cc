#include "understudy/actors/internal/system/log_json.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <ctime>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "understudy/actors/internal/system/fixed_text.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/printable_text.h"

namespace understudy::internal {
namespace {

// Appends the text up to the next line break or tab, which JSON has escapes of its own for, as PrintableText shows it.
void AppendPrintable(std::string& out, absl::string_view text) {
  for (const char byte : PrintableText(text, Backslashes::kKeep)) {
    if (byte == '"' || byte == '\\') out += '\\';
    out += byte;
  }
}

void AppendString(std::string& out, absl::string_view text) {
  out += '"';
  while (true) {
    const size_t next = text.find_first_of("\n\r\t");
    AppendPrintable(out, text.substr(0, next));
    if (next == absl::string_view::npos) break;
    out += text[next] == '\n' ? "\\n" : text[next] == '\r' ? "\\r" : "\\t";
    text.remove_prefix(next + 1);
  }
  out += '"';
}

void AppendField(std::string& out, absl::string_view name, absl::string_view value) {
  if (value.empty() && name != "text") return;
  absl::StrAppend(&out, ",\"", name, "\":");
  AppendString(out, value);
}

absl::string_view BaseName(absl::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

std::string JsonLogLine(const LogLine& line, const LogOrigin& origin) {
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  FixedText time;
  time.AddUtc(now);
  std::string out = absl::StrCat("{\"severity\":\"", LogSeverityName(line.severity), "\",\"time\":\"", time.text(),
                                 "\",\"pid\":", getpid(), ",\"tid\":", static_cast<int64_t>(syscall(SYS_gettid)));
  AppendField(out, "node", origin.node);
  AppendField(out, "actor", origin.actor);
  AppendField(out, "name", origin.name);
  AppendField(out, "class", origin.class_name);
  AppendField(out, "behavior", origin.behavior);
  AppendField(out, "trace_id", origin.trace_id);
  AppendField(out, "site", absl::StrCat(BaseName(line.site.file_name()), ":", line.site.line()));
  AppendField(out, "text", line.text);
  out += '}';
  return out;
}

}  // namespace understudy::internal
