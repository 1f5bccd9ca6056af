#include "understudy/transport/protocol/local_types.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "google/protobuf/descriptor.h"
#include "understudy/actors/cut_text.h"
#include "understudy/proto/names.pb.h"
#include "understudy/transport/protocol/compare.h"
#include "understudy/transport/protocol/fingerprint.h"
#include "understudy/transport/protocol/placed_protocol.h"
#include "understudy/transport/protocol/protocol.pb.h"
#include "understudy/transport/protocol/type_reader.h"

namespace understudy {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;

// The most that an error says of one mailbox, so that the error of an actor with many mailboxes can still be read.
constexpr size_t kMisreadTextBytesMax = 512;

// What entering a described message or enum into an index costs, in steps of Compare.
constexpr int64_t kStepsOfIndexedType = 16;
// What describing a message, field, enum or value costs besides its bytes.
constexpr int64_t kStepsOfDescribedPart = 16;

int64_t StepsToDescribe(const actor_protocol::Protocol& protocol) {
  int64_t parts = int64_t{protocol.message_size()} + protocol.enum__size();
  for (const actor_protocol::MessageType& message : protocol.message()) parts += message.field_size();
  for (const actor_protocol::EnumType& type : protocol.enum_()) parts += type.value_size();
  return static_cast<int64_t>(protocol.ByteSizeLong()) + kStepsOfDescribedPart * parts;
}

// Reserved numbers and numbers for extensions are in no bytes.
void ClearRanges(actor_protocol::Protocol& protocol) {
  for (actor_protocol::MessageType& message : *protocol.mutable_message()) {
    message.clear_reserved();
    message.clear_extensions();
  }
  for (actor_protocol::EnumType& type : *protocol.mutable_enum_()) type.clear_reserved();
}

bool Has(uint64_t mailboxes, int i) { return (mailboxes >> i & 1) != 0; }

// The word that stands in a signature before a request or reply that comes in items (mailbox_signature.h).
constexpr absl::string_view kStreamOf = "stream ";

// The full names of the messages, without kStreamOf.
std::string RequestOf(const proto::MailboxSignature& mailbox) {
  return std::string(absl::StripPrefix(mailbox.request(), kStreamOf));
}
std::string ReplyOf(const proto::MailboxSignature& mailbox) {
  return std::string(absl::StripPrefix(mailbox.reply(), kStreamOf));
}

actor_protocol::MailboxKind KindOf(const proto::MailboxSignature& mailbox) {
  return {.is_call = mailbox.is_call(),
          .is_upload = absl::StartsWith(mailbox.request(), kStreamOf),
          .is_stream = absl::StartsWith(mailbox.reply(), kStreamOf)};
}

}  // namespace

LocalTypes::LocalTypes(const DescriptorPool* pool) : pool_(pool != nullptr ? pool : DescriptorPool::generated_pool()) {}

const Descriptor* LocalTypes::Find(const std::string& message) const { return pool_->FindMessageTypeByName(message); }

uint64_t LocalTypes::FingerprintOfMessage(const std::string& message) {
  if (const auto known = fingerprints_.find(message); known != fingerprints_.end()) return known->second;
  const Descriptor* const descriptor = Find(message);
  if (descriptor == nullptr) return 0;
  return fingerprints_[message] = actor_protocol::MessageFingerprint(*descriptor);
}

uint64_t LocalTypes::FingerprintOf(const proto::MailboxSignature& mailbox) {
  const uint64_t request = FingerprintOfMessage(RequestOf(mailbox));
  const uint64_t reply = mailbox.is_call() ? FingerprintOfMessage(ReplyOf(mailbox)) : 0;
  if (request == 0 || (mailbox.is_call() && reply == 0)) return 0;
  return actor_protocol::MailboxFingerprint(KindOf(mailbox), request, reply);
}

std::string LocalTypes::Describe(const proto::SignatureSet& set, uint64_t mailboxes, int64_t& steps_left) const {
  if (steps_left < 0) return "";
  actor_protocol::TypeReader reader;
  for (int i = 0; i < set.mailboxes_size(); ++i) {
    if (!Has(mailboxes, i)) continue;
    const proto::MailboxSignature& mailbox = set.mailboxes(i);
    if (const Descriptor* const request = Find(RequestOf(mailbox))) reader.Add(*request);
    const Descriptor* const reply = mailbox.is_call() ? Find(ReplyOf(mailbox)) : nullptr;
    if (reply != nullptr) reader.Add(*reply);
  }
  actor_protocol::Protocol protocol;
  reader.WriteTo(protocol);
  ClearRanges(protocol);
  steps_left -= StepsToDescribe(protocol);
  return protocol.SerializeAsString();
}

void LocalTypes::DescribeOwn(const std::string& message, int64_t& steps_left) {
  if (ours_.FindMessage(message) != nullptr) return;
  const Descriptor* const descriptor = Find(message);
  if (descriptor == nullptr) return;
  actor_protocol::TypeReader reader;
  reader.Add(*descriptor);
  actor_protocol::Protocol reached;
  reader.WriteTo(reached);
  ClearRanges(reached);
  steps_left -= static_cast<int64_t>(reached.ByteSizeLong());
  for (actor_protocol::MessageType& type : *reached.mutable_message()) {
    if (ours_.FindMessage(type.name()) == nullptr) ours_.protocol.add_message()->Swap(&type);
  }
  for (actor_protocol::EnumType& type : *reached.mutable_enum_()) {
    if (ours_.FindEnum(type.name()) == nullptr) ours_.protocol.add_enum_()->Swap(&type);
  }
  ours_.IndexTypes();
}

absl::StatusOr<std::vector<std::string>> LocalTypes::Compare(const proto::SignatureSet& set, uint64_t mailboxes,
                                                             absl::string_view description, int64_t& steps_left) {
  actor_protocol::PlacedProtocol theirs;
  steps_left -= static_cast<int64_t>(description.size());
  if (!theirs.protocol.ParseFromArray(description.data(), static_cast<int>(description.size()))) {
    return absl::InvalidArgumentError("a description of message types that cannot be parsed");
  }
  ClearRanges(theirs.protocol);
  theirs.IndexTypes();
  steps_left -= kStepsOfIndexedType * (int64_t{theirs.protocol.message_size()} + theirs.protocol.enum__size());
  std::vector<std::string> misread(set.mailboxes_size());
  for (int i = 0; i < set.mailboxes_size() && steps_left >= 0; ++i) {
    if (!Has(mailboxes, i)) continue;
    const proto::MailboxSignature& mailbox = set.mailboxes(i);
    actor_protocol::Rpc rpc;
    rpc.set_request(RequestOf(mailbox));
    rpc.set_reply(ReplyOf(mailbox));
    rpc.set_cast(!mailbox.is_call());
    DescribeOwn(rpc.request(), steps_left);
    if (mailbox.is_call()) DescribeOwn(rpc.reply(), steps_left);
    const std::vector<std::string> places = actor_protocol::MisreadPlaces(ours_, theirs, rpc, steps_left);
    if (steps_left < 0) break;
    misread[i] = CutText(absl::StrJoin(places, "; "), kMisreadTextBytesMax);
  }
  return misread;
}

}  // namespace understudy
