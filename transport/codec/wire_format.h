// WireWriter and WireReader: the protobuf wire format by hand, for the most frequent
// frames and envelopes. Fields are written in the order and form in which protobuf writes
// them, and their usual forms are read without building protobuf messages.
//
// WireReader accepts only bytes that protobuf's parser accepts with the same meaning. For
// every other form (groups, numbers in more bytes than they need, truncated fields) it
// returns false, "not usual". The caller then uses protobuf's parser for a frame, which is
// therefore accepted or refused exactly as by protobuf, and refuses an envelope, because
// no writer of protobuf's writes such a form.
//
// Threads: any.
#ifndef UNDERSTUDY_TRANSPORT_CODEC_WIRE_FORMAT_H_
#define UNDERSTUDY_TRANSPORT_CODEC_WIRE_FORMAT_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/strings/string_view.h"

namespace understudy::internal {

static_assert(std::endian::native == std::endian::little, "fixed fields are copied as they are");

// A field's tag is its number and one of these types. All field numbers used here are below
// 16, so a tag is one byte.
enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };
constexpr uint8_t TagOf(int field, WireType type) { return static_cast<uint8_t>(field << 3 | static_cast<int>(type)); }

// ---- Writing ----

constexpr size_t VarintBytes(uint64_t value) { return (static_cast<size_t>(std::bit_width(value | 1)) + 6) / 7; }
// The size of a field of `bytes` bytes, with its tag and length.
constexpr size_t BytesFieldBytes(size_t bytes) { return 1 + VarintBytes(bytes) + bytes; }
// The size of a number's field with its tag; protobuf does not write a 0.
constexpr size_t VarintFieldBytes(uint64_t value) { return value == 0 ? 0 : 1 + VarintBytes(value); }

// Writes to memory that the caller has allocated with the exact size. Fields that are 0 are left out.
class WireWriter {
 public:
  explicit WireWriter(char* at) : at_(at) {}

  void Varint(uint64_t value) {
    while (value >= 0x80) {
      *at_++ = static_cast<char>(value | 0x80);
      value >>= 7;
    }
    *at_++ = static_cast<char>(value);
  }
  void VarintField(int field, uint64_t value) {
    if (value == 0) return;
    *at_++ = static_cast<char>(TagOf(field, WireType::kVarint));
    Varint(value);
  }
  // Like VarintField, but writes a 0 too, for fields whose presence has a meaning.
  void PresentVarintField(int field, uint64_t value) {
    *at_++ = static_cast<char>(TagOf(field, WireType::kVarint));
    Varint(value);
  }
  void Fixed32Field(int field, uint32_t value) {
    if (value != 0) Fixed(TagOf(field, WireType::kFixed32), &value, sizeof(value));
  }
  void Fixed64Field(int field, uint64_t value) {
    if (value != 0) Fixed(TagOf(field, WireType::kFixed64), &value, sizeof(value));
  }
  // Writes the tag and length of a field; the caller then writes its `bytes` bytes.
  void BytesFieldHead(int field, size_t bytes) {
    *at_++ = static_cast<char>(TagOf(field, WireType::kBytes));
    Varint(bytes);
  }
  void BytesField(int field, absl::string_view bytes) {
    BytesFieldHead(field, bytes.size());
    std::memcpy(at_, bytes.data(), bytes.size());
    at_ += bytes.size();
  }
  char* at() const { return at_; }

 private:
  void Fixed(uint8_t tag, const void* value, size_t bytes) {
    *at_++ = static_cast<char>(tag);
    std::memcpy(at_, value, bytes);
    at_ += bytes;
  }

  char* at_;
};

// ---- Reading ----

class WireReader {
 public:
  explicit WireReader(absl::string_view bytes) : at_(bytes.data()), end_(at_ + bytes.size()) {}

  bool at_end() const { return at_ == end_; }

  // Each of these returns false if the bytes are not usual. The reader must not be used any more then.

  bool Varint(uint64_t& value) {
    value = 0;
    for (int shift = 0; at_ < end_ && shift < 64; shift += 7) {
      const auto byte = static_cast<uint8_t>(*at_++);
      if (shift == 63 && byte > 1) return false;  // more than 64 bits
      value |= uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return shift == 0 || byte != 0;
    }
    return false;
  }
  bool Bool(bool& value) {
    uint64_t number = 0;
    if (!Varint(number)) return false;
    value = number != 0;
    return true;
  }
  // A tag with the number of a field.
  bool Tag(uint64_t& tag) { return Varint(tag) && tag >= 8 && tag <= UINT32_MAX; }
  bool Fixed32(uint32_t& value) { return Fixed(&value, sizeof(value)); }
  bool Fixed64(uint64_t& value) { return Fixed(&value, sizeof(value)); }
  bool Bytes(absl::string_view& bytes) {
    uint64_t size = 0;
    if (!Varint(size) || size > static_cast<size_t>(end_ - at_)) return false;
    bytes = absl::string_view(at_, static_cast<size_t>(size));
    at_ += size;
    return true;
  }
  // Passes over the value of a field that the caller does not know.
  bool Skip(uint64_t tag) {
    uint64_t number = 0;
    uint32_t word = 0;
    absl::string_view bytes;
    switch (static_cast<WireType>(tag & 7)) {
      case WireType::kVarint:
        return Varint(number);
      case WireType::kFixed64:
        return Fixed64(number);
      case WireType::kBytes:
        return Bytes(bytes);
      case WireType::kFixed32:
        return Fixed32(word);
      default:
        return false;
    }
  }

 private:
  bool Fixed(void* value, size_t bytes) {
    if (static_cast<size_t>(end_ - at_) < bytes) return false;
    std::memcpy(value, at_, bytes);
    at_ += bytes;
    return true;
  }

  const char* at_;
  const char* const end_;
};

// Calls `read(reader, tag)` for each field; it must call WireReader::Skip for a field that it does not know. Returns
// false if a field is not usual.
template <class F>
bool ReadFields(absl::string_view bytes, F read) {
  WireReader reader(bytes);
  while (!reader.at_end()) {
    uint64_t tag = 0;
    if (!reader.Tag(tag) || !read(reader, tag)) return false;
  }
  return true;
}

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_CODEC_WIRE_FORMAT_H_
