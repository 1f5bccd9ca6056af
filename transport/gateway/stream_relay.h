// Relays: actors that stand for a client of a gateway in a call whose answer, or request, is a stream.
//
// An AskRelay asks for a stream of answers, and an UploadRelay opens an upload (upload.h). Each takes the next answer
// when the client's connection has taken the one before, and an UploadRelay reads the client's next item when the one
// before was written to the actor. So a client that reads slowly holds up the stream's writer, and an actor that reads
// slowly holds up its client: in each direction at most one item is between the stream's credit (stream.h) and gRPC.
//
// Invariant: ClientStream::End is called once, at the end of the relay at the latest.
#ifndef UNDERSTUDY_TRANSPORT_GATEWAY_STREAM_RELAY_H_
#define UNDERSTUDY_TRANSPORT_GATEWAY_STREAM_RELAY_H_

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/caller.h"
#include "understudy/actors/channel.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/error.h"
#include "understudy/actors/internal/system/caller_table.h"
#include "understudy/actors/internal/turn/actor_tracing.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/mailbox.h"
#include "understudy/actors/message.h"
#include "understudy/actors/message_bytes.h"
#include "understudy/actors/pending.h"
#include "understudy/actors/stream.h"
#include "understudy/actors/trace.h"
#include "understudy/actors/upload.h"

namespace understudy::internal {

// A client's call whose answer or request is a stream. Any thread; no function blocks.
class ClientStream {
 public:
  // The client's connection has taken an answer.
  struct Written {};
  // The bytes of the client's next item; none when it has sent all of them; an error if the call cannot go on.
  struct Received {
    absl::StatusOr<absl::optional<std::string>> item;
  };

  // Only for a call whose request is a stream: reads the client's next item, and sends it to `received`. Sends nothing
  // if the call is cancelled, which ends the relay. No read may be under way, and the items may not have ended.
  virtual void Read(const Channel<Received>& /*received*/) {}
  // Sends an answer, and a Written to `written` when the next one may be sent. No answer may be on its way.
  virtual void Write(std::string answer, const Channel<Written>& written) = 0;
  // Ends the call, behind the answer that is on its way. Called once.
  virtual void End(absl::Status status) = 0;

 protected:
  ~ClientStream() = default;
};

// The owner of the duty to end a ClientStream.
class StreamEnd {
 public:
  // `otherwise` is how the call ends if End is not called.
  StreamEnd(ClientStream* client, absl::Status otherwise) : client_(client), otherwise_(std::move(otherwise)) {}
  StreamEnd(StreamEnd&& other) noexcept
      : client_(std::exchange(other.client_, nullptr)), otherwise_(std::move(other.otherwise_)) {}
  StreamEnd& operator=(StreamEnd&&) = delete;
  ~StreamEnd() {
    if (client_ != nullptr) client_->End(std::move(otherwise_));
  }

  void set_otherwise(absl::Status status) { otherwise_ = std::move(status); }
  // Requires that End was not called.
  ClientStream& client() const { return *client_; }
  void End(absl::Status status) { std::exchange(client_, nullptr)->End(std::move(status)); }

 private:
  ClientStream* client_;  // null after End, and when moved from
  absl::Status otherwise_;
};

// The code is gRPC's own for a request that cannot be parsed.
template <WireMessage M>
absl::StatusOr<M> ParseRequest(absl::string_view bytes) {
  absl::StatusOr<M> request = M();
  if (request->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return request;
  return absl::InternalError(
      absl::StrCat("the request of ", bytes.size(), " bytes is not a valid ", TypeOf<M>().name()));
}

template <WireMessage M>
absl::StatusOr<std::string> SerializeReply(absl::StatusOr<M> reply) {
  if (!reply.ok()) return std::move(reply).status();
  std::string bytes;
  if (reply->SerializeToString(&bytes)) return bytes;
  return absl::InternalError(absl::StrCat("the actor's reply is not a complete ", TypeOf<M>().name()));
}

// For whom a relay asks.
struct RelayCaller {
  MonotonicTime deadline;  // of the call; infinite if it has none
  CallerTable* table = nullptr;
  std::shared_ptr<const Caller> caller;  // null if the actor is told nothing of it
  absl::optional<TraceContext> trace;    // of the call, if it belongs to one
};

// The base of all relays: it takes the answers to the client.
class StreamRelay : public Actor {
 public:
  Mailbox<"written", ClientStream::Written> written{this};

 protected:
  StreamRelay(RelayCaller caller, StreamEnd client) : caller_(std::move(caller)), client_(std::move(client)) {
    client_.set_otherwise(MakeError(ErrorKind::kCancelled, "the client cancelled the call, or the system stopped"));
  }

  // In Start, before the actor is asked. A clause that passes the next answer is then called for `written`.
  void Begin() {
    context().Tell(written, ClientStream::Written());
    ContinueTrace(context(), caller_.trace);
    if (caller_.caller != nullptr) {
      entry_ = CallerEntry(*caller_.table, context().Self(), std::move(caller_.caller));
    }
  }
  ClientStream& client() const { return client_.client(); }
  absl::Duration TimeLeft() { return caller_.deadline - context().Now(); }
  // True if `outcome` is that of a wait, for TimeLeft() since `began`, which ended because no wait may be longer than
  // limits::kAskTimeoutMax, and not because of the call's deadline: then the relay waits again. A stream whose actor
  // ended it with Expired gives that at once.
  bool WaitsOn(const absl::Status& outcome, MonotonicTime began) {
    return IsExpired(outcome) && context().Now() - began >= limits::kAskTimeoutMax && TimeLeft() > absl::ZeroDuration();
  }
  // Ends the call and stops this relay, which cancels the relay's own asks.
  void End(absl::Status status) {
    client_.End(std::move(status));
    context().Stop();
  }

  template <class Item>
  Task<> PassAnswer(const Stream<Item>& answers) {
    absl::StatusOr<absl::optional<Item>> item;
    MonotonicTime began;
    do {
      began = context().Now();
      auto next = answers.Next(TimeLeft());
      item = co_await next;
    } while (WaitsOn(item.status(), began));
    if (!item.ok() || !item->has_value()) co_return End(std::move(item).status());
    absl::StatusOr<std::string> bytes = SerializeReply<Item>(**std::move(item));
    if (!bytes.ok()) co_return End(std::move(bytes).status());
    client().Write(*std::move(bytes), context().ChannelTo(written));
  }
  template <class Reply>
  Task<> PassAnswer(const Pending<Reply>& answer) {
    absl::StatusOr<Reply> reply = co_await answer;
    absl::StatusOr<std::string> bytes = SerializeReply<Reply>(std::move(reply));
    if (bytes.ok()) client().Write(*bytes, context().ChannelTo(written));
    End(std::move(bytes).status());
  }

 private:
  RelayCaller caller_;
  CallerEntry entry_;
  StreamEnd client_;
};

template <class Request, class Item>
class AskRelay final : public StreamRelay {
 public:
  AskRelay(Channel<Call<Request, Stream<Item>>> to, Request request, RelayCaller caller, StreamEnd client)
      : StreamRelay(std::move(caller), std::move(client)), to_(std::move(to)), request_(std::move(request)) {}

 private:
  StartResult Start() override {
    Begin();
    answers_.emplace(to_.Ask(std::move(request_)));
    return passing_;
  }

  const Channel<Call<Request, Stream<Item>>> to_;
  Request request_;
  absl::optional<Stream<Item>> answers_;  // from Start on
  Behavior passing_{"passing", On(written, [this](const ClientStream::Written&) { return PassAnswer(*answers_); })};
};

// Answer is Reply or Stream<Item>.
template <class Item, class Answer>
class UploadRelay final : public StreamRelay {
 public:
  UploadRelay(Channel<Call<Stream<Item>, Answer>> to, RelayCaller caller, StreamEnd client)
      : StreamRelay(std::move(caller), std::move(client)), to_(std::move(to)) {}

  Mailbox<"received", ClientStream::Received> received{this};

 private:
  static constexpr bool kIsStream = MessageTraits<Call<Stream<Item>, Answer>>::kIsStream;
  using ItsUpload = Upload<Item, std::conditional_t<kIsStream, Answer, Pending<Answer>>>;

  StartResult Start() override {
    Begin();
    upload_.emplace(OpenUpload());
    client().Read(context().ChannelTo(received));
    return passing_;
  }
  ItsUpload OpenUpload() {
    if constexpr (kIsStream) {
      return to_.Open();
    } else {
      return to_.Open(TimeLeft());
    }
  }
  Task<> PassItem(ClientStream::Received next) {
    if (!next.item.ok()) co_return End(std::move(next.item).status());
    if (!next.item->has_value()) co_return upload_->items.Finish(absl::OkStatus());
    absl::StatusOr<Item> item = ParseRequest<Item>(**next.item);
    if (!item.ok()) co_return End(std::move(item).status());
    absl::optional<Item> unwritten = *std::move(item);
    absl::Status written;
    MonotonicTime began;
    do {
      began = context().Now();
      auto writing = upload_->items.Write(*std::move(unwritten), TimeLeft());
      written = co_await writing;
      if (!written.ok()) unwritten = upload_->items.TakeUnwritten();
    } while (WaitsOn(written, began) && unwritten.has_value());
    // After an error the actor reads no further items, so none is taken from the client.
    // The actor's answer ends the call.
    if (written.ok()) client().Read(context().ChannelTo(received));
  }

  const Channel<Call<Stream<Item>, Answer>> to_;
  absl::optional<ItsUpload> upload_;  // from Start on
  Behavior passing_{
      "passing",
      On(written, [this](const ClientStream::Written&) { return PassAnswer(upload_->answer); }).Interleaved(),
      On(received, &UploadRelay::PassItem).Interleaved(),
  };
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_GATEWAY_STREAM_RELAY_H_
