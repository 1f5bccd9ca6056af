// DeadLetterStream: tells listeners and the log of dead letters, the messages that reached
// no handler.
//
//   const uint64_t id = system.SubscribeDeadLetters([](const DeadLetter& letter) { … });
//   system.UnsubscribeDeadLetters(id);
//
// Log: at most limits::kDeadLetterLinesPerSecond lines in any second, by the system's
// clock. If lines were suppressed, an extra line before the next one says how many.
// Listeners: each gets all dead letters, except those that a listener itself makes while it
// runs; these are only counted and logged. A listener runs on the thread that made the
// letter, or on a thread of the executor if the message waited for an actor that was fenced.
// Calls of one listener do not overlap. A listener must not wait, throw, subscribe or
// unsubscribe. It may send, because only the listener's own lock is held while it runs.
// Threads: any. When Unsubscribe has returned, the listener does not run.
#ifndef UNDERSTUDY_ACTORS_DEAD_LETTERS_H_
#define UNDERSTUDY_ACTORS_DEAD_LETTERS_H_

#include <cstdint>
#include <deque>
#include <ostream>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/dead_letter.h"  // IWYU pragma: export
#include "understudy/actors/internal/system/listener_list.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/pid.h"

namespace understudy {

class DeadLetterStream {
 public:
  using Listener = absl::AnyInvocable<void(const DeadLetter&)>;

  // `clock` and `log` must outlive the stream.
  DeadLetterStream(Clock& clock, LogSink& log) : clock_(clock), log_(log) {}
  // Logs how many lines were suppressed since the last line.
  ~DeadLetterStream();
  DeadLetterStream(const DeadLetterStream&) = delete;
  DeadLetterStream& operator=(const DeadLetterStream&) = delete;

  // Counts and logs the letter, and calls the listeners.
  void Publish(const DeadLetter& letter);
  // True while a listener, of any stream, runs on this thread.
  static bool IsTelling();
  // The number of letters so far.
  int64_t count() const;
  // `listener` is called for each later letter. Returns an id for Unsubscribe.
  uint64_t Subscribe(Listener listener);
  // Like Subscribe, but the subscription ends when `listener` returns false.
  uint64_t SubscribeWhile(absl::AnyInvocable<bool(const DeadLetter&)> listener) {
    return listeners_.Subscribe(std::move(listener));
  }
  // Ends a subscription. Returns false if there is none with that id.
  bool Unsubscribe(uint64_t id) { return listeners_.Unsubscribe(id); }

 private:
  void Log(const DeadLetter& letter) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void LogSuppressed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  Clock& clock_;
  LogSink& log_;
  internal::ListenerList<DeadLetter> listeners_;
  mutable absl::Mutex mu_;  // not held while listeners run
  int64_t count_ ABSL_GUARDED_BY(mu_) = 0;
  // The times of the lines that were written within the last second, the oldest first.
  std::deque<MonotonicTime> lines_ ABSL_GUARDED_BY(mu_);
  int64_t suppressed_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_DEAD_LETTERS_H_
