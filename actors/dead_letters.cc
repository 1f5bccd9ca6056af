#include "understudy/actors/dead_letters.h"

#include <cstddef>
#include <iterator>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "understudy/actors/limits.h"

namespace understudy {
namespace {

// True while a listener runs on this thread. Publish then calls no listener: a running listener
// would take its own lock twice, or the lock of another listener while it holds its own.
thread_local bool is_telling = false;

class TellingScope {
 public:
  TellingScope() { is_telling = true; }
  ~TellingScope() { is_telling = false; }
  TellingScope(const TellingScope&) = delete;
  TellingScope& operator=(const TellingScope&) = delete;
};

}  // namespace

DeadLetterStream::~DeadLetterStream() {
  absl::MutexLock lock(&mu_);
  LogSuppressed();
}

void DeadLetterStream::Publish(const DeadLetter& letter) {
  {
    absl::MutexLock lock(&mu_);
    ++count_;
    Log(letter);
  }
  if (is_telling || listeners_.empty()) return;
  const TellingScope telling;
  listeners_.Tell(letter);
}

bool DeadLetterStream::IsTelling() { return is_telling; }

int64_t DeadLetterStream::count() const {
  absl::MutexLock lock(&mu_);
  return count_;
}

uint64_t DeadLetterStream::Subscribe(Listener listener) {
  return SubscribeWhile([listener = std::move(listener)](const DeadLetter& letter) mutable {
    listener(letter);
    return true;
  });
}

void DeadLetterStream::Log(const DeadLetter& letter) {
  const MonotonicTime now = clock_.Now();
  while (!lines_.empty() && now - lines_.front() >= absl::Seconds(1)) lines_.pop_front();
  const int lines = suppressed_ > 0 ? 2 : 1;
  if (std::ssize(lines_) + lines > limits::kDeadLetterLinesPerSecond) {
    ++suppressed_;
    return;
  }
  lines_.insert(lines_.end(), static_cast<size_t>(lines), now);
  LogSuppressed();
  log_.Write(LogSeverity::kWarning, letter.ToString());
}

void DeadLetterStream::LogSuppressed() {
  if (suppressed_ == 0) return;
  log_.Write(LogSeverity::kWarning, absl::StrCat(suppressed_, " more dead letters suppressed within a second"));
  suppressed_ = 0;
}

}  // namespace understudy
