// MessageTrace: notes the messages that one actor handles, while this object lives.
//
//   absl::StatusOr<std::unique_ptr<MessageTrace>> trace = MessageTrace::Start(system, clerk.pid(), {.messages_max =
//   10}); … while (absl::optional<TracedMessage> message = (*trace)->Next()) std::cout << message->type << "\n";
//
// A message is noted when its handler is about to run: not when it is sent, nor if it expires or is dropped before.
// Guarantees: an actor that is not traced pays nothing. A traced one handles its messages as always, more slowly, and
// never waits for the reader: notes beyond limits::kTracedMessagesKeptMax push out the oldest, which the next note
// counts as lost. Threads: any plain thread, not in an actor's turn. Lifetime: the trace must be destroyed before the
// system.
#ifndef UNDERSTUDY_ACTORS_MESSAGE_TRACE_H_
#define UNDERSTUDY_ACTORS_MESSAGE_TRACE_H_

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/internal/system/message_traces.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/traced_message.h"

namespace understudy {

class MessageTrace {
 public:
  // Begins when the actor's handler that runs has returned. InvalidArgument: a bound of `options` is out of its range.
  // NotFound: `actor` has ended, or is not of `system`. AlreadyExists: the actor is traced. ResourceExhausted:
  // limits::kMessageTracesMax actors are traced.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<MessageTrace>> Start(ActorSystem& system, Pid actor,
                                                                           const TraceOptions& options = {});
  // Ends the trace.
  ~MessageTrace();
  MessageTrace(const MessageTrace&) = delete;
  MessageTrace& operator=(const MessageTrace&) = delete;

  // The next message; nullopt if none has been noted since.
  absl::optional<TracedMessage> Next() { return state_->Take(); }
  // No further message will be noted: a bound is reached, or the actor has ended.
  bool IsOver() const;

 private:
  MessageTrace(ActorSystem& system, Pid actor, std::shared_ptr<internal::MessageTraceState> state)
      : system_(system), actor_(actor), state_(std::move(state)) {}

  // Has the actor look whether it is traced.
  void TellActor();

  ActorSystem& system_;
  const Pid actor_;
  const std::shared_ptr<internal::MessageTraceState> state_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_MESSAGE_TRACE_H_
