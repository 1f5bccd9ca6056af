// UserThread: a thread on which a node calls the user's code. A node has one that
// writes to the LogSink and calls dead-letter listeners, and, if NodeOptions::on_peer
// is given, another that calls it.
//
// Code that must not block (a polling worker, a gRPC callback, the holder of a lock) queues
// such a call and goes on, so a log sink or listener that blocks delays no stream.
// Guarantees: calls run one at a time, in the order in which they were accepted. At
// most limits::kUserCallsMax wait; further calls are refused and counted, and a log
// line says how many once there is room again.
// Threads: any. Lifetime: the destructor runs the calls that wait.
#ifndef UNDERSTUDY_TRANSPORT_SOCKETS_USER_THREAD_H_
#define UNDERSTUDY_TRANSPORT_SOCKETS_USER_THREAD_H_

#include <cstdint>
#include <deque>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "understudy/actors/log_sink.h"

namespace understudy::internal {

class UserThread {
 public:
  // `sink` must outlive this object.
  explicit UserThread(LogSink& sink);
  ~UserThread();
  UserThread(const UserThread&) = delete;
  UserThread& operator=(const UserThread&) = delete;

  // Queues `call`. Returns false if the call was refused.
  bool Run(absl::AnyInvocable<void()> call);
  // A sink that writes to the user's sink on this thread.
  LogSink& log() { return log_; }

  int64_t refused();

 private:
  class Log final : public LogSink {
   public:
    explicit Log(UserThread& users) : users_(users) {}
    void Put(const LogLine& line) override;
    bool Wants(LogSeverity severity) const override { return users_.sink_.Wants(severity); }

   private:
    UserThread& users_;
  };

  void Loop();
  bool HasWork() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return is_stopping_ || !calls_.empty(); }

  LogSink& sink_;
  Log log_{*this};
  absl::Mutex mu_;
  std::deque<absl::AnyInvocable<void()>> calls_ ABSL_GUARDED_BY(mu_);
  int64_t refused_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t refused_and_told_ ABSL_GUARDED_BY(mu_) = 0;
  bool is_stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_SOCKETS_USER_THREAD_H_
