#include "understudy/tests/transport/trials/trial.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/error.h"
#include "understudy/actors/events.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/transport/core/node_core.h"
#include "understudy/transport/process/os_process.h"

namespace understudy::net_testing {

bool Becomes(const std::function<bool()>& is_true_now) {
  const MonotonicTime deadline = Clock::Real().Now() + kDeadline;
  while (!is_true_now()) {
    if (Clock::Real().Now() > deadline) return false;
    poll(nullptr, 0, 1);
  }
  return true;
}

void Diary::Add(absl::string_view line) {
  absl::MutexLock lock(&mu_);
  lines_.push_back({.at = Clock::Real().Now(), .text = std::string(line)});
}

MonotonicTime Diary::WaitFor(absl::string_view begin, size_t* after) {
  absl::MutexLock lock(&mu_);
  size_t at = 0;
  const size_t from = after == nullptr ? 0 : *after;
  const auto is_there = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    for (at = from; at < lines_.size(); ++at) {
      if (absl::StartsWith(lines_[at].text, begin)) return true;
    }
    return false;
  };
  if (!mu_.AwaitWithTimeout(absl::Condition(&is_there), kDeadline)) {
    std::string all;
    for (const Line& line : lines_) absl::StrAppend(&all, "\n  ", line.text);
    ADD_FAILURE() << "no line '" << begin << "…' after the first " << from << " in time, of" << all;
    return MonotonicTime::InfiniteFuture();
  }
  if (after != nullptr) *after = at + 1;
  return lines_[at].at;
}

std::vector<std::string> Diary::All(absl::string_view begin) {
  absl::MutexLock lock(&mu_);
  std::vector<std::string> all;
  for (const Line& line : lines_) {
    if (absl::StartsWith(line.text, begin)) all.push_back(line.text);
  }
  return all;
}

int Diary::Count(absl::string_view begin) { return static_cast<int>(All(begin).size()); }

size_t Diary::size() {
  absl::MutexLock lock(&mu_);
  return lines_.size();
}

RemoteNode::RemoteNode(const std::string& name, const std::string& listen, const std::vector<std::string>& options,
                       const std::vector<std::string>& before) {
  std::array<int, 2> ends;
  EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  const absl::StatusOr<std::string> binary = FindBinary("trial_node");
  EXPECT_TRUE(binary.ok()) << binary.status();
  std::vector<std::string> command = before;
  command.insert(command.end(), {*binary, name, listen});
  command.insert(command.end(), options.begin(), options.end());
  absl::StatusOr<std::unique_ptr<OsProcess>> process = OsProcess::Start(
      {.binary = command.front(), .arguments = {command.begin() + 1, command.end()}, .descriptors = {ends[1]}},
      [ended = ended_](const ExitReason&) { ended->Notify(); });
  EXPECT_TRUE(process.ok()) << process.status();
  if (process.ok()) process_ = *std::move(process);
  close(ends[1]);
  reader_ = std::thread([this, descriptor = ends[0]] { ReadLines(descriptor); });
  EXPECT_TRUE(has_begun_.WaitForNotificationWithTimeout(kDeadline)) << name << " did not start";
}

RemoteNode::~RemoteNode() {
  process_.reset();  // and kills it
  reader_.join();
}

void RemoteNode::ReadLines(int descriptor) {
  std::string text;
  std::array<char, 1024> buffer;
  while (true) {
    const ssize_t bytes = read(descriptor, buffer.data(), buffer.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) break;
    text.append(buffer.data(), static_cast<size_t>(bytes));
    for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
      if (!has_begun_.HasBeenNotified()) {
        address_ = text.substr(0, end);
        has_begun_.Notify();
      } else {
        diary_.Add(text.substr(0, end));
      }
      text.erase(0, end + 1);
    }
  }
  close(descriptor);
  if (!has_begun_.HasBeenNotified()) has_begun_.Notify();
}

void RemoteNode::Signal(int signal) const { EXPECT_EQ(kill(os_pid(), signal), 0); }
void RemoteNode::WaitForEnd() { EXPECT_TRUE(ended_->WaitForNotificationWithTimeout(kDeadline)); }

LocalNode::LocalNode(const std::string& name, NodeOptions options, LogSink* log)
    : system_({.name = name, .log = log != nullptr ? log : &LogSink::Stderr()}) {
  options.on_peer = [this](const PeerEvent& event) { diary_.Add(event.ToString()); };
  absl::StatusOr<std::unique_ptr<Node>> started = Node::Start(system_, std::move(options));
  EXPECT_TRUE(started.ok()) << started.status();
  if (started.ok()) node_ = *std::move(started);
}

namespace {

struct Found {
  absl::Notification is_done;
  absl::StatusOr<TallyRef> ref = absl::UnavailableError("not found in time");
};

class Finder final : public Actor {
 public:
  Finder(std::string name, std::shared_ptr<Found> found) : name_(std::move(name)), found_(std::move(found)) {}
  StartResult Start() override { return Find(); }

 private:
  Task<> Find() {
    const auto looking = context().Lookup<TallyRef>(name_, kDeadline);
    found_->ref = co_await looking;
    found_->is_done.Notify();
  }
  const std::string name_;
  const std::shared_ptr<Found> found_;
};

}  // namespace

TallyRef LocalNode::Find(const std::string& name) {
  auto found = std::make_shared<Found>();
  system_.Spawn<Finder>(name, found);
  if (!found->is_done.WaitForNotificationWithTimeout(kDeadline + kSlack) || !found->ref.ok()) {
    ADD_FAILURE() << name << ": not found in time";
    return TallyRef();
  }
  return *found->ref;
}

std::string LocalNode::Report(TallyRef tally, int64_t lane) {
  Tally::Number number;
  number.set_value(lane);
  const absl::StatusOr<Tally::Text> report = system_.Ask(tally.report(), number, kDeadline);
  return report.ok() ? report->value() : report.status().ToString();
}

class Watch::Watcher final : public Actor {
 public:
  Watcher(Pid target, std::shared_ptr<Seen> seen) : target_(target), seen_(std::move(seen)) {}
  StartResult Start() override {
    monitor_ = context().Monitor(target_, &Watcher::Ended);
    seen_->is_watching.Notify();
    return Behavior("watching", After(absl::Hours(1), [] {}));
  }

 private:
  void Ended(const Down& down) {
    absl::MutexLock lock(&seen_->mu);
    if (++seen_->downs > 1) return;
    seen_->at = Clock::Real().Now();
    seen_->reason = down.reason;
    seen_->is_down.Notify();
  }
  const Pid target_;
  const std::shared_ptr<Seen> seen_;
  MonitorHandle monitor_;
};

Watch::Watch(ActorSystem& system, Pid target) {
  system.Spawn<Watcher>(target, seen_);
  seen_->is_watching.WaitForNotification();
}
MonotonicTime Watch::WaitForDown() {
  if (!seen_->is_down.WaitForNotificationWithTimeout(kDeadline)) {
    ADD_FAILURE() << "no Down in time";
    return MonotonicTime::InfiniteFuture();
  }
  absl::MutexLock lock(&seen_->mu);
  return seen_->at;
}
ExitReason Watch::reason() {
  absl::MutexLock lock(&seen_->mu);
  return seen_->reason;
}
bool Watch::is_down() { return seen_->is_down.HasBeenNotified(); }
int Watch::downs() {
  absl::MutexLock lock(&seen_->mu);
  return seen_->downs;
}

Traffic::Traffic(LocalNode& from, TallyRef to, int64_t count, int64_t lane)
    : from_(from), to_(to), count_(count), asks_(count / 4), lane_(lane), teller_([this] { Tell(); }), asker_([this] {
        Ask();
      }) {}

void Traffic::WaitFor(const std::atomic<int64_t>& sent, int64_t count) {
  EXPECT_TRUE(Becomes([&] { return sent.load(std::memory_order_relaxed) >= count; })) << "too slow";
}

void Traffic::Join() {
  if (teller_.joinable()) teller_.join();
  if (asker_.joinable()) asker_.join();
}

void Traffic::Tell() {
  while (told_.load(std::memory_order_relaxed) < count_) {
    Tally::Number number;
    number.set_value(lane_ * Tally::kLane + told_.load(std::memory_order_relaxed));
    const absl::Status sent = to_.tell().Send(number);
    if (sent.ok()) {
      told_.fetch_add(1, std::memory_order_relaxed);
    } else if (IsFull(sent)) {
      poll(nullptr, 0, 1);  // nothing tells a thread that there is room again
    } else {
      ADD_FAILURE() << "number " << told_.load(std::memory_order_relaxed) << " was not sent: " << sent;
      return;
    }
  }
}

void Traffic::Ask() {
  while (asked_.load(std::memory_order_relaxed) < asks_) {
    Tally::Number number;
    number.set_value((lane_ + 1) * Tally::kLane + asked_.load(std::memory_order_relaxed));
    const absl::StatusOr<Tally::Number> answer = from_.system().Ask(to_.ask(), number, kDeadline);
    EXPECT_TRUE(answer.ok()) << "ask " << asked_.load(std::memory_order_relaxed) << ": " << answer.status();
    if (!answer.ok()) return;
    EXPECT_EQ(answer->value(), number.value());
    asked_.fetch_add(1, std::memory_order_relaxed);
  }
}

void Traffic::ExpectAllCameInOrder() {
  Join();
  EXPECT_EQ(from_.Report(to_, lane_), absl::StrCat(count_, " in order"));
  EXPECT_EQ(from_.Report(to_, lane_ + 1), absl::StrCat(asks_, " in order"));
}

}  // namespace understudy::net_testing
