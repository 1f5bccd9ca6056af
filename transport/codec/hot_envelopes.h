// The envelopes that nodes write and read most, by hand: messages, and replies
// that are OK. envelope_codec.cc uses this, and lets protobuf do the rest.
//
// What is written is byte for byte what protobuf writes for the same envelope;
// tests/fuzz/codec_fuzz_test.cc compares both ways, and reading too.
//
// Threads: any.
#ifndef UNDERSTUDY_TRANSPORT_CODEC_HOT_ENVELOPES_H_
#define UNDERSTUDY_TRANSPORT_CODEC_HOT_ENVELOPES_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "understudy/actors/address_key.h"

namespace understudy::internal {

// proto::Address: an actor of an incarnation, as others know it.
struct WireAddress {
  uint64_t incarnation = 0;
  uint32_t cell = 0;
  uint64_t serial = 0;
};

// proto::Message, or a proto::Signal without a reason and a status.
struct HotEnvelope {
  enum class Kind : uint8_t { kMessage, kSignal };
  Kind kind = Kind::kMessage;
  WireAddress from;
  WireAddress to;
  uint32_t mailbox = 0;     // of a message
  uint64_t id = 0;          // Message::ask, Signal::id
  int32_t signal_kind = 0;  // of a signal
  bool is_link = false;     // of a signal
  absl::string_view payload;
  bool by_allowance = false;  // of a message
};

// The bytes of a proto::Envelope with that in it. Requires a signal_kind that is
// not negative. They are written into `memory`, in place of what it has.
std::string EncodeHot(const HotEnvelope& envelope, std::string memory = "");
// False when the bytes are not usual, or of another envelope: protobuf decides.
// The payload is a part of `bytes`.
bool DecodeHot(absl::string_view bytes, HotEnvelope& envelope);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_CODEC_HOT_ENVELOPES_H_
