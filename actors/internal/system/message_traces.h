// MessageTraceState: what one trace of an actor's messages has kept. MessageTraces: the traces of one system, by the
// life of the actor.
//
// The actor's turn asks whether a message is to be noted, and adds the note; the trace's reader takes notes out. Only a
// traced actor comes here (ActorCore::is_traced). Any thread.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_MESSAGE_TRACES_H_
#define UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_MESSAGE_TRACES_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/traced_message.h"

namespace understudy::internal {

class MessageTraceState {
 public:
  // The trace ends at `end`.
  MessageTraceState(const TraceOptions& options, MonotonicTime end) : options_(options), end_(end) {}

  bool shows_contents() const { return options_.contents == TraceContents::kYes; }

  // A message is about to be handled at `now`. Returns its number, or 0 if it is not to be noted. Call Keep before the
  // next one.
  uint64_t Next(MonotonicTime now);
  // Keeps the note of the message that Next has numbered. The oldest notes go when limits::kTracedMessagesKeptMax or
  // kTracedBytesKeptMax is exceeded.
  void Keep(TracedMessage message);
  // The trace ends now.
  void End();
  // Nothing more is noted: as many messages were as were asked for, or the time is over. False while the last message
  // is being noted.
  bool IsOver(MonotonicTime now) const;

  // Removes and returns the oldest note, with the number of those that are lost before it; nullopt if there is none.
  absl::optional<TracedMessage> Take();

 private:
  const TraceOptions options_;
  const MonotonicTime end_;
  mutable absl::Mutex mu_;
  bool has_ended_ ABSL_GUARDED_BY(mu_) = false;
  bool is_noting_ ABSL_GUARDED_BY(mu_) = false;  // between Next and Keep
  uint64_t seen_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t noted_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t lost_ ABSL_GUARDED_BY(mu_) = 0;
  size_t bytes_ ABSL_GUARDED_BY(mu_) = 0;
  std::deque<TracedMessage> kept_ ABSL_GUARDED_BY(mu_);
};

class MessageTraces {
 public:
  // AlreadyExists: that life is traced. ResourceExhausted: limits::kMessageTracesMax traces are under way.
  absl::Status Add(uint64_t life, std::shared_ptr<MessageTraceState> trace);
  void Remove(uint64_t life);
  // Null if that life is not traced.
  std::shared_ptr<MessageTraceState> Find(uint64_t life) const;

 private:
  mutable absl::Mutex mu_;
  std::map<uint64_t, std::shared_ptr<MessageTraceState>> traces_ ABSL_GUARDED_BY(mu_);
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_MESSAGE_TRACES_H_
