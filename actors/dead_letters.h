// Dead letters: the messages that reached no handler, as a stream, and as lines
// of the log.
//
//   const uint64_t id = system.SubscribeDeadLetters([](const DeadLetter& letter) { … });
//   system.UnsubscribeDeadLetters(id);
//
// The log gets at most limits::kDeadLetterLinesPerSecond lines in any second, by
// the system's clock; the next line after that says how many were suppressed.
// Listeners hear of all, but not of what a listener makes while it runs: that is
// counted and logged. A listener runs on the thread that made the letter, and for
// what waited for a fenced actor on one of the executor's; one at a time. It must
// not wait, throw, nor (un)subscribe; it may send: only its own lock is held meanwhile.
// Threads: any. After Unsubscribe has returned its listener does not run.
#ifndef UNDERSTUDY_ACTORS_DEAD_LETTERS_H_
#define UNDERSTUDY_ACTORS_DEAD_LETTERS_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/dead_letter.h"  // IWYU pragma: export
#include "understudy/actors/log_sink.h"
#include "understudy/actors/pid.h"

namespace understudy {

class DeadLetterStream {
 public:
  using Listener = absl::AnyInvocable<void(const DeadLetter&)>;

  // Both outlive it.
  DeadLetterStream(Clock& clock, LogSink& log) : clock_(clock), log_(log) {}
  // Says how many lines were suppressed last.
  ~DeadLetterStream();
  DeadLetterStream(const DeadLetterStream&) = delete;
  DeadLetterStream& operator=(const DeadLetterStream&) = delete;

  void Publish(const DeadLetter& letter);
  // A listener runs on this thread.
  static bool IsTelling();
  // Letters so far.
  int64_t count() const;
  uint64_t Subscribe(Listener listener);
  // Until it gives false.
  uint64_t SubscribeWhile(absl::AnyInvocable<bool(const DeadLetter&)> listener);
  // False when there is no such subscription (any more).
  bool Unsubscribe(uint64_t id);

 private:
  struct Subscriber {
    explicit Subscriber(absl::AnyInvocable<bool(const DeadLetter&)> called) : listener(std::move(called)) {}
    absl::Mutex mu;  // one call at a time, and the end of it
    // Null once unsubscribed.
    absl::AnyInvocable<bool(const DeadLetter&)> listener ABSL_GUARDED_BY(mu);
  };
  using Subscribers = std::vector<std::pair<uint64_t, std::shared_ptr<Subscriber>>>;

  void Log(const DeadLetter& letter) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void LogSuppressed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  Clock& clock_;
  LogSink& log_;
  mutable absl::Mutex mu_;  // not held while listeners run
  int64_t count_ ABSL_GUARDED_BY(mu_) = 0;
  // Never null; replaced when it changes.
  std::shared_ptr<const Subscribers> subscribers_ ABSL_GUARDED_BY(mu_) = std::make_shared<const Subscribers>();
  uint64_t last_id_ ABSL_GUARDED_BY(mu_) = 0;
  // When lines were written within the last second, the oldest first.
  std::deque<MonotonicTime> lines_ ABSL_GUARDED_BY(mu_);
  int64_t suppressed_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_DEAD_LETTERS_H_
