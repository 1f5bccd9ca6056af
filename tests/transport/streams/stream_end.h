// One end of a stream, and the ends that a listener accepts, for tests of the streams below a session. The sockets are
// real: a test waits, with a deadline, for the events of an end.
#ifndef UNDERSTUDY_TESTS_TRANSPORT_STREAMS_STREAM_END_H_
#define UNDERSTUDY_TESTS_TRANSPORT_STREAMS_STREAM_END_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/limits.h"
#include "understudy/transport/session/frame_stream.h"
#include "understudy/transport/session/stream_identity.h"

namespace understudy::net_testing {

inline constexpr absl::Duration kStreamDeadline = absl::Seconds(30);

// One end of a stream: records its events and frames, and lets a test wait for them.
class End final : public FrameStream::Events {
 public:
  using FrameHook = std::function<void(const std::string&)>;

  // Calls `hook` for each frame from now on, on the transport's thread, before
  // the frame is kept.
  void SetFrameHook(FrameHook hook) {
    absl::MutexLock lock(&mu_);
    hook_ = std::move(hook);
  }

  void OnFrame(std::string frame) override {
    FrameHook hook;
    {
      absl::MutexLock lock(&mu_);
      hook = hook_;
    }
    if (hook != nullptr) hook(frame);
    absl::MutexLock lock(&mu_);
    EXPECT_FALSE(closed_) << "an event after OnClosed";
    frames_.push_back(std::move(frame));
  }
  void OnWritten() override {
    absl::MutexLock lock(&mu_);
    EXPECT_FALSE(closed_) << "an event after OnClosed";
    writing_ = false;
  }
  void OnClosed(absl::Status why) override {
    absl::MutexLock lock(&mu_);
    EXPECT_FALSE(closed_) << "closed twice";
    closed_ = true;
    why_ = std::move(why);
  }

  void Take(std::unique_ptr<FrameStream> stream) {
    taken_ = true;
    stream_ = std::move(stream);
  }
  bool is_taken() const { return taken_; }
  FrameStream& stream() { return *stream_; }
  void Drop() { stream_.reset(); }

  void Write(std::string frame) {
    {
      absl::MutexLock lock(&mu_);
      const auto may_write = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return !writing_ || closed_; };
      ASSERT_TRUE(mu_.AwaitWithTimeout(absl::Condition(&may_write), kStreamDeadline))
          << "the last write did not complete";
      writing_ = true;
    }
    stream_->Write(std::move(frame));
  }
  std::vector<std::string> WaitForFrames(size_t count) {
    absl::MutexLock lock(&mu_);
    const auto there = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return frames_.size() >= count || closed_; };
    EXPECT_TRUE(mu_.AwaitWithTimeout(absl::Condition(&there), kStreamDeadline)) << "frames missing: " << frames_.size();
    EXPECT_GE(frames_.size(), count) << "closed: " << why_;
    return frames_;
  }
  // Whether it has closed without a frame.
  bool WaitForFrameOrEnd() {
    absl::MutexLock lock(&mu_);
    const auto there = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return !frames_.empty() || closed_; };
    EXPECT_TRUE(mu_.AwaitWithTimeout(absl::Condition(&there), kStreamDeadline)) << "neither a frame nor the end";
    return frames_.empty();
  }
  absl::Status WaitUntilClosed() {
    absl::MutexLock lock(&mu_);
    EXPECT_TRUE(mu_.AwaitWithTimeout(absl::Condition(&closed_), kStreamDeadline)) << "not closed in time";
    return why_;
  }

 private:
  bool taken_ = false;
  std::unique_ptr<FrameStream> stream_;
  absl::Mutex mu_;
  FrameHook hook_ ABSL_GUARDED_BY(mu_);
  std::vector<std::string> frames_ ABSL_GUARDED_BY(mu_);
  bool writing_ ABSL_GUARDED_BY(mu_) = false;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status why_ ABSL_GUARDED_BY(mu_);
};

// Accepts streams, each with an End of its own.
class Accepting {
 public:
  // An End must outlive the OnClosed of its stream.
  ~Accepting() {
    std::vector<std::unique_ptr<End>> ends;
    {
      absl::MutexLock lock(&mu_);
      refuse_ = true;
      ends.swap(ends_);
    }
    for (const auto& end : ends) end->Drop();
    for (const auto& end : ends) (void)end->WaitUntilClosed();
  }

  AcceptStream Accept() {
    return [this](std::unique_ptr<FrameStream> stream, const StreamIdentity& identity) -> FrameStream::Events* {
      absl::MutexLock lock(&mu_);
      if (refuse_) return nullptr;
      ends_.push_back(std::make_unique<End>());
      ends_.back()->Take(std::move(stream));
      identity_ = identity;
      if (echo_) {
        End* const end = ends_.back().get();
        end->SetFrameHook([end](const std::string& frame) { end->stream().Write(frame); });
      }
      return ends_.back().get();
    };
  }
  // Returns the identity of the peer on the stream that was accepted last.
  StreamIdentity identity() {
    absl::MutexLock lock(&mu_);
    return identity_;
  }
  // From now on each stream writes back its first frame.
  void SetEcho() {
    absl::MutexLock lock(&mu_);
    echo_ = true;
  }
  size_t count() {
    absl::MutexLock lock(&mu_);
    return ends_.size();
  }
  void Refuse() {
    absl::MutexLock lock(&mu_);
    refuse_ = true;
  }
  End& Wait(size_t index) {
    absl::MutexLock lock(&mu_);
    const auto there = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return ends_.size() > index; };
    EXPECT_TRUE(mu_.AwaitWithTimeout(absl::Condition(&there), kStreamDeadline)) << "no stream was accepted in time";
    return *ends_[index];
  }

 private:
  absl::Mutex mu_;
  bool echo_ ABSL_GUARDED_BY(mu_) = false;
  bool refuse_ ABSL_GUARDED_BY(mu_) = false;
  StreamIdentity identity_ ABSL_GUARDED_BY(mu_);
  std::vector<std::unique_ptr<End>> ends_ ABSL_GUARDED_BY(mu_);
};

// Frames pass both ways, in order, whole.
inline void ExpectCarries(End& a, End& b) {
  const std::string largest(limits::kFrameBytesMax, '\xff');
  std::vector<std::string> sent = {"", std::string("\0binary\xfe", 8), largest};
  for (int i = 0; i < 100; ++i) sent.push_back(absl::StrCat("frame ", i));
  for (const std::string& frame : sent) a.Write(frame);
  EXPECT_EQ(b.WaitForFrames(sent.size()), sent);
  for (const std::string& frame : sent) b.Write(frame);
  EXPECT_EQ(a.WaitForFrames(sent.size()), sent);
}

}  // namespace understudy::net_testing

#endif  // UNDERSTUDY_TESTS_TRANSPORT_STREAMS_STREAM_END_H_
