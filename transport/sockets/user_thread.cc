#include "understudy/transport/sockets/user_thread.h"

#include <cstdint>
#include <string>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "understudy/actors/log_sink.h"
#include "understudy/transport/limits.h"
#include "understudy/transport/sockets/thread.h"

namespace understudy::internal {

UserThread::UserThread(LogSink& sink) : sink_(sink), thread_(StartThread([this] { Loop(); })) {}

UserThread::~UserThread() {
  {
    absl::MutexLock lock(&mu_);
    is_stopping_ = true;
  }
  thread_.join();
}

bool UserThread::Run(absl::AnyInvocable<void()> call) {
  absl::MutexLock lock(&mu_);
  if (calls_.size() >= limits::kUserCallsMax) {
    ++refused_;
    return false;
  }
  calls_.push_back(std::move(call));
  return true;
}

void UserThread::Log::Put(const LogLine& line) {
  // Run counts a line that it refuses.
  (void)users_.Run([&sink = users_.sink_, line = LogLine(line), text = std::string(line.text),
                    node = std::string(line.node)]() mutable {
    line.text = text;
    line.node = node;
    sink.Put(line);
  });
}

int64_t UserThread::refused() {
  absl::MutexLock lock(&mu_);
  return refused_;
}

void UserThread::Loop() {
  while (true) {
    absl::AnyInvocable<void()> call;
    int64_t refused = 0;
    {
      absl::MutexLock lock(&mu_);
      mu_.Await(absl::Condition(this, &UserThread::HasWork));
      if (calls_.empty() && refused_ == refused_and_told_) return;
      refused = refused_ - std::exchange(refused_and_told_, refused_);
      if (!calls_.empty()) {
        call = std::move(calls_.front());
        calls_.pop_front();
      }
    }
    if (refused > 0) {
      sink_.Write(
          LogSeverity::kWarning,
          absl::StrCat(refused,
                       " calls of the user's log sink, dead-letter listeners or on_peer were dropped, because an "
                       "earlier call was slow: ",
                       limits::kUserCallsMax, " waited already"));
    }
    if (call != nullptr) call();
  }
}

}  // namespace understudy::internal
