// JsonLogLine: a log line as a JSON object.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_LOG_JSON_H_
#define UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_LOG_JSON_H_

#include <string>

#include "understudy/actors/log_sink.h"

namespace understudy::internal {

// The object that LogSink::Stderr writes with LogFormat::kJson, without a newline. It has the present time, and the ids
// of this process and thread.
std::string JsonLogLine(const LogLine& line, const LogOrigin& origin);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_LOG_JSON_H_
