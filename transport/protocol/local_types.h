// LocalTypes: computes fingerprints of the message types of this program, describes the types to other nodes, and
// compares them with the types that another node describes.
//
// Nodes with equal fingerprints of a mailbox (fingerprint.h) read each other's bytes alike. Nodes with different ones
// may do so nevertheless, which the comparison of the types decides.
//
// One thread at a time. A value: a copy is independent.
#ifndef UNDERSTUDY_TRANSPORT_PROTOCOL_LOCAL_TYPES_H_
#define UNDERSTUDY_TRANSPORT_PROTOCOL_LOCAL_TYPES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "understudy/proto/names.pb.h"
#include "understudy/transport/protocol/placed_protocol.h"

namespace google::protobuf {
class Descriptor;
class DescriptorPool;
}  // namespace google::protobuf

namespace understudy {

class LocalTypes {
 public:
  // Uses the message types of `pool`, which must outlive this object, or if it is null, those that are linked into this
  // program.
  explicit LocalTypes(const google::protobuf::DescriptorPool* pool = nullptr);

  // The fingerprint of the mailbox, which is not 0; or 0 if its messages are not known here.
  uint64_t FingerprintOf(const proto::MailboxSignature& mailbox);

  // Returns a description of the messages of some mailboxes of `set`, as a serialized actor_protocol::Protocol. Bit i
  // of `mailboxes` stands for the mailbox i. Messages that are not known here are left out. The cost is subtracted from
  // `steps_left`; if that is negative already, the description is empty.
  std::string Describe(const proto::SignatureSet& set, uint64_t mailboxes, int64_t& steps_left) const;

  // Compares the same mailboxes with the description that another node's Describe returned. Returns a text for each
  // mailbox of `set`: what this node, as the client, or the other node would misread, or an empty text if nothing.
  // Returns InvalidArgument if the description is malformed. The cost is subtracted from `steps_left`: the bytes of the
  // description, MisreadPlaces for each mailbox, and the bytes of this program's messages that were not compared
  // before. When that becomes negative, the remaining mailboxes are not compared and have empty texts.
  absl::StatusOr<std::vector<std::string>> Compare(const proto::SignatureSet& set, uint64_t mailboxes,
                                                   absl::string_view description, int64_t& steps_left);

 private:
  const google::protobuf::Descriptor* Find(const std::string& message) const;
  uint64_t FingerprintOfMessage(const std::string& message);
  // Adds the message, and all that its fields reach, to ours_, unless they are there.
  void DescribeOwn(const std::string& message, int64_t& steps_left);

  const google::protobuf::DescriptorPool* pool_;
  std::map<std::string, uint64_t> fingerprints_;  // of messages that are known here
  // The messages of this program that were compared, each once; with each message it has all that its fields reach.
  actor_protocol::PlacedProtocol ours_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_PROTOCOL_LOCAL_TYPES_H_
