// The files that the tests' .proto files import, as they are found in the runfiles of a test.
#ifndef UNDERSTUDY_TESTS_TOOLS_ACTOR_PROTOCOL_IMPORTED_FILES_H_
#define UNDERSTUDY_TESTS_TOOLS_ACTOR_PROTOCOL_IMPORTED_FILES_H_

#include <vector>

#include "understudy/tools/actor_protocol/proto_files.h"

namespace understudy::actor_protocol {

inline std::vector<ProtoFile> ImportedFiles() {
  return {
      {"google/protobuf/descriptor.proto", "../com_google_protobuf/google/protobuf/descriptor.proto"},
      {"google/protobuf/empty.proto", "../com_google_protobuf/google/protobuf/empty.proto"},
      {"understudy/proto/options.proto", "proto/options.proto"},
  };
}

}  // namespace understudy::actor_protocol

#endif  // UNDERSTUDY_TESTS_TOOLS_ACTOR_PROTOCOL_IMPORTED_FILES_H_
