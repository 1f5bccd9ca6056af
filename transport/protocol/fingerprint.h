// Fingerprints: 64 bits that are equal for what peers read alike.
//
// The fingerprint of a message is 64 bits of a SHA-256 of all that decides how its bytes are read: each field's number,
// type, label, oneof and default, the numbers of enums, and the same of all messages that it contains. Names of fields,
// messages and enums, comments, options and the order of declarations are no part of it, nor are the types of
// google.protobuf, which count by their names.
//
// The fingerprint of a mailbox is that of its kind and of its messages: nodes compare it when one looks up an actor of
// the other (local_types.h). The fingerprint of a service is that of the signatures of all its rpcs' mailboxes: it is
// what protoc-gen-understudy writes into a generated ref (kFingerprint).
//
// No fingerprint is 0. The same declarations give the same fingerprints in each build and version of Understudy.
// Any thread.
#ifndef UNDERSTUDY_TRANSPORT_PROTOCOL_FINGERPRINT_H_
#define UNDERSTUDY_TRANSPORT_PROTOCOL_FINGERPRINT_H_

#include <cstdint>
#include <string>

namespace google::protobuf {
class Descriptor;
class ServiceDescriptor;
}  // namespace google::protobuf

namespace understudy::actor_protocol {

// Returns the text that is hashed for the fingerprint of that message.
std::string CanonicalForm(const google::protobuf::Descriptor& message);

uint64_t MessageFingerprint(const google::protobuf::Descriptor& message);

struct MailboxKind {
  bool is_call = false;
  bool is_upload = false;  // the request comes in items
  bool is_stream = false;  // the reply comes in items
};

// Returns the fingerprint of a mailbox from the fingerprints of its messages; `reply` is 0 for a tell.
uint64_t MailboxFingerprint(const MailboxKind& kind, uint64_t request, uint64_t reply);

// Differs if, and apart from a collision only if, the full name of the service or of one of its rpcs, the kind of an
// rpc (cast, call, streams), the full name of its request or reply, or the fingerprint of its mailbox differs. So if
// it is equal in two programs, neither refuses the other's actors of that service in a lookup (semantics 8.5). Optional
// rpcs count as the others do; which ones are optional does not.
uint64_t ServiceFingerprint(const google::protobuf::ServiceDescriptor& service);

}  // namespace understudy::actor_protocol

#endif  // UNDERSTUDY_TRANSPORT_PROTOCOL_FINGERPRINT_H_
