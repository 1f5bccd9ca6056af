// Comparison: the state that the parts of one Compare() share. One thread at a time.
#ifndef UNDERSTUDY_TRANSPORT_PROTOCOL_COMPARISON_H_
#define UNDERSTUDY_TRANSPORT_PROTOCOL_COMPARISON_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "understudy/transport/protocol/findings.h"
#include "understudy/transport/protocol/placed_protocol.h"
#include "understudy/transport/protocol/type_names.h"

namespace understudy::actor_protocol {

// The part with that number or name, or null.
template <class Parts>
auto FindNumber(const Parts& parts, int64_t number) -> decltype(&parts.Get(0)) {
  for (const auto& part : parts) {
    if (part.number() == number) return &part;
  }
  return nullptr;
}

template <class Parts>
auto FindName(const Parts& parts, absl::string_view name) -> decltype(&parts.Get(0)) {
  for (const auto& part : parts) {
    if (part.name() == name) return &part;
  }
  return nullptr;
}

// Why a number that is not used any more must be reserved; what to do about it follows.
inline constexpr absl::string_view kNumberIsFree =
    "Nothing keeps its number from being used again, which old peers and stored messages would misread: ";

// Where the old services send a message or an enum.
struct Role {
  bool in_requests = false;
  bool in_replies = false;

  // Whom it breaks if updated peers misread what old ones send, and the other way round.
  Affected Breaks(bool new_reads_old, bool old_reads_new) const {
    return {.old_client = (in_requests && new_reads_old) || (in_replies && old_reads_new),
            .new_client = (in_requests && old_reads_new) || (in_replies && new_reads_old),
            .stored = new_reads_old};
  }
};

class Comparison {
 public:
  Comparison(const PlacedProtocol& before_in, const PlacedProtocol& after_in, TypeNames::Names names_in)
      : before(before_in), after(after_in), names(before_in, after_in, names_in) {}

  // Has the old and the new type of one reference compared, once. Both mean the same type (TypeNames).
  void Reach(const std::string& old_name, const std::string& new_name) {
    if (reached_.emplace(old_name, new_name).second) waiting.emplace_back(old_name, new_name);
  }

  void Add(Finding finding) { findings.findings.push_back(std::move(finding)); }
  void AddNote(const google::protobuf::Message& part_of_after, std::string text) {
    findings.notes.push_back({.place = after.PlaceOf(part_of_after), .text = std::move(text)});
  }

  const PlacedProtocol& before;
  const PlacedProtocol& after;
  TypeNames names;
  std::map<std::string, Role> roles;  // by old name
  std::vector<std::pair<std::string, std::string>> waiting;
  Findings findings;

 private:
  std::set<std::pair<std::string, std::string>> reached_;
};

// Compares the messages, and reaches the types of their fields.
void CompareMessages(const MessageType& before, const MessageType& after, Comparison& comparison);
void CompareEnums(const EnumType& before, const EnumType& after, Comparison& comparison);

}  // namespace understudy::actor_protocol

#endif  // UNDERSTUDY_TRANSPORT_PROTOCOL_COMPARISON_H_
