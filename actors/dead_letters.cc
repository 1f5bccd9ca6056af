#include "understudy/actors/dead_letters.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "understudy/actors/limits.h"

namespace understudy {

std::string DeadLetter::ToString() const {
  return absl::StrCat("dead letter: ", type, " from ", from.is_null() ? "a plain thread" : from.ToString(), " to ",
                      mailbox.empty() ? "a mailbox without a name" : mailbox, " of ", to.ToString(), ": ",
                      std::string(why.message()));
}

DeadLetterStream::~DeadLetterStream() {
  absl::MutexLock lock(&mu_);
  LogSuppressed();
}

void DeadLetterStream::Publish(const DeadLetter& letter) {
  absl::MutexLock lock(&mu_);
  ++count_;
  Log(letter);
  for (auto& [id, listener] : listeners_) listener(letter);
}

int64_t DeadLetterStream::count() const {
  absl::MutexLock lock(&mu_);
  return count_;
}

uint64_t DeadLetterStream::Subscribe(Listener listener) {
  absl::MutexLock lock(&mu_);
  listeners_.emplace_back(++last_id_, std::move(listener));
  return last_id_;
}

bool DeadLetterStream::Unsubscribe(uint64_t id) {
  absl::MutexLock lock(&mu_);
  const auto found =
      std::find_if(listeners_.begin(), listeners_.end(), [id](const auto& entry) { return entry.first == id; });
  if (found == listeners_.end()) return false;
  listeners_.erase(found);
  return true;
}

void DeadLetterStream::Log(const DeadLetter& letter) {
  const MonotonicTime now = clock_.Now();
  if (second_.is_infinite() || now - second_ >= absl::Seconds(1)) {
    LogSuppressed();
    second_ = now;
    lines_ = 0;
  }
  if (lines_ == limits::kDeadLetterLinesPerSecond) {
    ++suppressed_;
    return;
  }
  ++lines_;
  log_.Write(LogSeverity::kWarning, letter.ToString());
}

void DeadLetterStream::LogSuppressed() {
  if (suppressed_ == 0) return;
  log_.Write(LogSeverity::kWarning, absl::StrCat(suppressed_, " more dead letters suppressed within a second"));
  suppressed_ = 0;
}

}  // namespace understudy
