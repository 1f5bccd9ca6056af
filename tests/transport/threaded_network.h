// ThreadedNetwork: streams between two nodes in one process, with a thread that carries their frames.
#ifndef UNDERSTUDY_TESTS_TRANSPORT_THREADED_NETWORK_H_
#define UNDERSTUDY_TESTS_TRANSPORT_THREADED_NETWORK_H_

#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "understudy/transport/session/frame_stream.h"
#include "understudy/transport/session/stream_identity.h"

namespace understudy {

// Streams between two nodes, their events on one thread.
class ThreadedNetwork : public Dialer {
 public:
  ThreadedNetwork() : thread_([this] { Serve(); }) {}
  ~ThreadedNetwork() override {
    Enqueue(nullptr);
    thread_.join();
  }

  void Listen(AcceptStream accept) {
    absl::MutexLock lock(&mu_);
    accept_ = std::move(accept);
  }
  std::unique_ptr<FrameStream> Dial(absl::string_view, absl::string_view, FrameStream::Events* events) override {
    auto pipe = std::make_shared<Pipe>();
    pipe->events[0] = events;
    {
      absl::MutexLock lock(&mu_);
      pipes_.push_back(pipe);
    }
    Enqueue([this, pipe] {
      AcceptStream accept;
      {
        absl::MutexLock lock(&mu_);
        accept = accept_;
      }
      if (pipe->open && accept)
        pipe->events[1] = accept(std::make_unique<End>(this, pipe, 1), StreamIdentity::SameUser());
      if (pipe->events[1] == nullptr) Close(pipe);
    });
    return std::make_unique<End>(this, pipe, 0);
  }
  StreamIdentity IdentityAt(absl::string_view, absl::string_view) const override { return StreamIdentity::SameUser(); }
  void CutAll() {
    std::vector<std::shared_ptr<Pipe>> pipes;
    {
      absl::MutexLock lock(&mu_);
      pipes = std::exchange(pipes_, {});
    }
    for (const auto& pipe : pipes) Close(pipe);
  }

 private:
  // A pipe belongs to the network's thread. Other threads write its fields only before they enqueue it.
  struct Pipe {
    FrameStream::Events* events[2] = {nullptr, nullptr};
    bool open = true;
  };
  class End final : public FrameStream {
   public:
    End(ThreadedNetwork* network, std::shared_ptr<Pipe> pipe, int end)
        : network_(network), pipe_(std::move(pipe)), end_(end) {}
    ~End() override { Close(); }
    void Write(std::string frame) override {
      network_->Enqueue([pipe = pipe_, end = end_, frame = std::move(frame)]() mutable {
        if (!pipe->open) return;
        if (pipe->events[1 - end] != nullptr) pipe->events[1 - end]->OnFrame(std::move(frame));
        if (pipe->open && pipe->events[end] != nullptr) pipe->events[end]->OnWritten();
      });
    }
    void Close() override { network_->Close(pipe_); }

   private:
    ThreadedNetwork* const network_;
    const std::shared_ptr<Pipe> pipe_;
    const int end_;
  };

  void Close(const std::shared_ptr<Pipe>& pipe) {
    Enqueue([pipe] {
      pipe->open = false;
      for (FrameStream::Events*& events : pipe->events) {
        if (FrameStream::Events* hearer = std::exchange(events, nullptr); hearer != nullptr) {
          hearer->OnClosed(absl::UnavailableError("closed"));
        }
      }
    });
  }
  // Null ends the thread when all that came before has run.
  void Enqueue(absl::AnyInvocable<void()> what) {
    absl::MutexLock lock(&mu_);
    work_.push_back(std::move(what));
  }
  void Serve() {
    while (true) {
      absl::AnyInvocable<void()> what;
      {
        absl::MutexLock lock(
            &mu_,
            absl::Condition(+[](std::deque<absl::AnyInvocable<void()>>* work) { return !work->empty(); }, &work_));
        what = std::move(work_.front());
        work_.pop_front();
      }
      if (what == nullptr) return;
      what();
    }
  }

  absl::Mutex mu_;
  AcceptStream accept_ ABSL_GUARDED_BY(mu_);
  std::vector<std::shared_ptr<Pipe>> pipes_ ABSL_GUARDED_BY(mu_);
  std::deque<absl::AnyInvocable<void()>> work_ ABSL_GUARDED_BY(mu_);
  std::thread thread_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_TRANSPORT_THREADED_NETWORK_H_
