// The options of one rpc (proto/options.proto) as MailboxOptions.
#ifndef UNDERSTUDY_TOOLS_PROTOC_GEN_UNDERSTUDY_RPC_OPTIONS_H_
#define UNDERSTUDY_TOOLS_PROTOC_GEN_UNDERSTUDY_RPC_OPTIONS_H_

#include <string>
#include <vector>

#include "google/protobuf/descriptor.h"
#include "understudy/tools/protoc_gen_understudy/complaints.h"

namespace understudy::generator {

// "Auction.Watch": how complaints name an rpc.
std::string NameOf(const google::protobuf::MethodDescriptor& rpc);

// Returns the designated initializers of the rpc's MailboxOptions, such as ".capacity_messages = 100".
std::vector<std::string> ReadMailboxOptions(const google::protobuf::MethodDescriptor& rpc, Complaints& complaints);

}  // namespace understudy::generator

#endif  // UNDERSTUDY_TOOLS_PROTOC_GEN_UNDERSTUDY_RPC_OPTIONS_H_
