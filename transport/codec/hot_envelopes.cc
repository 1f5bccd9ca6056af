#include "understudy/transport/codec/hot_envelopes.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "understudy/transport/codec/wire_format.h"

// The fields' numbers are envelope.proto's.
namespace understudy::internal {
namespace {

// Everything before the payload: three tags and lengths, two addresses of 23 bytes, the rest of at most 26.
constexpr size_t kHeadBytesMax = 128;
// Bytes for the fields after the payload: a trace, of at most 41 bytes.
constexpr size_t kTailBytesMax = 48;

size_t BytesOf(const WireAddress& address) {
  return (address.incarnation == 0 ? 0 : 9) + (address.cell == 0 ? 0 : 5) + (address.serial == 0 ? 0 : 9);
}

void Write(WireWriter& writer, int field, const WireAddress& address) {
  writer.BytesFieldHead(field, BytesOf(address));
  writer.Fixed64Field(1, address.incarnation);
  writer.Fixed32Field(2, address.cell);
  writer.Fixed64Field(3, address.serial);
}

size_t BytesOf(const WireTrace& trace) {
  return (trace.high == 0 ? 0 : 9) + (trace.low == 0 ? 0 : 9) + (trace.span == 0 ? 0 : 9) +
         VarintFieldBytes(trace.flags) + VarintFieldBytes(trace.hops);
}

// Appends the field Message::trace.
void Append(const WireTrace& trace, std::string& encoded) {
  std::array<char, kTailBytesMax> tail;
  WireWriter writer(tail.data());
  writer.BytesFieldHead(7, BytesOf(trace));
  writer.Fixed64Field(1, trace.high);
  writer.Fixed64Field(2, trace.low);
  writer.Fixed64Field(3, trace.span);
  writer.VarintField(4, trace.flags);
  writer.VarintField(5, trace.hops);
  encoded.append(tail.data(), static_cast<size_t>(writer.at() - tail.data()));
}

bool ReadUint32(WireReader& reader, uint32_t& value) {
  uint64_t number = 0;
  if (!reader.Varint(number) || number > UINT32_MAX) return false;
  value = static_cast<uint32_t>(number);
  return true;
}

// Reads a trace. Returns false if there was one already: protobuf merges the two.
bool ReadOnce(WireReader& reader, absl::optional<WireTrace>& trace) {
  absl::string_view bytes;
  if (trace.has_value() || !reader.Bytes(bytes)) return false;
  WireTrace& read = trace.emplace();
  return ReadFields(bytes, [&](WireReader& fields, uint64_t tag) {
    switch (tag) {
      case TagOf(1, WireType::kFixed64):
        return fields.Fixed64(read.high);
      case TagOf(2, WireType::kFixed64):
        return fields.Fixed64(read.low);
      case TagOf(3, WireType::kFixed64):
        return fields.Fixed64(read.span);
      case TagOf(4, WireType::kVarint):
        return ReadUint32(fields, read.flags);
      case TagOf(5, WireType::kVarint):
        return ReadUint32(fields, read.hops);
      default:
        return fields.Skip(tag);
    }
  });
}

bool Read(absl::string_view bytes, WireAddress& address) {
  // The fast path: an address with all three fields, as this codec writes it.
  constexpr size_t kCellAt = 9;
  constexpr size_t kSerialAt = 14;
  constexpr size_t kBytes = 23;
  if (bytes.size() == kBytes && bytes[0] == TagOf(1, WireType::kFixed64) &&
      bytes[kCellAt] == TagOf(2, WireType::kFixed32) && bytes[kSerialAt] == TagOf(3, WireType::kFixed64)) {
    std::memcpy(&address.incarnation, bytes.data() + 1, sizeof(address.incarnation));
    std::memcpy(&address.cell, bytes.data() + kCellAt + 1, sizeof(address.cell));
    std::memcpy(&address.serial, bytes.data() + kSerialAt + 1, sizeof(address.serial));
    return true;
  }
  return ReadFields(bytes, [&](WireReader& reader, uint64_t tag) {
    switch (tag) {
      case TagOf(1, WireType::kFixed64):
        return reader.Fixed64(address.incarnation);
      case TagOf(2, WireType::kFixed32):
        return reader.Fixed32(address.cell);
      case TagOf(3, WireType::kFixed64):
        return reader.Fixed64(address.serial);
      default:
        return reader.Skip(tag);
    }
  });
}

// Reads an address. Returns false if it was `seen` already: protobuf merges two addresses, so that case is left to it.
bool ReadOnce(WireReader& reader, bool& seen, WireAddress& address) {
  absl::string_view bytes;
  if (seen || !reader.Bytes(bytes)) return false;
  seen = true;
  return Read(bytes, address);
}

bool ReadMessage(absl::string_view bytes, HotEnvelope& message) {
  bool has_from = false;
  bool has_to = false;
  return ReadFields(bytes, [&](WireReader& reader, uint64_t tag) {
    switch (tag) {
      case TagOf(1, WireType::kBytes):
        return ReadOnce(reader, has_from, message.from);
      case TagOf(2, WireType::kBytes):
        return ReadOnce(reader, has_to, message.to);
      case TagOf(3, WireType::kFixed32):
        return reader.Fixed32(message.mailbox);
      case TagOf(4, WireType::kVarint):
        return reader.Varint(message.id);
      case TagOf(5, WireType::kBytes):
        return reader.Bytes(message.payload);
      case TagOf(6, WireType::kVarint):
        return reader.Bool(message.by_allowance);
      case TagOf(7, WireType::kBytes):
        return ReadOnce(reader, message.trace);
      default:
        return reader.Skip(tag);
    }
  });
}

bool ReadSignal(absl::string_view bytes, HotEnvelope& signal) {
  bool has_from = false;
  bool has_to = false;
  return ReadFields(bytes, [&](WireReader& reader, uint64_t tag) {
    uint64_t number = 0;
    switch (tag) {
      case TagOf(1, WireType::kVarint):
        if (!reader.Varint(number) || number > INT32_MAX) return false;
        signal.signal_kind = static_cast<int32_t>(number);
        return true;
      case TagOf(2, WireType::kBytes):
        return ReadOnce(reader, has_from, signal.from);
      case TagOf(3, WireType::kBytes):
        return ReadOnce(reader, has_to, signal.to);
      case TagOf(4, WireType::kVarint):
        return reader.Varint(signal.id);
      case TagOf(5, WireType::kVarint):
        return reader.Bool(signal.is_link);
      case TagOf(6, WireType::kBytes):  // a reason
      case TagOf(7, WireType::kBytes):  // a status
        return false;
      case TagOf(8, WireType::kBytes):
        return reader.Bytes(signal.payload);
      default:
        return reader.Skip(tag);
    }
  });
}

// The encoded field Message::by_allowance, which comes after the payload.
constexpr absl::string_view kAllowanceField = "\x30\x01";

}  // namespace

std::string EncodeHot(const HotEnvelope& envelope, std::string memory) {
  const bool is_message = envelope.kind == HotEnvelope::Kind::kMessage;
  const uint64_t is_link = envelope.is_link ? 1 : 0;
  const size_t payload = envelope.payload.empty() ? 0 : BytesFieldBytes(envelope.payload.size());
  size_t bytes = BytesFieldBytes(BytesOf(envelope.from)) + BytesFieldBytes(BytesOf(envelope.to)) +
                 VarintFieldBytes(envelope.id) + payload;
  if (is_message) {
    bytes += (envelope.mailbox == 0 ? 0 : 5) + (envelope.by_allowance ? kAllowanceField.size() : 0) +
             (envelope.trace.has_value() ? BytesFieldBytes(BytesOf(*envelope.trace)) : 0);
  } else {
    bytes += VarintFieldBytes(static_cast<uint64_t>(envelope.signal_kind)) + VarintFieldBytes(is_link);
  }
  std::array<char, kHeadBytesMax> head;
  WireWriter writer(head.data());
  writer.BytesFieldHead(is_message ? 1 : 2, bytes);
  if (is_message) {
    Write(writer, 1, envelope.from);
    Write(writer, 2, envelope.to);
    writer.Fixed32Field(3, envelope.mailbox);
    writer.VarintField(4, envelope.id);
  } else {
    writer.VarintField(1, static_cast<uint64_t>(envelope.signal_kind));
    Write(writer, 2, envelope.from);
    Write(writer, 3, envelope.to);
    writer.VarintField(4, envelope.id);
    writer.VarintField(5, is_link);
  }
  if (!envelope.payload.empty()) writer.BytesFieldHead(is_message ? 5 : 8, envelope.payload.size());
  std::string encoded = std::move(memory);
  encoded.clear();
  const auto head_bytes = static_cast<size_t>(writer.at() - head.data());
  encoded.reserve(head_bytes + envelope.payload.size() + kAllowanceField.size() +
                  (envelope.trace.has_value() ? kTailBytesMax : 0));
  encoded.append(head.data(), head_bytes);
  encoded.append(envelope.payload.data(), envelope.payload.size());
  if (is_message && envelope.by_allowance) encoded.append(kAllowanceField.data(), kAllowanceField.size());
  if (envelope.trace.has_value()) Append(*envelope.trace, encoded);
  return encoded;
}

bool DecodeHot(absl::string_view bytes, HotEnvelope& envelope) {
  WireReader reader(bytes);
  uint64_t tag = 0;
  absl::string_view body;
  if (!reader.Tag(tag)) return false;
  if (tag != TagOf(1, WireType::kBytes) && tag != TagOf(2, WireType::kBytes)) return false;
  // A second field would replace the first one or be merged with it, so that case is left to protobuf.
  if (!reader.Bytes(body) || !reader.at_end()) return false;
  if (tag == TagOf(1, WireType::kBytes)) {
    envelope.kind = HotEnvelope::Kind::kMessage;
    return ReadMessage(body, envelope);
  }
  envelope.kind = HotEnvelope::Kind::kSignal;
  return ReadSignal(body, envelope);
}

}  // namespace understudy::internal
