#include "understudy/transport/protocol/fingerprint.h"

#include <openssl/sha.h>

#include <cstddef>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"
#include "understudy/proto/options.pb.h"
#include "understudy/transport/protocol/placed_protocol.h"
#include "understudy/transport/protocol/protocol.pb.h"
#include "understudy/transport/protocol/type_reader.h"
#include "understudy/transport/protocol/value_type.h"

namespace understudy::actor_protocol {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::MethodDescriptor;
using google::protobuf::ServiceDescriptor;

uint64_t Hash(absl::string_view text) {
  uint8_t digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const uint8_t*>(text.data()), text.size(), digest);
  uint64_t hash = 0;
  for (int i = 0; i < 8; ++i) hash = hash << 8 | digest[i];
  return hash == 0 ? 1 : hash;
}

// Writes types in the order in which they are reached from the first one, and calls them by their places in that order.
class CanonicalText {
 public:
  explicit CanonicalText(const PlacedProtocol& types) : types_(types) {}

  std::string Of(const std::string& message) {
    std::string text = absl::StrCat(Name("message", message), "\n");
    for (size_t i = 0; i < reached_.size(); ++i) {
      absl::StrAppend(&text, i, ":");
      const std::string name = reached_[i];
      if (const MessageType* const message_type = types_.FindMessage(name)) {
        for (const Field& field : message_type->field()) AppendField(*message_type, field, text);
      } else if (const EnumType* const enum_type = types_.FindEnum(name)) {
        std::set<int> numbers;
        for (const EnumValue& value : enum_type->value()) numbers.insert(value.number());
        absl::StrAppend(&text, enum_type->closed() ? " closed " : " open ", absl::StrJoin(numbers, " "));
      }
      absl::StrAppend(&text, "\n");
    }
    return text;
  }

 private:
  std::string Name(absl::string_view kind, const std::string& name) {
    if (name.empty() || IsProtobufs(name)) return absl::StrCat(kind, " ", name);
    const auto [place, is_new] = places_.emplace(name, reached_.size());
    if (is_new) reached_.push_back(name);
    return absl::StrCat(kind, " ", place->second);
  }

  void AppendField(const MessageType& message, const Field& field, std::string& text) {
    const ValueType type = ParseValueType(field.type());
    absl::StrAppend(&text, " ", field.number(), "=", Field::Label_Name(field.label()), " ",
                    type.name.empty() ? type.kind : Name(type.kind, type.name));
    if (!field.key().empty()) absl::StrAppend(&text, " by ", field.key());
    if (!field.oneof().empty()) absl::StrAppend(&text, " oneof ", FirstOf(message, field.oneof()));
    if (!field.default_value().empty()) absl::StrAppend(&text, " default '", field.default_value(), "'");
    absl::StrAppend(&text, ";");
  }
  // A oneof is called by the smallest number of its fields.
  static int FirstOf(const MessageType& message, absl::string_view oneof) {
    int first = std::numeric_limits<int>::max();
    for (const Field& field : message.field()) {
      if (field.oneof() == oneof && field.number() < first) first = field.number();
    }
    return first;
  }

  const PlacedProtocol& types_;
  std::map<std::string, size_t> places_;
  std::vector<std::string> reached_;
};

// Returns the first word of the text whose hash is a mailbox's fingerprint.
absl::string_view WordOf(const MailboxKind& kind) {
  if (!kind.is_call) return "tell ";
  if (kind.is_upload) return kind.is_stream ? "chat " : "upload ";
  return kind.is_stream ? "stream " : "call ";
}

// All that a peer compares of the rpc's mailbox when it looks up the actor.
std::string SignatureText(const MethodDescriptor& rpc) {
  const MailboxKind kind = {.is_call = !rpc.options().GetExtension(options::cast),
                            .is_upload = rpc.client_streaming(),
                            .is_stream = rpc.server_streaming()};
  const uint64_t request = MessageFingerprint(*rpc.input_type());
  const uint64_t reply = kind.is_call ? MessageFingerprint(*rpc.output_type()) : 0;
  return absl::StrCat(rpc.name(), " ", rpc.input_type()->full_name(), " ",
                      kind.is_call ? rpc.output_type()->full_name() : "", " ", MailboxFingerprint(kind, request, reply),
                      "\n");
}

}  // namespace

std::string CanonicalForm(const Descriptor& message) {
  TypeReader reader;
  reader.Add(message);
  PlacedProtocol types;
  reader.WriteTo(types.protocol);
  return CanonicalText(types).Of(message.full_name());
}

uint64_t MessageFingerprint(const Descriptor& message) { return Hash(CanonicalForm(message)); }

uint64_t MailboxFingerprint(const MailboxKind& kind, uint64_t request, uint64_t reply) {
  return Hash(absl::StrCat(WordOf(kind), request, " ", reply));
}

uint64_t ServiceFingerprint(const ServiceDescriptor& service) {
  std::set<std::string> rpcs;
  for (int i = 0; i < service.method_count(); ++i) rpcs.insert(SignatureText(*service.method(i)));
  return Hash(absl::StrCat(service.full_name(), "\n", absl::StrJoin(rpcs, "")));
}

}  // namespace understudy::actor_protocol
