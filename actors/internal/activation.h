// Activation: one run of a handler, from its call to its end, awaits included.
//
// It owns the message and pins the behaviour, so that parameters and captures
// are sound until the handler has ended. Owner's turn only.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_ACTIVATION_H_
#define UNDERSTUDY_ACTORS_INTERNAL_ACTIVATION_H_

#include <coroutine>
#include <exception>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/types/optional.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/message.h"

namespace understudy {

class Actor;

namespace internal {

class ActorCore;
class Activation;
class BehaviorTable;

// The outermost coroutine of an activation.
class RootTask {
 public:
  class promise_type {
   public:
    template <class... Args>
    explicit promise_type(Activation& activation, Args&&... /*args*/) : activation_(activation) {}
    promise_type(ActorCore& /*self*/, Activation& activation) : activation_(activation) {}
    RootTask get_return_object() { return RootTask(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept;
    void return_void() {}
    void unhandled_exception() noexcept;

   private:
    Activation& activation_;
  };

  RootTask() = default;
  explicit RootTask(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  RootTask(RootTask&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  RootTask& operator=(RootTask&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~RootTask() {
    if (handle_ != nullptr) handle_.destroy();
  }
  std::coroutine_handle<> handle() const { return handle_; }

 private:
  std::coroutine_handle<promise_type> handle_;
};

// What handles one kind of message or event. Made by templates in handler.h.
class MessageHandler {
 public:
  virtual ~MessageHandler() = default;
  // Runs the handler on `self`, or makes it the activation's root task.
  virtual void Run(Actor& self, Activation& activation) = 0;
};

class Activation {
 public:
  enum class Source { kMessage, kEvent, kStart };

  Activation(ActorCore& core, Source source) : core_(core), source_(source) {}
  Activation(const Activation&) = delete;
  Activation& operator=(const Activation&) = delete;

  ActorCore& core() { return core_; }
  Source source() const { return source_; }
  bool is_call() const { return message.ask != 0; }

  // For handler.h: what the handler came to.
  void FinishTell(const absl::Status& status) { status_ = status; }
  void FinishTell(std::shared_ptr<BehaviorTable> become);
  void AnswerValue(Payload value);
  void AnswerStatus(const absl::Status& status);
  // Answers whatever else has happened.
  void AnswerFinally(const absl::Status& status);
  // The right to answer goes to a Replier.
  void GiveAwayAnswer() { answer_given_ = true; }
  // The Replier was destroyed unused before the handler ended.
  void TakeBackAnswer() { answer_given_ = false; }
  void SetRoot(RootTask root) { root_ = std::move(root); }

  // For ActorCore.
  Message message;
  std::shared_ptr<BehaviorTable> behavior;  // pinned
  std::shared_ptr<MessageHandler> handler;  // pinned, for events
  int mailbox = -1;
  bool is_interleaved = false;
  bool has_failed = false;  // Fail was called, or it threw
  bool is_postponed = false;
  bool is_passed_on = false;  // and has its fate: it is counted already
  bool ends_receive = false;  // it is what a Receive waited for
  uint64_t stamp = 0;         // of the message, for Postpone
  bool is_complete = false;
  std::exception_ptr exception;
  const absl::Status& status() const { return status_; }
  bool answer_given() const { return answer_given_; }
  RootTask& root() { return root_; }

 private:
  ActorCore& core_;
  const Source source_;
  absl::Status status_;
  bool answer_given_ = false;
  RootTask root_;  // destroyed first: its frame uses the members above
};

inline std::suspend_always RootTask::promise_type::final_suspend() noexcept {
  activation_.is_complete = true;
  return {};
}

inline void RootTask::promise_type::unhandled_exception() noexcept { activation_.exception = std::current_exception(); }

}  // namespace internal
}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_INTERNAL_ACTIVATION_H_
