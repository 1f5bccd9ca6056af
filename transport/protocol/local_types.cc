#include "understudy/transport/protocol/local_types.h"

#include <openssl/sha.h>

#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "google/protobuf/descriptor.h"
#include "understudy/actors/cut_text.h"
#include "understudy/proto/names.pb.h"
#include "understudy/transport/protocol/compare.h"
#include "understudy/transport/protocol/placed_protocol.h"
#include "understudy/transport/protocol/protocol.pb.h"
#include "understudy/transport/protocol/type_reader.h"
#include "understudy/transport/protocol/value_type.h"

namespace understudy {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;

// The most that an error says of one mailbox, so that the error of an actor with many mailboxes can still be read.
constexpr size_t kMisreadTextBytesMax = 512;

uint64_t Hash(absl::string_view text) {
  uint8_t digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const uint8_t*>(text.data()), text.size(), digest);
  uint64_t hash = 0;
  for (int i = 0; i < 8; ++i) hash = hash << 8 | digest[i];
  return hash == 0 ? 1 : hash;
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

// Writes types in the order in which they are reached from the first one, and calls them by their places in that order.
class CanonicalText {
 public:
  explicit CanonicalText(const actor_protocol::PlacedProtocol& types) : types_(types) {}

  std::string Of(const std::string& message) {
    std::string text = absl::StrCat(Name("message", message), "\n");
    for (size_t i = 0; i < reached_.size(); ++i) {
      absl::StrAppend(&text, i, ":");
      const std::string name = reached_[i];
      if (const actor_protocol::MessageType* const message_type = types_.FindMessage(name)) {
        for (const actor_protocol::Field& field : message_type->field()) AppendField(*message_type, field, text);
      } else if (const actor_protocol::EnumType* const enum_type = types_.FindEnum(name)) {
        std::set<int> numbers;
        for (const actor_protocol::EnumValue& value : enum_type->value()) numbers.insert(value.number());
        absl::StrAppend(&text, enum_type->closed() ? " closed " : " open ", absl::StrJoin(numbers, " "));
      }
      absl::StrAppend(&text, "\n");
    }
    return text;
  }

 private:
  std::string Name(absl::string_view kind, const std::string& name) {
    if (name.empty() || actor_protocol::IsProtobufs(name)) return absl::StrCat(kind, " ", name);
    const auto [place, is_new] = places_.emplace(name, reached_.size());
    if (is_new) reached_.push_back(name);
    return absl::StrCat(kind, " ", place->second);
  }

  void AppendField(const actor_protocol::MessageType& message, const actor_protocol::Field& field, std::string& text) {
    const actor_protocol::ValueType type = actor_protocol::ParseValueType(field.type());
    absl::StrAppend(&text, " ", field.number(), "=", actor_protocol::Field::Label_Name(field.label()), " ",
                    type.name.empty() ? type.kind : Name(type.kind, type.name));
    if (!field.key().empty()) absl::StrAppend(&text, " by ", field.key());
    if (!field.oneof().empty()) absl::StrAppend(&text, " oneof ", FirstOf(message, field.oneof()));
    if (!field.default_value().empty()) absl::StrAppend(&text, " default '", field.default_value(), "'");
    absl::StrAppend(&text, ";");
  }
  // A oneof is called by the smallest number of its fields.
  static int FirstOf(const actor_protocol::MessageType& message, absl::string_view oneof) {
    int first = std::numeric_limits<int>::max();
    for (const actor_protocol::Field& field : message.field()) {
      if (field.oneof() == oneof && field.number() < first) first = field.number();
    }
    return first;
  }

  const actor_protocol::PlacedProtocol& types_;
  std::map<std::string, size_t> places_;
  std::vector<std::string> reached_;
};

// What says in a signature that the request or the reply comes in items (mailbox_signature.h).
constexpr absl::string_view kStreamOf = "stream ";

// The full names of the messages, without that.
std::string RequestOf(const proto::MailboxSignature& mailbox) {
  return std::string(absl::StripPrefix(mailbox.request(), kStreamOf));
}
std::string ReplyOf(const proto::MailboxSignature& mailbox) {
  return std::string(absl::StripPrefix(mailbox.reply(), kStreamOf));
}

// The first word of what a mailbox's fingerprint is made of.
absl::string_view KindOf(const proto::MailboxSignature& mailbox) {
  if (!mailbox.is_call()) return "tell ";
  const bool replies_stream = absl::StartsWith(mailbox.reply(), kStreamOf);
  if (absl::StartsWith(mailbox.request(), kStreamOf)) return replies_stream ? "chat " : "upload ";
  return replies_stream ? "stream " : "call ";
}

}  // namespace

std::string CanonicalForm(const Descriptor& message) {
  actor_protocol::TypeReader reader;
  reader.Add(message);
  actor_protocol::PlacedProtocol types;
  reader.WriteTo(types.protocol);
  return CanonicalText(types).Of(message.full_name());
}

LocalTypes::LocalTypes(const DescriptorPool* pool) : pool_(pool != nullptr ? pool : DescriptorPool::generated_pool()) {}

const Descriptor* LocalTypes::Find(const std::string& message) const { return pool_->FindMessageTypeByName(message); }

uint64_t LocalTypes::FingerprintOfMessage(const std::string& message) {
  if (const auto known = fingerprints_.find(message); known != fingerprints_.end()) return known->second;
  const Descriptor* const descriptor = Find(message);
  if (descriptor == nullptr) return 0;
  return fingerprints_[message] = Hash(CanonicalForm(*descriptor));
}

uint64_t LocalTypes::FingerprintOf(const proto::MailboxSignature& mailbox) {
  const uint64_t request = FingerprintOfMessage(RequestOf(mailbox));
  const uint64_t reply = mailbox.is_call() ? FingerprintOfMessage(ReplyOf(mailbox)) : 0;
  if (request == 0 || (mailbox.is_call() && reply == 0)) return 0;
  return Hash(absl::StrCat(KindOf(mailbox), request, " ", reply));
}

std::string LocalTypes::Describe(const proto::SignatureSet& set, uint64_t mailboxes) const {
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
  return protocol.SerializeAsString();
}

absl::StatusOr<std::vector<std::string>> LocalTypes::Compare(const proto::SignatureSet& set, uint64_t mailboxes,
                                                             absl::string_view description, int64_t& steps_left) const {
  actor_protocol::PlacedProtocol theirs;
  steps_left -= static_cast<int64_t>(description.size());
  if (!theirs.protocol.ParseFromArray(description.data(), static_cast<int>(description.size()))) {
    return absl::InvalidArgumentError("a description of message types that cannot be parsed");
  }
  ClearRanges(theirs.protocol);
  actor_protocol::PlacedProtocol ours;
  (void)ours.protocol.ParseFromString(Describe(set, mailboxes));
  std::vector<std::string> misread(set.mailboxes_size());
  for (int i = 0; i < set.mailboxes_size(); ++i) {
    if (!Has(mailboxes, i)) continue;
    const proto::MailboxSignature& mailbox = set.mailboxes(i);
    actor_protocol::Rpc rpc;
    rpc.set_request(RequestOf(mailbox));
    rpc.set_reply(ReplyOf(mailbox));
    rpc.set_cast(!mailbox.is_call());
    const std::vector<std::string> places = actor_protocol::MisreadPlaces(ours, theirs, rpc, steps_left);
    if (steps_left < 0) break;
    misread[i] = CutText(absl::StrJoin(places, "; "), kMisreadTextBytesMax);
  }
  return misread;
}

}  // namespace understudy
