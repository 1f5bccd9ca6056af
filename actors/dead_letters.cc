#include "understudy/actors/dead_letters.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
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
  std::shared_ptr<const Subscribers> subscribers;
  {
    absl::MutexLock lock(&mu_);
    ++count_;
    Log(letter);
    subscribers = subscribers_;
  }
  if (subscribers->empty() || is_telling) return;
  const TellingScope telling;
  for (const auto& [id, subscriber] : *subscribers) {
    {
      absl::MutexLock lock(&subscriber->mu);
      if (subscriber->listener == nullptr || subscriber->listener(letter)) continue;
    }
    (void)Unsubscribe(id);
  }
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

uint64_t DeadLetterStream::SubscribeWhile(absl::AnyInvocable<bool(const DeadLetter&)> listener) {
  auto subscriber = std::make_shared<Subscriber>(std::move(listener));
  absl::MutexLock lock(&mu_);
  auto more = std::make_shared<Subscribers>(*subscribers_);
  more->emplace_back(++last_id_, std::move(subscriber));
  subscribers_ = std::move(more);
  return last_id_;
}

bool DeadLetterStream::Unsubscribe(uint64_t id) {
  std::shared_ptr<Subscriber> subscriber;
  {
    absl::MutexLock lock(&mu_);
    auto fewer = std::make_shared<Subscribers>(*subscribers_);
    const auto found =
        std::find_if(fewer->begin(), fewer->end(), [id](const auto& entry) { return entry.first == id; });
    if (found == fewer->end()) return false;
    subscriber = std::move(found->second);
    fewer->erase(found);
    subscribers_ = std::move(fewer);
  }
  // Waits until the listener has returned if it runs. A Publish that copied the list before and calls it later finds
  // null.
  absl::MutexLock lock(&subscriber->mu);
  subscriber->listener = nullptr;
  return true;
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
