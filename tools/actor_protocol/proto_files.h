// Reads the protocol of services from their .proto files. One thread at a time.
#ifndef UNDERSTUDY_TOOLS_ACTOR_PROTOCOL_PROTO_FILES_H_
#define UNDERSTUDY_TOOLS_ACTOR_PROTOCOL_PROTO_FILES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "understudy/transport/protocol/placed_protocol.h"

namespace understudy::actor_protocol {

struct ProtoFile {
  std::string import_path;  // as other .proto files import it
  std::string path;         // where it is opened, and how errors and places name it
};

// The protocol of all services in `files`, which are import paths of some of `sources`. `sources` holds all files that
// these import too. InvalidArgument if a file cannot be read, with all errors, or if there is no service.
absl::StatusOr<PlacedProtocol> ReadProtoFiles(const std::vector<std::string>& files,
                                              const std::vector<ProtoFile>& sources);

}  // namespace understudy::actor_protocol

#endif  // UNDERSTUDY_TOOLS_ACTOR_PROTOCOL_PROTO_FILES_H_
