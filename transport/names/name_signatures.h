// NameSignatures: the different sets of mailboxes that one node's published
// actors have, by number. Actors of one class have equal sets, so a million names
// of one class cost one set, in memory and on the wire.
//
// A plain value without threads. One object keeps our own sets, another those
// that a peer defined. Bounds: limits::kNameSignatureSetsMax sets of
// limits::kNameSignatureBytesMax bytes together, or fewer.
#ifndef UNDERSTUDY_TRANSPORT_NAMES_NAME_SIGNATURES_H_
#define UNDERSTUDY_TRANSPORT_NAMES_NAME_SIGNATURES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "understudy/proto/names.pb.h"
#include "understudy/transport/names/name_limits.h"
#include "understudy/transport/protocol/local_types.h"

namespace understudy {

class NameSignatures {
 public:
  explicit NameSignatures(size_t bytes_max = limits::kNameSignatureBytesMax) : bytes_max_(bytes_max) {}

  // ---- Our own ----

  // Returns the number of the set that equals `mailboxes`, and adds the set if it is
  // new, with the fingerprints that `types` gives; 0 if `mailboxes` is empty. Returns InvalidArgument if a string is
  // too long for the wire, and ResourceExhausted at the bounds.
  absl::StatusOr<uint32_t> NumberOf(const std::vector<proto::MailboxSignature>& mailboxes, LocalTypes& types);

  // ---- A peer's ----

  // Adds a set that the peer defined. If there is no room for its bytes, only its number is kept, and claims with it
  // must be refused: Find returns null. Returns InvalidArgument if a part of the set is too large or the number is
  // defined already, and ResourceExhausted if there are too many sets; both make the frame a bad one.
  absl::Status Define(const proto::SignatureSet& set);
  // Whether a set with that number was defined, with or without room for it.
  bool IsDefined(uint32_t number) const { return sets_.contains(number); }

  // Returns the set with that number; null if it is not defined, or there was no room for it.
  std::shared_ptr<const proto::SignatureSet> Find(uint32_t number) const;

 private:
  absl::Status Add(std::shared_ptr<const proto::SignatureSet> set);

  size_t bytes_max_;
  std::map<uint32_t, std::shared_ptr<const proto::SignatureSet>> sets_;  // null if there was no room
  std::map<std::string, uint32_t> number_of_;  // by the serialized set; used only for our own sets
  size_t bytes_ = 0;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_NAMES_NAME_SIGNATURES_H_
