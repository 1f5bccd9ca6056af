// MessageBytes: how many bytes a message holds, for mailboxes that are bounded in bytes.
//
// The size of a std::string, std::vector or absl::Cord is its sizeof plus the sizes of its elements. The size of a wire
// message is the size of its serialized form, also if the program defines another. For other types, a program may
// define MessageBytes, which argument-dependent lookup finds:
//
//   struct Order { int id; std::string text; std::vector<Item> items; };
//   size_t MessageBytes(const Order& order) {
//     return sizeof(order) + understudy::MessageBytes(order.text) + understudy::MessageBytes(order.items);
//   }
//
// The size of any other type is its sizeof; memory to which the value points is not counted. MessageBytes is called on
// the sender's thread, and may throw.
#ifndef UNDERSTUDY_ACTORS_MESSAGE_BYTES_H_
#define UNDERSTUDY_ACTORS_MESSAGE_BYTES_H_

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/cord.h"

namespace understudy {

template <class M>
concept WireMessage = requires(const M& message, M& mutable_message, std::string* out) {
  { M::descriptor()->full_name() } -> std::convertible_to<std::string>;
  { message.SerializeToString(out) } -> std::same_as<bool>;
  { mutable_message.ParseFromArray(nullptr, 0) } -> std::same_as<bool>;
  message.ByteSizeLong();
};

namespace internal {

template <class M>
inline constexpr bool kIsString = false;
template <class C, class T, class A>
inline constexpr bool kIsString<std::basic_string<C, T, A>> = true;
template <class M>
inline constexpr bool kIsVector = false;
template <class E, class A>
inline constexpr bool kIsVector<std::vector<E, A>> = true;

}  // namespace internal

// Measures a std::basic_string, std::vector or absl::Cord, and no type that only converts to one of them.
template <class M>
  requires(internal::kIsString<M> || internal::kIsVector<M> || std::same_as<M, absl::Cord>)
size_t MessageBytes(const M& message);

template <class M>
concept HasMessageBytes = requires(const M& message) {
  { MessageBytes(message) } -> std::convertible_to<size_t>;
};

// A type whose messages may differ in size, and whose sizes the library can compute. Mailboxes for such a type are
// bounded in bytes by default (MailboxOptions::capacity_bytes).
template <class M>
concept SizedMessage = HasMessageBytes<M> || WireMessage<M>;

namespace internal {

// The largest size that is counted for one message. MessageBytes may return more, but no message holds so much memory;
// counting it as this much keeps sums of sizes from overflowing.
inline constexpr size_t kCountedBytesMax = size_t{1} << 61;

template <class M>
size_t BytesOf(const M& message) {
  if constexpr (WireMessage<M>) {
    return message.ByteSizeLong();
  } else if constexpr (HasMessageBytes<M>) {
    return std::min<size_t>(MessageBytes(message), kCountedBytesMax);
  } else {
    return sizeof(M);
  }
}

}  // namespace internal

template <class M>
  requires(internal::kIsString<M> || internal::kIsVector<M> || std::same_as<M, absl::Cord>)
size_t MessageBytes(const M& message) {
  size_t bytes = sizeof(M);
  if constexpr (std::same_as<M, absl::Cord>) {
    bytes += message.size();
  } else if constexpr (SizedMessage<typename M::value_type>) {
    for (const auto& element : message) bytes += internal::BytesOf(element);
  } else {
    bytes += message.size() * sizeof(typename M::value_type);
  }
  return bytes;
}

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_MESSAGE_BYTES_H_
