#include "understudy/transport/http/event_stream.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace understudy::internal {
namespace {

std::string EventText(absl::string_view name, absl::string_view data) {
  std::string text = absl::StrCat("event: ", name, "\n");
  // A carriage return would end a line too.
  for (const absl::string_view line : absl::StrSplit(data, '\n')) {
    absl::StrAppend(&text, "data: ", absl::StrReplaceAll(line, {{"\r", ""}}), "\n");
  }
  text += '\n';
  return text;
}

}  // namespace

void EventStream::Send(absl::string_view name, absl::string_view data) {
  std::string text = EventText(name, data);
  {
    absl::MutexLock lock(&mu_);
    if (!is_open_) return;
    waiting_bytes_ += text.size();
    waiting_.push_back(std::move(text));
    while (!waiting_.empty() && (waiting_.size() > bounds_.events_max || waiting_bytes_ > bounds_.bytes_max)) {
      DropOldest();
    }
  }
  Wake();
}

void EventStream::DropOldest() {
  waiting_bytes_ -= waiting_.front().size();
  waiting_.pop_front();
  ++lost_;
}

void EventStream::End() {
  {
    absl::MutexLock lock(&mu_);
    is_open_ = false;
  }
  Wake();
}

bool EventStream::is_open() const {
  absl::MutexLock lock(&mu_);
  return is_open_;
}

void EventStream::Attach(std::function<void()> wake) {
  absl::MutexLock lock(&mu_);
  wake_ = std::move(wake);
}

std::optional<std::string> EventStream::Take(size_t bytes_max) {
  absl::MutexLock lock(&mu_);
  std::string taken;
  while (taken.size() < bytes_max) {
    if (current_.empty() && lost_ > 0) {
      current_ = EventText("lost", absl::StrCat(std::exchange(lost_, 0)));
    } else if (current_.empty() && !waiting_.empty()) {
      waiting_bytes_ -= waiting_.front().size();
      current_ = std::move(waiting_.front());
      waiting_.pop_front();
    }
    if (current_.empty()) break;
    const size_t part = std::min(current_.size(), bytes_max - taken.size());
    taken.append(current_, 0, part);
    current_.erase(0, part);
  }
  if (taken.empty() && !is_open_) return std::nullopt;
  return taken;
}

bool EventStream::HasWork() const {
  absl::MutexLock lock(&mu_);
  return !is_open_ || lost_ > 0 || !current_.empty() || !waiting_.empty();
}

void EventStream::Close() {
  absl::MutexLock lock(&mu_);
  is_open_ = false;
  wake_ = nullptr;
  waiting_.clear();
  waiting_bytes_ = 0;
  current_.clear();
  lost_ = 0;
}

void EventStream::Wake() const {
  std::function<void()> wake;
  {
    absl::MutexLock lock(&mu_);
    wake = wake_;
  }
  if (wake != nullptr) wake();
}

}  // namespace understudy::internal
