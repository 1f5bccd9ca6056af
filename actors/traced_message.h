// TracedMessage: a message that a traced actor has begun to handle (message_trace.h).
//
// Threads: plain values.
#ifndef UNDERSTUDY_ACTORS_TRACED_MESSAGE_H_
#define UNDERSTUDY_ACTORS_TRACED_MESSAGE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/pid.h"

namespace understudy {

struct TracedMessage {
  uint64_t number = 0;  // among the messages that the actor has begun to handle since the trace began, from 1
  int64_t lost = 0;     // noted before this one, and not kept because the reader was slow
  absl::Time time;      // when its handler was about to run, on the wall clock
  std::string mailbox;  // its wire name
  std::string type;
  size_t bytes = 0;  // its wire size, or else by MessageBytes or sizeof
  Pid from;          // null: a plain thread
  // The serialized message; nullopt unless the trace shows contents, this is a wire message, and it has at most
  // limits::kTracedContentsBytesMax bytes.
  absl::optional<std::string> contents;
};

enum class TraceContents { kNo, kYes };

// A trace ends with the first of its two bounds.
struct TraceOptions {
  int64_t messages_max = 100;                   // 1 to limits::kTracedMessagesMax messages are noted
  absl::Duration time_max = absl::Seconds(30);  // above zero, at most limits::kTraceTimeMax
  int64_t every = 1;                            // at least 1: only the first message and each so-many-th after it
  TraceContents contents = TraceContents::kNo;  // contents may be secret: who shows them must be allowed to
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_TRACED_MESSAGE_H_
