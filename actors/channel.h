// Channel<M>: the sending end of one mailbox of one actor, here or on another
// node. Having a channel is the right to send M.
//
//   Channel<int> add = ref.add();
//   absl::Status sent = add.Send(5);            // moved from only if accepted
//   add.Tell(5);                                // a refusal becomes a dead letter
//   auto asked = ref.total().Ask({}, absl::Seconds(1));   // in an actor's turn
//   absl::StatusOr<Total> total = co_await asked;         // a second statement
//
// Guarantees: a local send is accepted or refused at once (Full, NoMailbox, NoProcess,
// NoName, Stopping). The messages and signals of one sender arrive at an actor in the
// order of sending. The sender is the actor whose turn runs on this thread, or, outside
// turns, the thread.
// Threads: any, except that Ask and SendWhenRoom are for actors' turns. Lifetime: a small
// trivially copyable value. It names one life of an actor, and may outlive that life and
// its system. While the system is being destroyed, no plain thread may use it.
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
#include "understudy/actors/stream.h"
#include "understudy/actors/stream_writer.h"
#include "understudy/actors/upload.h"

namespace understudy {
namespace internal {

class ChannelBase;

// The common case of a send, by the actor of this turn. If it returns false, the message was not accepted; call
// SendTell, which sends it or returns the reason.
bool TryTell(const ChannelBase& channel, const MessageType& type, const void* value, TransferMode mode);
// Sends a tell as the actor of this turn or, outside turns, as the thread.
absl::Status SendTell(const ChannelBase& channel, const MessageType& type, const void* value, TransferMode mode);
// Like SendTell, but a refused message becomes a dead letter.
void TellOrBury(const ChannelBase& channel, const MessageType& type, const void* value, TransferMode mode);
// Sends a call as the actor of this turn; CHECKs outside turns. If the call is refused, the
// refusal is its answer. Moves from the value.
PendingId SendCall(Pid to, uint32_t mailbox, const MessageType& type, void* value, absl::Duration timeout);

// Like SendCall, for a call whose answer or request comes in items: `kind` is kStreamAsk, kUploadAsk or both. With
// kStreamAsk the call has no deadline of its own, and `timeout` is not used.
PendingId SendCallWithItems(Pid to, uint32_t mailbox, const MessageType& type, void* value, uint64_t kind,
                            absl::Duration timeout);

// The outcome of SendOrWait for a message.
enum class SendStep : uint8_t {
  kDone,         // `outcome` says whether the message was sent
  kWaits,        // the message was moved to the mailbox's line; await `waits`, whose answer is the outcome
  kWaitsForNode  // the sender keeps the message; await `waits`, and if the answer is OK call SendInRoom
};
// Sends a message if the mailbox has room and no sender waits for room; otherwise lets the sender wait, for at most
// `timeout`. CHECKs outside turns.
SendStep SendOrWait(const ChannelBase& channel, const MessageType& type, void* value, absl::Duration timeout,
                    PendingId& waits, absl::Status& outcome);
// Sends the message into the room that another node has reserved for it, after kWaitsForNode.
absl::Status SendInRoom(const ChannelBase& channel, const MessageType& type, void* value, PendingId waited);

// Does not compile, and says why: a T cannot be sent through a channel of M.
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

// The result of Channel::SendWhenRoom. Awaiting it sends the message and gives the outcome.
// It keeps the message until that is accepted. It cannot be moved, so keep it in a variable.
template <class M>
class [[nodiscard]] Sending {
 public:
  using UnderstudyAwaitable = void;
  Sending(const Channel<M>& to, M message, absl::Duration timeout)
      : to_(to), timeout_(timeout), message_(std::move(message)) {}
  Sending(const Sending&) = delete;
  Sending& operator=(const Sending&) = delete;

  // Returns the message after an outcome that is not OK. CHECKs that the message was not
  // accepted and does not wait.
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
  // Sends the message if possible. Returns whether the sender has to wait.
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

  // A channel to no actor: sends return NoProcess.
  Channel() = default;
  // Prefer a Ref. `mailbox` is the hash of a wire name.
  Channel(Pid pid, uint32_t mailbox) : ChannelBase(pid, mailbox) {}

  // Sends `message`. OK means that the mailbox has accepted it. On an error the message is
  // unchanged.
  [[nodiscard]] absl::Status Send(M&& message) const { return Send(&message, internal::TransferMode::kMove); }
  [[nodiscard]] absl::Status Send(const M& message) const
    requires std::is_copy_constructible_v<M>
  {
    return Send(&message, internal::TransferMode::kCopy);
  }
  // Sends `message` when the mailbox has room. The result must be awaited, which sends the
  // message or joins the line of senders that wait for room in this mailbox. Expired if no
  // room comes within `timeout`, or before the deadline of the call that is being handled. A
  // Send by an actor that is not in the line may take room first.
  //
  //   auto sending = channel.SendWhenRoom(std::move(chunk), absl::Seconds(5));
  //   absl::Status sent = co_await sending;
  //   if (!sent.ok()) chunk = std::move(sending).TakeMessage();
  //
  // Only in an actor's turn (CHECKed). If the receiver ends, the outcome is NoProcess at once.
  // A message with more bytes than the mailbox's capacity waits until the mailbox is empty.
  //
  // If the receiver is on another node, the sender waits in the same line as the senders
  // there. The message stays here until that node has reserved room for it and the session has
  // room for its bytes. NoConnection if the session ends first. Full, without waiting, if
  // limits::kWantsPerSessionMax senders of this node wait for room on that node already.
  Sending<M> SendWhenRoom(M message, absl::Duration timeout) const {
    return Sending<M>(*this, std::move(message), timeout);
  }
  // Does not compile, and says why: the argument is not an M.
  template <class T>
    requires(!std::is_convertible_v<T &&, M>)
  absl::Status Send(T&& /*message*/) const {
    internal::CheckMessage<M, T>();
    return absl::OkStatus();
  }
  // Sends `message`. If it is refused, it is destroyed and becomes a dead letter (counted,
  // logged, and given to the dead-letter listeners).
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

  // Sends the call at once, and returns a Pending to be awaited for the answer. The deadline
  // is `timeout` from now, or that of the call that is being handled if it is earlier. Errors
  // come as the answer: a refusal (as Send), CalleeExited, Unanswered, NoConnection, Expired,
  // Cancelled, or the callee's own status. CHECKs outside an actor's turn: use
  // ActorSystem::Ask there.
  [[nodiscard]] Pending<ReplyT> Ask(RequestT request, absl::Duration timeout) const {
    return Pending<ReplyT>(internal::SendCall(pid_, mailbox_, internal::TypeOf<RequestT>(), &request, timeout));
  }
};

template <class RequestT, class ItemT>
class Channel<Call<RequestT, Stream<ItemT>>> : public internal::ChannelBase {
 public:
  using Message = Call<RequestT, Stream<ItemT>>;
  using Request = RequestT;
  using Item = ItemT;

  Channel() = default;
  Channel(Pid pid, uint32_t mailbox) : ChannelBase(pid, mailbox) {}

  // Sends the call at once, and returns the stream of its items (stream.h). Errors come from Stream::Next. The call has
  // no deadline besides that of the call that is being handled. CHECKs outside an actor's turn. Unimplemented if the
  // actor is on another node whose version has no streams.
  [[nodiscard]] Stream<ItemT> Ask(RequestT request) const {
    return Stream<ItemT>(internal::SendCallWithItems(pid_, mailbox_, internal::TypeOf<RequestT>(), &request,
                                                     internal::kStreamAsk, absl::InfiniteDuration()));
  }
};

// Uploads, whose request comes in items (upload.h).
template <class ItemT, class ReplyT>
class Channel<Call<Stream<ItemT>, ReplyT>> : public internal::ChannelBase {
 public:
  using Message = Call<Stream<ItemT>, ReplyT>;
  using Item = ItemT;
  using Reply = ReplyT;

  Channel() = default;
  Channel(Pid pid, uint32_t mailbox) : ChannelBase(pid, mailbox) {}

  // Sends the call at once, and returns the writer of its items and the Pending of its answer. The deadline is that of
  // the whole call: `timeout` from now, or that of the call that is being handled if it is earlier. The answer has the
  // same errors as an answer to Ask; Write returns errors too. CHECKs outside an actor's turn. Unimplemented if the
  // actor is on another node whose version has no uploads.
  [[nodiscard]] Upload<ItemT, Pending<ReplyT>> Open(absl::Duration timeout) const {
    internal::UploadCall<ItemT> call;
    const internal::PendingId ask = internal::SendCallWithItems(
        pid_, mailbox_, internal::TypeOf<internal::UploadCall<ItemT>>(), &call, internal::kUploadAsk, timeout);
    return {StreamWriter<ItemT>(ask, pid_), Pending<ReplyT>(ask)};
  }
};

template <class ItemT, class ReplyItemT>
class Channel<Call<Stream<ItemT>, Stream<ReplyItemT>>> : public internal::ChannelBase {
 public:
  using Message = Call<Stream<ItemT>, Stream<ReplyItemT>>;
  using Item = ItemT;
  using ReplyItem = ReplyItemT;

  Channel() = default;
  Channel(Pid pid, uint32_t mailbox) : ChannelBase(pid, mailbox) {}

  // Like Open of an upload, for a call whose answer comes in items too. Like the Ask of a stream, the call has no
  // deadline besides the deadline of the call that is being handled.
  [[nodiscard]] Upload<ItemT, Stream<ReplyItemT>> Open() const {
    internal::UploadCall<ItemT> call;
    const internal::PendingId ask =
        internal::SendCallWithItems(pid_, mailbox_, internal::TypeOf<internal::UploadCall<ItemT>>(), &call,
                                    internal::kUploadAsk | internal::kStreamAsk, absl::InfiniteDuration());
    return {StreamWriter<ItemT>(ask, pid_), Stream<ReplyItemT>(ask)};
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
