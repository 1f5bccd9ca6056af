// Helpers for the trials with real processes and sockets: a node in the test's process, nodes in processes of their
// own, and what each node reports of its peers.
#ifndef UNDERSTUDY_TESTS_TRANSPORT_TRIALS_TRIAL_H_
#define UNDERSTUDY_TESTS_TRANSPORT_TRIALS_TRIAL_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/pid.h"
#include "understudy/tests/transport/trials/tally_actor.h"
#include "understudy/transport/node.h"
#include "understudy/transport/process/os_process.h"

namespace understudy::net_testing {

// The deadline for an event that must happen, on a machine with twenty times the work that it can do.
inline constexpr absl::Duration kDeadline = absl::Seconds(60);
// How late a promised time may be met on such a machine.
inline constexpr absl::Duration kSlack = absl::Seconds(20);

// Returns whether `is_true_now` becomes true in time, and calls it repeatedly until then. Use it for a state that sends
// no notification when it changes, such as that of the kernel or of another process.
bool Becomes(const std::function<bool()>& is_true_now);

// Diary: the PeerEvents of a node as text, with their times.
class Diary {
 public:
  void Add(absl::string_view line);
  // Waits for a line that begins with `begin`, among those after the first `*after`;
  // fails the test if none comes. `*after` becomes the number of lines up to it.
  MonotonicTime WaitFor(absl::string_view begin, size_t* after = nullptr);
  // How many such lines there are so far.
  int Count(absl::string_view begin);
  // Those lines.
  std::vector<std::string> All(absl::string_view begin);
  size_t size();

 private:
  struct Line {
    MonotonicTime at;
    std::string text;
  };
  absl::Mutex mu_;
  std::vector<Line> lines_ ABSL_GUARDED_BY(mu_);
};

// A trial_node (trial_node_main.cc) in a process of its own.
class RemoteNode {
 public:
  // `before` is the command that starts it, if it is not started at once.
  RemoteNode(const std::string& name, const std::string& listen, const std::vector<std::string>& options,
             const std::vector<std::string>& before = {});
  ~RemoteNode();
  RemoteNode(const RemoteNode&) = delete;
  RemoteNode& operator=(const RemoteNode&) = delete;

  const std::string& address() const { return address_; }
  Diary& diary() { return diary_; }
  int os_pid() const { return process_->os_pid(); }
  void Kill() { process_->Kill(); }
  // SIGSTOP, SIGCONT.
  void Signal(int signal) const;
  // Gone, if it could be started at all.
  void WaitForEnd();

 private:
  void ReadLines(int descriptor);

  Diary diary_;
  std::string address_;
  absl::Notification has_begun_;
  // The callback may come when this is gone.
  const std::shared_ptr<absl::Notification> ended_ = std::make_shared<absl::Notification>();
  std::unique_ptr<OsProcess> process_;
  std::thread reader_;
};

// A node in the test.
class LocalNode {
 public:
  explicit LocalNode(const std::string& name, NodeOptions options = {}, LogSink* log = nullptr);

  Diary& diary() { return diary_; }
  ActorSystem& system() { return system_; }
  Node& node() { return *node_; }
  // The Tally of that name in the cluster.
  TallyRef Find(const std::string& name);
  // The text of the report on that lane.
  std::string Report(TallyRef tally, int64_t lane);

 private:
  Diary diary_;
  ActorSystem system_;
  std::unique_ptr<Node> node_;
};

// Watches an actor, and says when and how often its Down came.
class Watch {
 public:
  Watch(ActorSystem& system, Pid target);
  // Fails the test if none comes.
  MonotonicTime WaitForDown();
  ExitReason reason();
  bool is_down();
  int downs();

 private:
  class Watcher;
  struct Seen {
    absl::Mutex mu;
    absl::Notification is_watching;
    absl::Notification is_down;
    int downs ABSL_GUARDED_BY(mu) = 0;
    MonotonicTime at ABSL_GUARDED_BY(mu);
    ExitReason reason ABSL_GUARDED_BY(mu) = ExitReason::Normal();
  };
  const std::shared_ptr<Seen> seen_ = std::make_shared<Seen>();
};

// Tells a Tally `count` numbers, in lane `lane`, and from another thread asks it a quarter as many, in the next lane.
// A tell that finds no room is tried again.
class Traffic {
 public:
  Traffic(LocalNode& from, TallyRef to, int64_t count, int64_t lane = 1);
  ~Traffic() { Join(); }
  Traffic(const Traffic&) = delete;
  Traffic& operator=(const Traffic&) = delete;

  // Waits until so many numbers were told, or asked and answered; fails the test if that takes too long.
  void WaitForTold(int64_t count) const { WaitFor(told_, count); }
  void WaitForAsked(int64_t count) const { WaitFor(asked_, count); }
  // Waits until all are sent, and fails the test unless all came, in order.
  void ExpectAllCameInOrder();

 private:
  static void WaitFor(const std::atomic<int64_t>& sent, int64_t count);
  void Join();
  void Tell();
  void Ask();

  LocalNode& from_;
  const TallyRef to_;
  const int64_t count_;
  const int64_t asks_;
  const int64_t lane_;
  std::atomic<int64_t> told_{0};
  std::atomic<int64_t> asked_{0};
  std::thread teller_;
  std::thread asker_;
};

}  // namespace understudy::net_testing

#endif  // UNDERSTUDY_TESTS_TRANSPORT_TRIALS_TRIAL_H_
