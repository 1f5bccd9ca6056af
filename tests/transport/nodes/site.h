// Nodes of one process that connect over real sockets, and helpers with which a test sends between them and waits for
// results.
#ifndef UNDERSTUDY_TESTS_TRANSPORT_SITE_H_
#define UNDERSTUDY_TESTS_TRANSPORT_SITE_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/events.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/pid.h"
#include "understudy/tests/transport/echo/echo_actor.h"
#include "understudy/transport/core/node_core.h"
#include "understudy/transport/node.h"
#include "understudy/transport/session/frame_stream.h"
#include "understudy/transport/session/stream_identity.h"

namespace understudy {

inline constexpr absl::Duration kDeadline = absl::Seconds(30);

// A value that a test waits for.
template <class T>
class Latch {
 public:
  void Set(T value) {
    absl::MutexLock lock(&mu_);
    if (!value_.has_value()) value_ = std::move(value);
  }
  absl::optional<T> Wait() {
    absl::MutexLock lock(&mu_);
    const auto is_set = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return value_.has_value(); };
    EXPECT_TRUE(mu_.AwaitWithTimeout(absl::Condition(&is_set), kDeadline)) << "it did not happen in time";
    return value_;
  }
  bool is_set() {
    absl::MutexLock lock(&mu_);
    return value_.has_value();
  }

 private:
  absl::Mutex mu_;
  absl::optional<T> value_ ABSL_GUARDED_BY(mu_);
};

// PeerLog: the reports of a node about its peers.
class PeerLog {
 public:
  void Add(const PeerEvent& event) {
    absl::MutexLock lock(&mu_);
    events_.push_back(event);
  }
  // Waits for the event of that kind which follows the first `after` events, and
  // gives how many events there are up to it.
  size_t WaitFor(PeerEvent::Kind kind, size_t after = 0) {
    absl::MutexLock lock(&mu_);
    size_t at = 0;
    const auto there = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
      for (size_t i = after; i < events_.size(); ++i) {
        if (events_[i].kind == kind) return at = i + 1, true;
      }
      return false;
    };
    EXPECT_TRUE(mu_.AwaitWithTimeout(absl::Condition(&there), kDeadline)) << "no such event of a peer in time";
    return at;
  }
  bool Has(PeerEvent::Kind kind) {
    absl::MutexLock lock(&mu_);
    for (const PeerEvent& event : events_) {
      if (event.kind == kind) return true;
    }
    return false;
  }

 private:
  absl::Mutex mu_;
  std::vector<PeerEvent> events_ ABSL_GUARDED_BY(mu_);
};

// A dialer whose streams a test can cut.
class Cutter {
 public:
  std::function<std::unique_ptr<Dialer>(std::unique_ptr<Dialer>)> Wrap() {
    return [streams = streams_](std::unique_ptr<Dialer> inner) -> std::unique_ptr<Dialer> {
      return std::make_unique<CutDialer>(streams, std::move(inner));
    };
  }
  void CutAll() {
    absl::MutexLock lock(&streams_->mu);
    for (FrameStream* stream : streams_->open) stream->Close();
  }

 private:
  // Streams outlive their node.
  struct Streams {
    absl::Mutex mu;
    std::set<FrameStream*> open ABSL_GUARDED_BY(mu);
  };
  class CutStream final : public FrameStream {
   public:
    CutStream(std::shared_ptr<Streams> streams, std::unique_ptr<FrameStream> inner)
        : streams_(std::move(streams)), inner_(std::move(inner)) {
      absl::MutexLock lock(&streams_->mu);
      streams_->open.insert(inner_.get());
    }
    ~CutStream() override {
      absl::MutexLock lock(&streams_->mu);
      streams_->open.erase(inner_.get());
    }
    void Write(std::string frame) override { inner_->Write(std::move(frame)); }
    void Close() override { inner_->Close(); }

   private:
    const std::shared_ptr<Streams> streams_;
    const std::unique_ptr<FrameStream> inner_;
  };
  class CutDialer final : public Dialer {
   public:
    CutDialer(std::shared_ptr<Streams> streams, std::unique_ptr<Dialer> inner)
        : streams_(std::move(streams)), inner_(std::move(inner)) {}
    std::unique_ptr<FrameStream> Dial(absl::string_view node, absl::string_view address,
                                      FrameStream::Events* events) override {
      return std::make_unique<CutStream>(streams_, inner_->Dial(node, address, events));
    }
    StreamIdentity IdentityAt(absl::string_view node, absl::string_view address) const override {
      return inner_->IdentityAt(node, address);
    }

   private:
    const std::shared_ptr<Streams> streams_;
    const std::unique_ptr<Dialer> inner_;
  };

  const std::shared_ptr<Streams> streams_ = std::make_shared<Streams>();
};

// A system and its node.
struct Site {
  explicit Site(const std::string& name, NodeOptions options = {}) : system({.name = name}) {
    options.wrap_dialer = cutter.Wrap();
    options.on_peer = [this](const PeerEvent& event) { log.Add(event); };
    absl::StatusOr<std::unique_ptr<Node>> started = Node::Start(system, std::move(options));
    EXPECT_TRUE(started.ok()) << started.status();
    if (started.ok()) node = *std::move(started);
  }

  Cutter cutter;
  PeerLog log;
  ActorSystem system;
  std::unique_ptr<Node> node;
};

// Looks a name up, and gives the ref to a test.
class Finder final : public Actor {
 public:
  Finder(std::string name, std::shared_ptr<Latch<absl::StatusOr<EchoRef>>> found)
      : name_(std::move(name)), found_(std::move(found)) {}
  StartResult Start() override { return Find(); }

 private:
  Task<> Find() {
    const auto looking = context().Lookup<EchoRef>(name_, kDeadline);
    found_->Set(co_await looking);
  }
  const std::string name_;
  const std::shared_ptr<Latch<absl::StatusOr<EchoRef>>> found_;
};

inline EchoRef Find(ActorSystem& system, const std::string& name) {
  auto found = std::make_shared<Latch<absl::StatusOr<EchoRef>>>();
  system.Spawn<Finder>(name, found);
  const absl::optional<absl::StatusOr<EchoRef>> ref = found->Wait();
  EXPECT_TRUE(ref.has_value() && ref->ok()) << (ref.has_value() ? ref->status().ToString() : "");
  return ref.has_value() && ref->ok() ? **ref : EchoRef();
}

inline absl::StatusOr<std::string> Say(ActorSystem& system, EchoRef echo, const std::string& text) {
  Echo::Text request;
  request.set_value(text);
  absl::StatusOr<Echo::Text> answer = system.Ask(echo.say(), std::move(request), kDeadline);
  if (!answer.ok()) return answer.status();
  return answer->value();
}

// Monitors an actor for a test.
class Watcher final : public Actor {
 public:
  Watcher(Pid target, std::shared_ptr<Latch<bool>> watching, std::shared_ptr<Latch<ExitReason>> down)
      : target_(target), watching_(std::move(watching)), down_(std::move(down)) {}
  StartResult Start() override {
    monitor_ = context().Monitor(target_, &Watcher::Ended);
    watching_->Set(true);
    return Behavior("watching", After(absl::Hours(1), [] {}));
  }

 private:
  void Ended(const Down& down) { down_->Set(down.reason); }
  const Pid target_;
  const std::shared_ptr<Latch<bool>> watching_;
  const std::shared_ptr<Latch<ExitReason>> down_;
  MonitorHandle monitor_;
};

inline std::shared_ptr<Latch<ExitReason>> Watch(ActorSystem& system, Pid target) {
  auto watching = std::make_shared<Latch<bool>>();
  auto down = std::make_shared<Latch<ExitReason>>();
  system.Spawn<Watcher>(target, watching, down);
  watching->Wait();
  return down;
}

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_TRANSPORT_SITE_H_
