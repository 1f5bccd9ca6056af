// Activation: one run of a handler, from its call to its end, awaits included.
//
// An activation owns the message and keeps the behaviour alive, so the handler's parameters and captures stay valid
// until the handler has ended. Owner's turn only.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTIVATION_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTIVATION_H_

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <list>
#include <memory>
#include <new>
#include <utility>

#include "absl/base/attributes.h"
#include "absl/base/optimization.h"
#include "absl/status/status.h"
#include "absl/types/optional.h"
#include "understudy/actors/check.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/internal/memory/destruction_queue.h"
#include "understudy/actors/internal/memory/slow_path.h"
#include "understudy/actors/internal/send/envelope.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/trace.h"

namespace understudy {

class Actor;

namespace internal {

class ActorCore;
class Activation;
class BehaviorTable;
class MessageHandler;

// A behaviour table, shared by those who use it in one actor: the count is not
// atomic, and belongs to the actor's turn.
class BehaviorPtr {
 public:
  BehaviorPtr() = default;
  BehaviorPtr(std::nullptr_t) {}  // NOLINT: implicit by design
  explicit BehaviorPtr(BehaviorTable* made) : table_(made) { Share(); }
  BehaviorPtr(const BehaviorPtr& other) : table_(other.table_) { Share(); }
  BehaviorPtr(BehaviorPtr&& other) noexcept : table_(std::exchange(other.table_, nullptr)) {}
  BehaviorPtr& operator=(BehaviorPtr other) noexcept {
    std::swap(table_, other.table_);
    return *this;
  }
  ~BehaviorPtr() {
    if (table_ != nullptr) Drop();
  }

  // As `*this = std::move(other)`, but returns the table before, and another thread may call Published meanwhile.
  [[nodiscard]] BehaviorPtr Publish(BehaviorPtr other) noexcept {
    BehaviorTable* const before = table_;
    // release: pairs with the acquire load in Published, so the thread sees the table's name.
    std::atomic_ref(table_).store(std::exchange(other.table_, before), std::memory_order_release);
    return other;
  }
  // Any thread that keeps the table from being destroyed (LookGuard).
  const BehaviorTable* Published() const {
    return std::atomic_ref(const_cast<BehaviorTable*&>(table_)).load(std::memory_order_acquire);
  }

  BehaviorTable* get() const { return table_; }
  BehaviorTable* operator->() const { return table_; }
  BehaviorTable& operator*() const { return *table_; }
  friend bool operator==(const BehaviorPtr&, const BehaviorPtr&) = default;

 private:
  void Share();
  void Drop();

  BehaviorTable* table_ = nullptr;
};

// The outermost coroutine of an activation.
class RootTask {
 public:
  class promise_type {
   public:
    template <class... Args>
    explicit promise_type(Activation& activation, Args&&... /*args*/) : activation_(activation) {}
    template <class... Args>
    promise_type(ActorCore& /*self*/, Activation& activation, Args&&... /*args*/) : activation_(activation) {}
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

// The trace of one handler. Messages that the handler sends carry `context`, whose span is the handler's.
struct HandlerTrace {
  TraceContext context;
  Span span;              // until it ends
  bool has_span = false;  // false if the handler acts for a span that is another's
};

class Activation {
 public:
  enum class Source : uint8_t { kMessage, kEvent, kStart };

  Activation(ActorCore& core, Source source) : source_(source), core_(core) {}
  // The activation of the handler for the message `taken`, which it owns from now on.
  Activation(ActorCore& core, Envelope* taken)
      : envelope(taken), mailbox(taken->mailbox), source_(Source::kMessage), core_(core) {}
  Activation(const Activation&) = delete;
  Activation& operator=(const Activation&) = delete;
  ABSL_ATTRIBUTE_ALWAYS_INLINE ~Activation() {
    if (ABSL_PREDICT_FALSE(held_ != nullptr)) DropHeld();  // first: the coroutine's frame may refer to the message
    if (envelope != nullptr) DestroyLater(envelope);
  }

  ActorCore& core() { return core_; }
  Source source() const { return source_; }
  bool is_call() const { return ask() != 0; }
  Pid asker() const { return has_call_part_ ? call_.asker : Pid(); }
  uint64_t ask() const { return has_call_part_ ? call_.ask : 0; }
  MonotonicTime deadline() const { return has_call_part_ ? call_.deadline : MonotonicTime::InfiniteFuture(); }

  // For handler.h: access to the message or event, and the handler's result.
  template <class M>
  M& As() {
    UNDERSTUDY_DCHECK(envelope->type == &TypeOf<M>(), "a ", envelope->type->name(), " for a handler of ",
                      TypeOf<M>().name());
    return *static_cast<M*>(envelope->value());
  }
  void FinishTell(const absl::Status& status) { status_ = status; }
  void FinishTell(BehaviorPtr become);
  template <class Reply>
  void AnswerValue(Reply reply) {
    if (has_failed || is_postponed) return;
    SendReply(Payload::With(ReplyBlock(TypeOf<Reply>()), std::move(reply)).Release());
  }
  void AnswerStatus(const absl::Status& status);
  // Answers the call also when the handler has failed or the message was postponed.
  void AnswerFinally(const absl::Status& status);
  // A Replier was made for the call: the handler's result is no longer its answer.
  void GiveAwayAnswer() { answer_given_ = true; }
  // A Replier for the call `ask` of `asker` was destroyed unused. If that is the call of this handler, the handler's
  // result is the call's answer again. Returns false if it is not.
  bool TakeBackAnswer(Pid asker, uint64_t ask) {
    if (this->ask() != ask || this->asker() != asker) return false;
    answer_given_ = false;
    return true;
  }
  void SetRoot(RootTask root) { held_->root = std::move(root); }
  // The handler took the message by value.
  void SetMoved() { is_moved = true; }
  // In user code: the handler has ended, and with it the message.
  void DropMessage() {
    if (envelope != nullptr && !is_postponed) envelope->DropValue();
  }

  // For ActorCore.
  void TakeCallPart() {
    if (!envelope->has(Envelope::kHasCallPart)) return;
    has_call_part_ = true;
    call_ = {.asker = envelope->sender(), .ask = envelope->call().ask, .deadline = envelope->call().deadline};
  }
  // State that only some activations need, above all those of coroutine handlers. Allocated by the first Hold().
  struct Held {
    BehaviorPtr behavior;                     // pinned
    std::shared_ptr<MessageHandler> handler;  // pinned, for events
    std::exception_ptr exception;
    RootTask root;
    uint64_t postponed_in = 0;            // the epoch of the behaviour in which the message was postponed last
    bool is_cancelled = false;            // the asker has cancelled the call in hand
    std::unique_ptr<HandlerTrace> trace;  // null if the handler belongs to no trace
    // Used by Activations: where it is there, if its handler has begun and not ended.
    absl::optional<std::list<std::unique_ptr<Activation>>::iterator> place;
  };
  Held& Hold() {
    if (held_ == nullptr) held_ = std::make_unique<Held>().release();
    return *held_;
  }
  // Null until Hold() has been called. A coroutine handler's activation calls it before the coroutine begins.
  Held* held() { return held_; }

  Envelope* envelope = nullptr;  // the message or event; null once its block has the answer
  int mailbox = -1;
  bool is_interleaved : 1 = false;
  bool has_failed : 1 = false;  // Fail was called, or it threw
  bool is_postponed : 1 = false;
  bool is_moved : 1 = false;
  bool ends_receive : 1 = false;  // it is what a Receive waited for
  bool is_complete : 1 = false;
  // Bytes of their own: Fence uses them while user code may write the bits above.
  bool is_forwarded = false;  // and has its disposition: it is counted already
  bool is_in_hand = false;    // and counted so: it awaits, or may
  // True if the message is a tell whose handler returned OK and neither failed, postponed nor forwarded it.
  bool is_plainly_handled() const {
    return !(has_failed || is_postponed || is_forwarded) && !has_call_part_ && status_.ok();
  }
  const absl::Status& status() const { return status_; }
  bool answer_given() const { return answer_given_; }

 private:
  // Ends the handler's span, if it has one, and deletes held_.
  UNDERSTUDY_SLOW_PATH void DropHeld();
  // Returns an envelope for an answer of type `type`: the call's own block if the handler has returned and the block is
  // large enough, else a new one, because a coroutine may still refer to the call.
  Envelope* ReplyBlock(const MessageType& type);
  // `block` carries the id of the ask.
  void SendReply(Envelope* block);

  struct CallInfo {
    Pid asker;
    uint64_t ask;
    MonotonicTime deadline;
  };

  const Source source_;
  bool answer_given_ = false;
  bool has_call_part_ = false;
  ActorCore& core_;
  union {
    CallInfo call_;  // set only if has_call_part_
  };
  absl::Status status_;
  Held* held_ = nullptr;  // owned
};

inline std::suspend_always RootTask::promise_type::final_suspend() noexcept {
  activation_.is_complete = true;
  return {};
}

inline void RootTask::promise_type::unhandled_exception() noexcept {
  activation_.Hold().exception = std::current_exception();
}

}  // namespace internal
}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTIVATION_H_
