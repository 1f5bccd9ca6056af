// Check and Update: the two commands of the program actor_protocol, after its arguments are parsed. One thread at a
// time.
#ifndef UNDERSTUDY_TOOLS_ACTOR_PROTOCOL_COMMAND_H_
#define UNDERSTUDY_TOOLS_ACTOR_PROTOCOL_COMMAND_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "understudy/tools/actor_protocol/proto_files.h"

namespace understudy::actor_protocol {

struct Command {
  std::string update;              // the shell command that writes this baseline, for messages
  std::string baseline;            // where it is read, and how messages name it
  std::vector<std::string> files;  // import paths of the .proto files with the services
  std::vector<ProtoFile> sources;  // these and all that they import
};

struct CheckResult {
  bool passed = false;
  std::string text;  // what breaks, or what is not in the baseline yet, or the error and what to do about it
};

// Compares the .proto files with the baseline.
CheckResult Check(const Command& command);

// Writes the baseline of the present .proto files to the file `to`, unless that file says the same already. Returns a
// text for the user: what was done, and each change that breaks peers and is accepted by this update. Errors:
// FailedPrecondition if the file is the baseline of other .proto files; InvalidArgument if the .proto files cannot be
// read.
absl::StatusOr<std::string> Update(const Command& command, const std::string& to);

}  // namespace understudy::actor_protocol

#endif  // UNDERSTUDY_TOOLS_ACTOR_PROTOCOL_COMMAND_H_
