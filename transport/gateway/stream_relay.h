// StreamRelay: an actor that reads a stream for a client of a gateway.
//
// It asks for the stream, and takes the next item when the client's connection has taken the one before. So a client
// that reads slowly holds up the stream's writer: at most one item is between the stream's credit (stream.h) and gRPC.
//
// Invariant: ClientStream::End is called once, at the end of the relay at the latest.
#ifndef UNDERSTUDY_TRANSPORT_GATEWAY_STREAM_RELAY_H_
#define UNDERSTUDY_TRANSPORT_GATEWAY_STREAM_RELAY_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/caller.h"
#include "understudy/actors/channel.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/error.h"
#include "understudy/actors/internal/system/caller_table.h"
#include "understudy/actors/internal/turn/actor_tracing.h"
#include "understudy/actors/mailbox.h"
#include "understudy/actors/message.h"
#include "understudy/actors/stream.h"
#include "understudy/actors/trace.h"

namespace understudy::internal {

// A client's call of an rpc that returns a stream. Any thread; neither function blocks.
class ClientStream {
 public:
  // The connection has taken an item.
  struct Written {};

  // Sends an item, and a Written to `written` when the next one may be sent. No item may be on its way.
  virtual void Write(std::string item, const Channel<Written>& written) = 0;
  // Ends the call, behind the item that is on its way. Called once.
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
  void Write(std::string item, const Channel<ClientStream::Written>& written) {
    client_->Write(std::move(item), written);
  }
  void End(absl::Status status) { std::exchange(client_, nullptr)->End(std::move(status)); }

 private:
  ClientStream* client_;  // null after End, and when moved from
  absl::Status otherwise_;
};

// For whom a relay asks: `caller` is null if the actor is told nothing of it.
struct RelayCaller {
  CallerTable* table = nullptr;
  std::shared_ptr<const Caller> caller;
  absl::optional<TraceContext> trace;  // of the call, if it belongs to one
};

template <class Request, class Item>
class StreamRelay final : public Actor {
 public:
  StreamRelay(Channel<Call<Request, Stream<Item>>> from, Request request, MonotonicTime deadline, RelayCaller caller,
              StreamEnd client)
      : from_(std::move(from)),
        request_(std::move(request)),
        deadline_(deadline),
        caller_(std::move(caller)),
        client_(std::move(client)) {
    client_.set_otherwise(MakeError(ErrorKind::kCancelled, "the client cancelled the call, or the system stopped"));
  }

  Mailbox<"written", ClientStream::Written> written{this};

 private:
  StartResult Start() override { return Relay(); }

  Task<> Relay() {
    ContinueTrace(context(), caller_.trace);
    CallerEntry entry;
    if (caller_.caller != nullptr) {
      entry = CallerEntry(*caller_.table, context().Self(), std::move(caller_.caller));
    }
    const Stream<Item> items = from_.Ask(std::move(request_));
    bool is_in_time = true;
    while (is_in_time) {
      auto next = items.Next(deadline_ - context().Now());
      absl::StatusOr<absl::optional<Item>> item = co_await next;
      if (!item.ok() || !item->has_value()) co_return client_.End(std::move(item).status());
      std::string bytes;
      if (!(*item)->SerializeToString(&bytes)) {
        co_return client_.End(
            absl::InternalError(absl::StrCat("the item, a ", TypeOf<Item>().name(), ", cannot be serialized")));
      }
      client_.Write(std::move(bytes), context().ChannelTo(written));
      auto received = Receive(On(written, [](const ClientStream::Written&) {}),
                              After(deadline_ - context().Now(), [&is_in_time] { is_in_time = false; }));
      co_await received;
    }
    client_.End(MakeError(ErrorKind::kExpired, "the client took no further item before the call's deadline"));
  }

  const Channel<Call<Request, Stream<Item>>> from_;
  Request request_;
  const MonotonicTime deadline_;
  RelayCaller caller_;
  StreamEnd client_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_GATEWAY_STREAM_RELAY_H_
