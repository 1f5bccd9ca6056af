// Service and Rpc: what the classes of one .proto service are written from, checked.
// Values; the descriptors outlive them. One thread at a time.
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
  std::vector<std::string> options;  // what initializes its MailboxOptions, such as ".capacity_messages = 100"

  bool is_stream() const { return method->server_streaming(); }
  bool is_upload() const { return method->client_streaming(); }
};

struct Service {
  const google::protobuf::ServiceDescriptor* descriptor = nullptr;
  std::string actor;  // "AuctionActor"
  std::string ref;    // "AuctionRef"
  std::vector<Rpc> rpcs;
};

// The services of `file`. What is wrong with them is added to `complaints`; then the result is of no use.
std::vector<Service> ReadServices(const google::protobuf::FileDescriptor& file, Complaints& complaints);

}  // namespace understudy::generator

#endif  // UNDERSTUDY_TOOLS_PROTOC_GEN_UNDERSTUDY_SERVICE_H_
