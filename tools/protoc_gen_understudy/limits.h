// The kernel's limits that the plugin checks. The plugin is built for the machine that compiles, so it does not
// link the kernel; generator_test compares each of these with the kernel's own.
#ifndef UNDERSTUDY_TOOLS_PROTOC_GEN_UNDERSTUDY_LIMITS_H_
#define UNDERSTUDY_TOOLS_PROTOC_GEN_UNDERSTUDY_LIMITS_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace understudy::generator {

// limits::kMailboxesPerActorMax
inline constexpr int kRpcsPerServiceMax = 64;
// limits::kMailboxCapacityMessagesMax
inline constexpr int64_t kCapacityMessagesMax = int64_t{1} << 29;
// limits::kMailboxNameBytesMax
inline constexpr size_t kWireNameBytesMax = 1024;

// internal::Fnv1a, by which channels name a mailbox.
constexpr uint32_t WireNameHash(absl::string_view wire_name) {
  uint32_t hash = 2166136261U;
  for (const char c : wire_name) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619U;
  return hash;
}

}  // namespace understudy::generator

#endif  // UNDERSTUDY_TOOLS_PROTOC_GEN_UNDERSTUDY_LIMITS_H_
