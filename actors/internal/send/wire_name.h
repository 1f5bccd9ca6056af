// Wire names of mailboxes: the names by which senders on every node address them. A channel holds the 32-bit hash of
// one; MailboxNames keeps the name of each hash. Any thread.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_SEND_WIRE_NAME_H_
#define UNDERSTUDY_ACTORS_INTERNAL_SEND_WIRE_NAME_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace understudy::internal {

// A string literal as a template argument.
template <size_t N>
struct FixedString {
  constexpr FixedString(const char (&text)[N]) {  // NOLINT: a literal converts
    std::copy_n(text, N, chars.begin());
  }
  constexpr absl::string_view view() const { return {chars.data(), N - 1}; }
  std::array<char, N> chars{};
};

// FNV-1a (Fowler, Noll, Vo), 32 bits.
constexpr uint32_t Fnv1a(absl::string_view text, uint32_t hash = 2166136261U) {
  for (const char c : text) {
    hash = (hash ^ static_cast<uint8_t>(c)) * 16777619U;
  }
  return hash;
}

// The hashes of mailboxes' wire names, by which channels address mailboxes. One
// process-wide table keeps the name of each hash, because streams between nodes
// carry the full name. Any thread.
class MailboxNames {
 public:
  // Returns the hash of a name that is declared or written in the program, and keeps
  // the name. CHECKs that no other such name has the same hash.
  static uint32_t Intern(absl::string_view wire_name);
  // Returns the hash of a name to which a sender addresses a message and which may come
  // from data. Returns 0, which stands for no mailbox, if another name has the same
  // hash. Keeps at most limits::kMailboxNamesMeantMax such names; Find does not know
  // further ones.
  static uint32_t Meant(absl::string_view wire_name);
  // Returns the name with that hash, or an empty view. Valid for ever.
  static absl::string_view Find(uint32_t hash);
};

// Returns the wire name of an element of an array, such as "source[left]".
std::string ElementName(absl::string_view array, absl::string_view label);
// Returns the hash of that name, with which a sender addresses the mailbox. Returns 0 if no mailbox of this process can
// have the name: the label is empty or too long, or another name has the same hash.
uint32_t ElementHash(absl::string_view array, absl::string_view label);

// kService may be of any string type, because absl::string_view is not std::string_view on every system.
template <class A>
concept HasService = requires { A::kService; };

// The wire name of the mailbox `kName` of class A, made once for each class and name.
template <class A, FixedString kName>
const std::string& WireName() {
  static const std::string* const name = [] {
    auto* const made = new std::string;
    if constexpr (HasService<A>) made->append(std::string(A::kService)).append("/");
    made->append(kName.chars.data(), kName.view().size());
    return made;
  }();
  return *name;
}

template <class A, FixedString kName>
uint32_t WireHash() {
  static const uint32_t hash = MailboxNames::Intern(WireName<A, kName>());
  return hash;
}
// Like the function above, for a mailbox whose whole wire name is kWireName.
template <FixedString kWireName>
uint32_t WireHashOf() {
  static const uint32_t hash = MailboxNames::Intern(kWireName.view());
  return hash;
}

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SEND_WIRE_NAME_H_
