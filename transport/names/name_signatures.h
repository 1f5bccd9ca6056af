// NameSignatures: the different sets of mailboxes that one node's published
// actors have, by number. Actors of one class have equal sets, so a million names
// of one class cost one set, in memory and on the wire.
//
// A plain value without threads. One object keeps our own sets, another those
// that a peer defined. Bounds: limits::kNameSignatureSetsMax sets of
// limits::kNameSignatureBytesMax bytes together.
#ifndef UNDERSTUDY_TRANSPORT_NAMES_NAME_SIGNATURES_H_
#define UNDERSTUDY_TRANSPORT_NAMES_NAME_SIGNATURES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "understudy/proto/names.pb.h"

namespace understudy {

class NameSignatures {
 public:
  // ---- Our own ----

  // The number of the set that equals `mailboxes`, which is kept from now on; 0
  // when `mailboxes` is empty. InvalidArgument when a string is too long for the
  // wire, ResourceExhausted at the bounds.
  absl::StatusOr<uint32_t> NumberOf(const std::vector<proto::MailboxSignature>& mailboxes);

  // ---- A peer's ----

  // InvalidArgument when it breaks a bound or defines a number again: a bad frame.
  absl::Status Define(const proto::SignatureSet& set);

  // Null when `number` is not defined.
  std::shared_ptr<const proto::SignatureSet> Find(uint32_t number) const;

 private:
  absl::Status Add(std::shared_ptr<const proto::SignatureSet> set);

  std::map<uint32_t, std::shared_ptr<const proto::SignatureSet>> sets_;
  std::map<std::string, uint32_t> number_of_;  // by the set's bytes; our own only
  size_t bytes_ = 0;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_NAMES_NAME_SIGNATURES_H_
