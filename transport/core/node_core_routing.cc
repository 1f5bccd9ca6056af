// NodeCore as Router and NamePublisher: what this system's actors send.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "understudy/actors/error.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/message.h"
#include "understudy/actors/node_table.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/registry.h"
#include "understudy/actors/room.h"
#include "understudy/actors/router.h"
#include "understudy/proto/names.pb.h"
#include "understudy/transport/core/node_core.h"
#include "understudy/transport/core/outstanding_requests.h"
#include "understudy/transport/core/peer_core.h"
#include "understudy/transport/grants.h"

namespace understudy {
namespace {

// The most memory that a thread keeps after serialising one message, for the next one.
constexpr size_t kKeptBytesMax = size_t{64} << 10;

// Serialises the message into `bytes`, or returns why it cannot be sent to another node.
absl::Status Serialize(const OutboundMessage& message, std::string& bytes) {
  if (message.type == nullptr || !message.type->is_wire) {
    return absl::InvalidArgumentError(
        absl::StrCat("a message of type ", message.type == nullptr ? "void" : message.type->name(),
                     " cannot be sent to another node: only Protocol Buffers messages can"));
  }
  if (!message.type->serialize(message.value, &bytes)) {
    return absl::InvalidArgumentError(absl::StrCat("a ", message.type->name(), " does not serialise"));
  }
  return absl::OkStatus();
}

// A serialised message, in memory that its thread uses again for the next one.
class Serialized {
 public:
  explicit Serialized(const OutboundMessage& message)
      : bytes_(std::exchange(Kept(), {})), status_(Serialize(message, bytes_)) {}
  ~Serialized() {
    if (bytes_.capacity() > kKeptBytesMax) return;
    bytes_.clear();
    Kept() = std::move(bytes_);
  }
  Serialized(const Serialized&) = delete;
  Serialized& operator=(const Serialized&) = delete;

  bool ok() const { return status_.ok(); }
  const absl::Status& status() const { return status_; }
  // Requires ok().
  const std::string& bytes() const { return bytes_; }
  size_t size() const { return bytes_.size(); }

 private:
  static std::string& Kept() {
    thread_local std::string kept;
    return kept;
  }

  std::string bytes_;
  const absl::Status status_;
};

absl::Status UnreachableError(Pid to, const ExitReason& unreachable) {
  return unreachable.kind() == ExitReason::Kind::kNoProcess
             ? MakeError(ErrorKind::kNoProcess, absl::StrCat(to.ToString(), " is of an incarnation that is gone"))
             : MakeError(ErrorKind::kNoConnection, unreachable.detail());
}

}  // namespace

absl::optional<ExitReason> NodeCore::Reach(NodePlace node, absl::FunctionRef<bool(PeerCore&)> reach) {
  if (PeerCore* const core = parts_.places.Find(node); core != nullptr && reach(*core)) return absl::nullopt;
  const internal::NodeEntry* entry = internal::NodeTable::Find(node);
  if (entry == nullptr || entry->is_local) return ExitReason::NoProcess();
  PeerCore* core = nullptr;
  {
    absl::MutexLock lock(&table_mu_);
    core = table_.Find(entry->name);
  }
  if (core == nullptr) return ExitReason::NoConnection(absl::StrCat("there is no session with node ", entry->name));
  if (reach(*core)) return absl::nullopt;
  return core->WhyUnreachable(*entry);
}

absl::Status NodeCore::Send(const OutboundMessage& message) {
  const Serialized payload(message);
  if (!payload.ok()) return payload.status();
  absl::Status accepted;
  const absl::optional<ExitReason> unreachable =
      Reach(message.to.place(), [&](PeerCore& core) { return core.Send(message, payload.bytes(), accepted); });
  return unreachable.has_value() ? UnreachableError(message.to, *unreachable) : accepted;
}

absl::optional<absl::Status> NodeCore::SendOrWait(const OutboundMessage& message, uint64_t wait) {
  const Serialized payload(message);
  if (!payload.ok()) return payload.status();
  absl::optional<absl::Status> outcome;
  const absl::optional<ExitReason> unreachable = Reach(
      message.to.place(), [&](PeerCore& core) { return core.SendOrWait(message, payload.bytes(), wait, outcome); });
  if (unreachable.has_value()) outcome = UnreachableError(message.to, *unreachable);
  return outcome;
}

absl::Status NodeCore::SendInRoom(const OutboundMessage& message, uint64_t wait) {
  const Serialized payload(message);
  const auto bytes = payload.ok() ? absl::StatusOr<absl::string_view>(payload.bytes())
                                  : absl::StatusOr<absl::string_view>(payload.status());
  absl::Status accepted;
  const absl::optional<ExitReason> unreachable =
      Reach(message.to.place(), [&](PeerCore& core) { return core.SendInRoom(message, bytes, wait, accepted); });
  return unreachable.has_value() ? UnreachableError(message.to, *unreachable) : accepted;
}

void NodeCore::StopWaiting(Pid from, uint64_t wait) {
  bool is_done = false;
  cores_.ForEach([&](PeerCore& core) { is_done = is_done || core.StopWaiting(from, wait); });
}

void NodeCore::Post(Signal signal) {
  if (signal.payload.is_typed() && signal.payload.type()->is_wire) {
    std::string bytes;  // serialised here, not under the lock
    if (signal.payload.type()->serialize(signal.payload.value(), &bytes)) {
      signal.payload = internal::Payload::OfWireBytes(std::move(bytes));
    }
  }
  const NodePlace place = signal.to.place();
  const absl::optional<ExitReason> unreachable = Reach(place, [&](PeerCore& core) { return core.Post(signal); });
  if (!unreachable.has_value()) return;
  absl::optional<Signal> answer = OutstandingRequests::AnswerTo(signal, *unreachable);
  if (!answer.has_value()) return;
  // The core that last had a session with that incarnation delivers the answer, after all that arrived in that session.
  PeerCore* const last = parts_.places.Find(place);
  (last != nullptr ? last : no_peer_.get())->Deliver(*std::move(answer));
}

void NodeCore::Released(const ReleasedMessages& messages) {
  (void)Reach(messages.node, [&](PeerCore& core) { return core.Released(messages); });
}

void NodeCore::AskBack(Pid receiver, uint32_t mailbox) {
  cores_.ForEach([&](PeerCore& core) { core.AskBack(receiver, mailbox); });
}

void NodeCore::EndWait(const RoomWait& wait, absl::Status status) {
  const bool is_over = Reach(wait.room.node, [&](PeerCore& core) { return core.EndWait(wait, status); }).has_value();
  if (is_over && status.ok()) no_peer_->GiveBack(wait.room);
}

void NodeCore::Publish(const NameRecord& record, absl::AnyInvocable<void(absl::Status)> done) {
  std::vector<proto::MailboxSignature> mailboxes;
  for (size_t i = 0; record.mailboxes != nullptr && i < record.mailboxes->size(); ++i) {
    const MailboxSignature& signature = (*record.mailboxes)[i];
    proto::MailboxSignature& mailbox = mailboxes.emplace_back();
    mailbox.set_name(signature.name);
    mailbox.set_is_call(signature.is_call);
    mailbox.set_request(signature.request);
    mailbox.set_reply(signature.reply);
  }
  absl::Status status = ValidateName(record.name);
  if (status.ok() && Grants::IsReservedForAnother(parts_.options.node, record.name)) {
    status =
        MakeError(ErrorKind::kNotPermitted,
                  absl::StrCat("the name '", record.name, "' is reserved: understudy/KIND/NODE belongs to NODE, and ",
                               "this is node ", parts_.options.node));
  }
  if (status.ok()) {
    const bool is_stopping =
        leaving_.load(std::memory_order_relaxed) || parts_.draining.load(std::memory_order_relaxed);
    status = is_stopping ? MakeError(ErrorKind::kStopping, absl::StrCat("node ", parts_.options.node,
                                                                        " is stopping and publishes no new names"))
                         : parts_.names.Claim(record.name, record.pid, ReadClock(), mailboxes);
    NamesChanged();
  }
  done(std::move(status));
}

void NodeCore::Withdraw(absl::string_view name, Pid owner) {
  // The registry also calls this while MakeChanges removes a name there; the table has released that name already, so
  // Release returns false.
  if (parts_.names.Release(name, owner)) NamesChanged();
}

void NodeCore::Vacate(absl::string_view name, Pid owner) {
  parts_.names.Vacate(name, owner);
  NamesChanged();
}

void NodeCore::Free(absl::string_view name) {
  parts_.names.Free(name);
  NamesChanged();
}

}  // namespace understudy
