// EntryFollower: reads one stream of a node's entries (FollowEvents, FollowDeadLetters), and begins again a while after
// the stream has ended, as long as this object lives.
//
// Threads: one of its own, which calls both functions and must not be delayed by them for long. The destructor cancels
// the call and joins the thread.
#ifndef UNDERSTUDY_TOOLS_UNDERSTUDY_OBSERVER_ENTRY_FOLLOWER_H_
#define UNDERSTUDY_TOOLS_UNDERSTUDY_OBSERVER_ENTRY_FOLLOWER_H_

#include <grpcpp/client_context.h>
#include <grpcpp/support/sync_stream.h>

#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "understudy/proto/ops.grpc.pb.h"
#include "understudy/proto/ops.pb.h"
#include "understudy/tools/understudy/ops_channel.h"
#include "understudy/transport/sockets/thread.h"

namespace understudy::tool {

template <class Entry>
class EntryFollower {
 public:
  using Method = std::unique_ptr<grpc::ClientReader<Entry>> (proto::Ops::Stub::*)(grpc::ClientContext*,
                                                                                  const proto::FollowRequest&);

  // `channel` must outlive this object. `on_begin` is called before the first entry of each stream, because a
  // new stream repeats entries that earlier streams brought.
  EntryFollower(OpsChannel& channel, Method method, std::function<void()> on_begin,
                std::function<void(Entry entry)> on_entry)
      : channel_(channel), method_(method), on_begin_(std::move(on_begin)), on_entry_(std::move(on_entry)) {
    thread_ = internal::StartThread([this] { Run(); });
  }
  ~EntryFollower() {
    is_stopping_.Notify();
    {
      absl::MutexLock lock(&mu_);
      if (call_ != nullptr) call_->TryCancel();
    }
    thread_.join();
  }
  EntryFollower(const EntryFollower&) = delete;
  EntryFollower& operator=(const EntryFollower&) = delete;

 private:
  static constexpr absl::Duration kPause = absl::Milliseconds(500);

  void Run() {
    do {
      Follow();
    } while (!is_stopping_.WaitForNotificationWithTimeout(kPause));
  }
  void Follow() {
    grpc::ClientContext call;
    {
      absl::MutexLock lock(&mu_);
      if (is_stopping_.HasBeenNotified()) return;
      call_ = &call;
    }
    const std::unique_ptr<grpc::ClientReader<Entry>> entries =
        (channel_.stub().*method_)(&call, proto::FollowRequest());
    Entry entry;
    bool has_begun = false;
    while (entries->Read(&entry)) {
      if (!std::exchange(has_begun, true)) on_begin_();
      MakePrintable(entry);
      on_entry_(entry);
    }
    (void)entries->Finish();  // NodeWatch says why a node cannot be reached
    absl::MutexLock lock(&mu_);
    call_ = nullptr;
  }

  OpsChannel& channel_;
  const Method method_;
  const std::function<void()> on_begin_;
  const std::function<void(Entry entry)> on_entry_;
  absl::Notification is_stopping_;
  absl::Mutex mu_;
  grpc::ClientContext* call_ ABSL_GUARDED_BY(mu_) = nullptr;  // the one under way
  std::thread thread_;
};

}  // namespace understudy::tool

#endif  // UNDERSTUDY_TOOLS_UNDERSTUDY_OBSERVER_ENTRY_FOLLOWER_H_
