// Writes and reads by hand the most frequent envelopes: messages, and replies that are OK.
// envelope_codec.cc uses these functions, and protobuf for all other envelopes.
//
// The bytes are those that protobuf writes for the same envelope.
// tests/fuzz/codec_fuzz_test.cc compares both writers and both readers.
//
// Threads: any.
#ifndef UNDERSTUDY_TRANSPORT_CODEC_HOT_ENVELOPES_H_
#define UNDERSTUDY_TRANSPORT_CODEC_HOT_ENVELOPES_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "understudy/actors/address_key.h"

namespace understudy::internal {

// A proto::Address: an actor of an incarnation, as other nodes know it.
struct WireAddress {
  uint64_t incarnation = 0;
  uint32_t cell = 0;
  uint64_t serial = 0;
};

// A proto::TraceContext.
struct WireTrace {
  uint64_t high = 0;
  uint64_t low = 0;
  uint64_t span = 0;
  uint32_t flags = 0;
  uint32_t hops = 0;
};

// A proto::Message, or a proto::Signal without reason and status.
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
  bool by_allowance = false;        // of a message
  absl::optional<WireTrace> trace;  // of a message
};

// Returns the bytes of a proto::Envelope with `envelope` in it, written into the memory of
// `memory`. Requires: signal_kind is not negative.
std::string EncodeHot(const HotEnvelope& envelope, std::string memory = "");
// Returns false if the bytes have an unusual form or are another kind of envelope; the
// caller then uses protobuf's parser, within its bounds. `envelope.payload` points into `bytes`.
bool DecodeHot(absl::string_view bytes, HotEnvelope& envelope);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_CODEC_HOT_ENVELOPES_H_
