// Service and Rpc: a checked .proto service, in the form in which its classes are generated.
// Values; the descriptors must outlive them. One thread at a time.
#ifndef UNDERSTUDY_TOOLS_PROTOC_GEN_UNDERSTUDY_SERVICE_H_
#define UNDERSTUDY_TOOLS_PROTOC_GEN_UNDERSTUDY_SERVICE_H_

#include <string>
#include <vector>

#include "google/protobuf/descriptor.h"
#include "understudy/tools/protoc_gen_understudy/complaints.h"

namespace understudy::generator {

struct Rpc {
  const google::protobuf::MethodDescriptor* method = nullptr;
  std::string member;  // "make_offer": the mailbox and the function of the ref
  bool is_cast = false;
  bool is_optional = false;
  std::vector<std::string> options;  // initializers of its MailboxOptions, such as ".capacity_messages = 100"

  bool is_stream() const { return method->server_streaming(); }
  bool is_upload() const { return method->client_streaming(); }
};

struct Service {
  const google::protobuf::ServiceDescriptor* descriptor = nullptr;
  std::string actor;  // "AuctionActor"
  std::string ref;    // "AuctionRef"
  std::vector<Rpc> rpcs;
};

// Returns the services of `file`. Adds their errors to `complaints`; if there are any, do not use the result.
std::vector<Service> ReadServices(const google::protobuf::FileDescriptor& file, Complaints& complaints);

}  // namespace understudy::generator

#endif  // UNDERSTUDY_TOOLS_PROTOC_GEN_UNDERSTUDY_SERVICE_H_
