#include "understudy/transport/codec/field_count.h"

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "understudy/proto/envelope.pb.h"
#include "understudy/transport/codec/wire_format.h"
#include "understudy/transport/limits.h"

namespace understudy::internal {
namespace {

// Takes the fields of a message of type `type` from `left`, which is above 0. Returns false if `left` becomes 0, or if
// a field is not usual. No type of an envelope contains itself, so the depth is bounded.
bool Count(const google::protobuf::Descriptor& type, absl::string_view bytes, size_t& left) {
  return ReadFields(bytes, [&](WireReader& reader, uint64_t tag) {
    const google::protobuf::FieldDescriptor* field = type.FindFieldByNumber(static_cast<int>(tag >> 3));
    const bool has_bytes = static_cast<WireType>(tag & 7) == WireType::kBytes;
    if ((field == nullptr || has_bytes) && --left == 0) return false;
    if (field == nullptr || !has_bytes || field->message_type() == nullptr) return reader.Skip(tag);
    absl::string_view inner;
    return reader.Bytes(inner) && Count(*field->message_type(), inner, left);
  });
}

}  // namespace

FieldFault CheckFields(absl::string_view bytes) {
  size_t left = limits::kEnvelopeFieldsMin + bytes.size() / limits::kBytesPerEnvelopeField + 1;
  if (Count(*proto::Envelope::descriptor(), bytes, left)) return FieldFault::kNone;
  return left == 0 ? FieldFault::kTooMany : FieldFault::kUnusual;
}

}  // namespace understudy::internal
