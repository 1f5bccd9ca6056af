// RpcFlow: one direction of a call of a GrpcClient whose answer or request comes in items. A flow waits for one ask of
// the client at a time: for the next item of one side, or until the other side has taken the last one. So at most one
// item is between the credit of a stream of actors (stream.h) and gRPC, and a side that takes no items holds up only
// the side that sends them.
//
//   ItemFlow<Item>    the items of the asker, to the server
//   AnswerFlow<Item>  the items of the server, to the asker
//   ReplyFlow<Reply>  the only answer of the server
//
// Owner's turn only. The ask that a flow waits for at the end of the client is gone with it.
#ifndef UNDERSTUDY_TRANSPORT_CLIENT_RPC_FLOW_H_
#define UNDERSTUDY_TRANSPORT_CLIENT_RPC_FLOW_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/internal/asks/outside_asks.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/message.h"
#include "understudy/actors/message_bytes.h"
#include "understudy/actors/pending.h"
#include "understudy/actors/pending_group.h"
#include "understudy/actors/stream.h"
#include "understudy/actors/stream_writer.h"
#include "understudy/transport/client/service_channel.h"

namespace understudy::internal {

template <WireMessage M>
absl::StatusOr<M> ParseFromServer(const RpcReply& reply) {
  if (!reply.status.ok()) return reply.status;
  const absl::optional<absl::string_view> bytes = reply.message->Flatten();
  if (!bytes.has_value()) return absl::InternalError("gRPC could not decompress the server's answer");
  absl::StatusOr<M> message = M();
  if (message->ParseFromArray(bytes->data(), static_cast<int>(bytes->size()))) return message;
  return absl::InternalError(
      absl::StrCat("the server's answer of ", bytes->size(), " bytes is not a valid ", TypeOf<M>().name()));
}

template <WireMessage M>
absl::StatusOr<std::string> SerializeForServer(const M& message) {
  std::string bytes;
  if (message.SerializeToString(&bytes)) return bytes;
  return absl::InvalidArgumentError(absl::StrCat("the request is not a complete ", TypeOf<M>().name()));
}

class RpcFlow {
 public:
  RpcFlow(const RpcFlow&) = delete;
  RpcFlow& operator=(const RpcFlow&) = delete;

  // How the call ends; none if it goes on.
  using End = absl::optional<absl::Status>;

  // The ask that the flow waits for; none if it has nothing left to do.
  const absl::optional<PendingId>& awaited() const { return awaited_; }
  // Call when the awaited ask is answered. Takes the answer and begins the flow's next step.
  virtual End Step() = 0;
  // The call is over: waits for nothing.
  void GiveUp() {
    if (awaited_.has_value()) internal::GiveUp({&*awaited_, 1});
    awaited_.reset();
  }

 protected:
  // `asks` and `call` must outlive the flow.
  RpcFlow(OutsideAsks& asks, RpcStream& call) : asks_(asks), call_(call) {}
  ~RpcFlow() = default;

  RpcStream& call() const { return call_; }
  void Await(const PendingId& ask) { awaited_ = ask; }
  // Waits for the server's next item.
  void AwaitNext() {
    Await(asks_.Begin(MonotonicTime::InfiniteFuture()));
    if (awaited_->id != 0) call_.Next(*awaited_);
  }
  // Waits until gRPC has taken `item`.
  void AwaitWrite(std::string item) {
    Await(asks_.Begin(MonotonicTime::InfiniteFuture()));
    if (awaited_->id != 0) call_.Write(std::move(item), *awaited_);
  }
  template <class R>
  typename AnswerOf<R>::type Take() {
    const PendingId answered = *awaited_;
    awaited_.reset();
    return ToAnswer<R>(TakeAnswer(answered));
  }

 private:
  OutsideAsks& asks_;
  RpcStream& call_;
  absl::optional<PendingId> awaited_;
};

// Awaiting it gives the index of the flow whose ask was answered first. Requires that each flow waits for one.
class FirstFlow : public PendingGroup<std::vector<PendingId>> {
 public:
  explicit FirstFlow(const std::vector<RpcFlow*>& flows)
      : PendingGroup(AsksOf(flows), 1, kNeverReached, kNeverReached) {}

  auto operator co_await() & { return Awaiter<FirstFlow>(*this); }

 private:
  friend PendingGroup;
  static std::vector<PendingId> AsksOf(const std::vector<RpcFlow*>& flows) {
    std::vector<PendingId> asks;
    asks.reserve(flows.size());
    for (const RpcFlow* flow : flows) asks.push_back(*flow->awaited());
    return asks;
  }
  size_t Take() { return FirstAnswered(ids_); }
};

template <class Item>
class ItemFlow final : public RpcFlow {
 public:
  // While gRPC has an item, its bytes count in `requests_bytes`. `items` and `requests_bytes` must outlive the flow.
  ItemFlow(OutsideAsks& asks, RpcStream& call, const Stream<Item>& items, size_t& requests_bytes)
      : RpcFlow(asks, call), items_(items), requests_bytes_(requests_bytes) {
    AwaitItem();
  }
  ~ItemFlow() { CountWritten(0); }

  End Step() override { return is_writing_ ? AfterWrite() : AfterItem(); }

 private:
  // An asker that writes nothing for as long as an ask may last has forgotten its upload.
  void AwaitItem() {
    is_writing_ = false;
    Await(items_.Next(limits::kAskTimeoutMax).id());
  }
  End AfterItem() {
    const absl::StatusOr<absl::optional<Item>> item = Take<NextItem<Item>>();
    // The upload was cancelled. Ending the call here cancels it at the server, which otherwise could take the items
    // that it got for all of them.
    if (!item.ok()) return item.status();
    if (!item->has_value()) {
      call().EndItems();
      return absl::nullopt;
    }
    absl::StatusOr<std::string> bytes = SerializeForServer(**item);
    if (!bytes.ok()) return bytes.status();
    is_writing_ = true;
    CountWritten(bytes->size());
    AwaitWrite(*std::move(bytes));
    return absl::nullopt;
  }
  End AfterWrite() {
    const absl::StatusOr<RpcWritten> written = Take<RpcWritten>();
    CountWritten(0);
    if (!written.ok()) return written.status();
    if (written->is_taken) AwaitItem();  // otherwise the server has ended the call, and the answers say how
    return absl::nullopt;
  }
  void CountWritten(size_t bytes) {
    requests_bytes_ = requests_bytes_ - written_bytes_ + bytes;
    written_bytes_ = bytes;
  }

  const Stream<Item>& items_;
  size_t& requests_bytes_;
  size_t written_bytes_ = 0;  // of the item that gRPC has
  bool is_writing_ = false;
};

template <class Item>
class AnswerFlow final : public RpcFlow {
 public:
  // `writer` must outlive the flow.
  AnswerFlow(OutsideAsks& asks, RpcStream& call, StreamWriter<Item>& writer) : RpcFlow(asks, call), writer_(writer) {
    AwaitNext();
  }

  End Step() override {
    if (std::exchange(is_writing_, false)) {
      absl::Status written = Take<void>();
      if (!written.ok()) return written;
      AwaitNext();
      return absl::nullopt;
    }
    absl::StatusOr<RpcReply> read = Take<RpcReply>();
    if (!read.ok()) return read.status();
    if (read->message == nullptr) return read->status;
    absl::StatusOr<Item> item = ParseFromServer<Item>(*read);
    read->message = nullptr;  // it counts no longer
    if (!item.ok()) return item.status();
    is_writing_ = true;
    // An asker that takes nothing for as long as an ask may last has forgotten its stream.
    Await(writer_.Write(*std::move(item), limits::kAskTimeoutMax).id());
    return absl::nullopt;
  }

 private:
  StreamWriter<Item>& writer_;
  bool is_writing_ = false;
};

template <class Reply>
class ReplyFlow final : public RpcFlow {
 public:
  ReplyFlow(OutsideAsks& asks, RpcStream& call) : RpcFlow(asks, call) { AwaitNext(); }

  // After the end of the call with OK.
  Reply TakeReply() { return *std::move(reply_); }

  End Step() override {
    const absl::StatusOr<RpcReply> read = Take<RpcReply>();
    if (!read.ok()) return read.status();
    if (read->message == nullptr) {
      if (!read->status.ok() || reply_.has_value()) return read->status;
      return absl::InternalError("the server ended the call with OK and sent no message");
    }
    if (reply_.has_value()) return absl::InternalError("the server sent more than one answer");
    absl::StatusOr<Reply> reply = ParseFromServer<Reply>(*read);
    if (!reply.ok()) return reply.status();
    reply_ = *std::move(reply);
    AwaitNext();  // the end
    return absl::nullopt;
  }

 private:
  absl::optional<Reply> reply_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_CLIENT_RPC_FLOW_H_
