// Channel<M>: the sending end of one mailbox of one actor, here or on another
// node. Having a channel is the right to send M.
//
//   Channel<int> add = ref.add();
//   absl::Status sent = add.Send(5);            // moved from only if accepted
//   add.Tell(5);                                // a refusal becomes a dead letter
//   auto asked = ref.total().Ask({}, absl::Seconds(1));   // in an actor's turn
//   absl::StatusOr<Total> total = co_await asked;         // a second statement
//
// Guarantees: a local send is accepted or refused at once (Full, NoMailbox,
// NoProcess, NoName, Stopping); one sender's messages and signals arrive at an
// actor in the order of sending. The sender is the actor whose turn runs on
// this thread, else the thread.
// Threads: any; Ask and await only in an actor's turn. Lifetime: a small
// trivially copyable value; it names one life and outlives it harmlessly, and its
// system too, but no plain thread uses it while that is being destroyed.
#ifndef UNDERSTUDY_ACTORS_CHANNEL_H_
#define UNDERSTUDY_ACTORS_CHANNEL_H_

#include <coroutine>
#include <cstdint>
#include <ostream>
#include <type_traits>
#include <utility>

#include "absl/base/optimization.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/check.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pending.h"
#include "understudy/actors/pid.h"

namespace understudy {
namespace internal {

class ChannelBase;

// The common case of a send, by the actor of this turn. False: it was not accepted, and SendTell does it, or says why.
bool TryTell(const ChannelBase& channel, const MessageType& type, const void* value, TransferMode mode);
// Sends as the actor of this turn, or as the thread.
absl::Status SendTell(const ChannelBase& channel, const MessageType& type, const void* value, TransferMode mode);
// The same, but a refusal becomes a dead letter.
void TellOrBury(const ChannelBase& channel, const MessageType& type, const void* value, TransferMode mode);
// Sends a call as the actor of this turn; CHECKs outside turns. A refusal is
// the answer. The value is moved from.
PendingId SendCall(Pid to, uint32_t mailbox, const MessageType& type, void* value, absl::Duration timeout);

// What became of a message whose sender awaits room.
enum class SendStep : uint8_t {
  kDone,         // `outcome` says whether it was sent
  kWaits,        // it waits at the mailbox and was moved from; await `waits`, whose answer is the outcome
  kWaitsForNode  // its sender keeps it; await `waits`, and if the answer is OK then SendInRoom
};
// Sends it, if it need not wait. CHECKs outside turns.
SendStep SendOrWait(const ChannelBase& channel, const MessageType& type, void* value, absl::Duration timeout,
                    PendingId& waits, absl::Status& outcome);
// Sends it into the room that another node keeps for it.
absl::Status SendInRoom(const ChannelBase& channel, const MessageType& type, void* value, PendingId waited);

// Does not compile: T is no message for a channel of M.
template <class M, class T>
constexpr void CheckMessage() {
  static_assert(!std::is_same_v<std::remove_cvref_t<T>, M>,
                "this message cannot be copied: move it into the channel, Send(std::move(message))");
  static_assert(std::is_same_v<std::remove_cvref_t<T>, M>,
                "the channel's mailbox is declared for another type of message");
}

class ChannelBase {
 public:
  Pid pid() const { return pid_; }
  // Hash of the mailbox's wire name.
  uint32_t mailbox() const { return mailbox_; }

  friend bool operator==(const ChannelBase&, const ChannelBase&) = default;
  template <typename H>
  friend H AbslHashValue(H state, const ChannelBase& channel) {
    return H::combine(std::move(state), channel.pid_, channel.mailbox_);
  }
  friend std::ostream& operator<<(std::ostream& out, const ChannelBase& channel) {
    return out << channel.pid_ << "/" << MailboxNames::Find(channel.mailbox_);
  }

 protected:
  ChannelBase() = default;
  ChannelBase(Pid pid, uint32_t mailbox) : pid_(pid), mailbox_(mailbox) {}
  ~ChannelBase() = default;
  ChannelBase(const ChannelBase&) = default;
  ChannelBase& operator=(const ChannelBase&) = default;

  Pid pid_;
  uint32_t mailbox_ = 0;
};

}  // namespace internal

template <class M>
class Channel;

// What Channel::SendWhenRoom gives: awaits the outcome, and has the message until it is
// accepted. Keep it in a variable; it does not move.
template <class M>
class [[nodiscard]] Sending {
 public:
  using UnderstudyAwaitable = void;
  Sending(const Channel<M>& to, M message, absl::Duration timeout)
      : to_(to), timeout_(timeout), message_(std::move(message)) {}
  Sending(const Sending&) = delete;
  Sending& operator=(const Sending&) = delete;

  // The message that was not accepted. CHECKs that there is one: the outcome is
  // not OK.
  M TakeMessage() && {
    UNDERSTUDY_CHECK(message_.has_value(), "TakeMessage of a Sending whose message was accepted, or still waits");
    return std::move(*message_);
  }

  auto operator co_await() & {
    class Awaiter {
     public:
      explicit Awaiter(Sending& sending) : sending_(sending) {}
      bool await_ready() { return !sending_.Begin(); }
      void await_suspend(std::coroutine_handle<> waiter) { internal::AwaitAnswer(sending_.waits_, waiter); }
      absl::Status await_resume() { return sending_.Outcome(); }

     private:
      Sending& sending_;
    };
    return Awaiter(*this);
  }

 private:
  // False: it does not wait.
  bool Begin() {
    UNDERSTUDY_CHECK(message_.has_value(), "a Sending is awaited once");
    step_ = internal::SendOrWait(to_, internal::TypeOf<M>(), &*message_, timeout_, waits_, outcome_);
    const bool is_waiting = step_ != internal::SendStep::kDone;
    if (step_ == internal::SendStep::kWaits || (!is_waiting && outcome_.ok())) message_ = absl::nullopt;
    return is_waiting;
  }
  absl::Status Outcome() {
    if (step_ == internal::SendStep::kDone) return outcome_;
    internal::Answer answer = internal::TakeAnswer(waits_);
    if (step_ == internal::SendStep::kWaitsForNode) {
      if (!answer.status.ok()) return std::move(answer.status);
      absl::Status sent = internal::SendInRoom(to_, internal::TypeOf<M>(), &*message_, waits_);
      if (sent.ok()) message_ = absl::nullopt;
      return sent;
    }
    if (!answer.status.ok() && answer.payload.is_typed()) message_.emplace(std::move(answer.payload.template As<M>()));
    return std::move(answer.status);
  }

  const Channel<M> to_;
  const absl::Duration timeout_;
  absl::optional<M> message_;
  internal::SendStep step_ = internal::SendStep::kDone;
  internal::PendingId waits_;
  absl::Status outcome_;
};

template <class M>
class Channel : public internal::ChannelBase {
 public:
  using Message = M;

  // Sends to it answer NoProcess.
  Channel() = default;
  // Prefer a Ref. `mailbox` is the hash of a wire name.
  Channel(Pid pid, uint32_t mailbox) : ChannelBase(pid, mailbox) {}

  // OK means accepted. A refused message is unchanged.
  [[nodiscard]] absl::Status Send(M&& message) const { return Send(&message, internal::TransferMode::kMove); }
  [[nodiscard]] absl::Status Send(const M& message) const
    requires std::is_copy_constructible_v<M>
  {
    return Send(&message, internal::TransferMode::kCopy);
  }
  // Send that waits while the mailbox is full, at most `timeout` (less when the
  // call in hand has less left), then Expired. Sent when awaited, behind those
  // that wait already; a Send of another may still take the room first.
  //
  //   auto sending = channel.SendWhenRoom(std::move(chunk), absl::Seconds(5));
  //   absl::Status sent = co_await sending;
  //   if (!sent.ok()) chunk = std::move(sending).TakeMessage();
  //
  // Only in an actor's turn (CHECKed). The receiver's end is told at once, as
  // NoProcess. A message with more bytes than the mailbox has room for waits until
  // that is empty.
  //
  // To another node it waits too, in the same line as the senders there: the
  // message stays here until that node has kept room for it, and the session has
  // room for its bytes. NoConnection when the session ends first. Full, without
  // waiting, when limits::kWantsPerSessionMax senders of this node wait for that
  // node's room.
  Sending<M> SendWhenRoom(M message, absl::Duration timeout) const {
    return Sending<M>(*this, std::move(message), timeout);
  }
  // Says what is wrong with what is not an M.
  template <class T>
    requires(!std::is_convertible_v<T &&, M>)
  absl::Status Send(T&& /*message*/) const {
    internal::CheckMessage<M, T>();
    return absl::OkStatus();
  }
  // Send, where a refusal is counted and told to the dead-letter listeners.
  void Tell(M&& message) const {
    internal::TellOrBury(*this, internal::TypeOf<M>(), &message, internal::TransferMode::kMove);
  }
  void Tell(const M& message) const
    requires std::is_copy_constructible_v<M>
  {
    internal::TellOrBury(*this, internal::TypeOf<M>(), &message, internal::TransferMode::kCopy);
  }
  template <class T>
    requires(!std::is_convertible_v<T &&, M>)
  void Tell(T&& /*message*/) const {
    internal::CheckMessage<M, T>();
  }

 private:
  absl::Status Send(const void* message, internal::TransferMode mode) const {
    const internal::MessageType& type = internal::TypeOf<M>();
    if (ABSL_PREDICT_TRUE(internal::TryTell(*this, type, message, mode))) return absl::OkStatus();
    return internal::SendTell(*this, type, message, mode);
  }
};

template <class RequestT, class ReplyT>
class Channel<Call<RequestT, ReplyT>> : public internal::ChannelBase {
 public:
  using Message = Call<RequestT, ReplyT>;
  using Request = RequestT;
  using Reply = ReplyT;

  Channel() = default;
  Channel(Pid pid, uint32_t mailbox) : ChannelBase(pid, mailbox) {}

  // Sends at once and gives what to await, for at most `timeout` (less when the
  // call in hand has less left). Everything that can go wrong is the answer:
  // a refusal, CalleeExited, Unanswered, NoConnection, Expired, Cancelled, or
  // the callee's own status. CHECKs outside an actor's turn: there use
  // ActorSystem::Ask.
  [[nodiscard]] Pending<ReplyT> Ask(RequestT request, absl::Duration timeout) const {
    return Pending<ReplyT>(internal::SendCall(pid_, mailbox_, internal::TypeOf<RequestT>(), &request, timeout));
  }
};

}  // namespace understudy

template <class M>
struct std::hash<understudy::Channel<M>> {
  size_t operator()(const understudy::Channel<M>& channel) const {
    return std::hash<understudy::Pid>()(channel.pid()) ^ channel.mailbox();
  }
};

#endif  // UNDERSTUDY_ACTORS_CHANNEL_H_
