// Counts the fields of an envelope before protobuf parses it, so that an envelope of many small fields does not become
// objects of many times its bytes.
//
// Threads: any.
#ifndef UNDERSTUDY_TRANSPORT_CODEC_FIELD_COUNT_H_
#define UNDERSTUDY_TRANSPORT_CODEC_FIELD_COUNT_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace understudy::internal {

// What is wrong with the fields of an encoded proto::Envelope.
enum class FieldFault : uint8_t {
  kNone,
  // There are more than limits::kEnvelopeFieldsMin fields for which protobuf allocates memory, and one more for each
  // limits::kBytesPerEnvelopeField bytes.
  kTooMany,
  // WireReader does not read a field, so protobuf does not write it.
  kUnusual,
};

// Takes time in proportion to the bytes, and allocates nothing.
FieldFault CheckFields(absl::string_view bytes);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_CODEC_FIELD_COUNT_H_
