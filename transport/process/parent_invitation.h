// ParentInvitation: by which a process child learns who its parent is, and the address of its proxy there, an actor
// with the service ProcessParent of process.proto. The proxy has no name: it believes what it is told, so only the
// child may know its address, which cannot be guessed. Values, for any thread.
#ifndef UNDERSTUDY_TRANSPORT_PROCESS_PARENT_INVITATION_H_
#define UNDERSTUDY_TRANSPORT_PROCESS_PARENT_INVITATION_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/limits.h"
#include "understudy/proto/ref.pb.h"
#include "understudy/transport/session_times.h"

namespace understudy::internal {

// The message of a parent to its process child, in the environment variable kVariable.
struct ParentInvitation {
  static constexpr char kVariable[] = "UNDERSTUDY_PARENT";

  int descriptor = -1;  // the child's end of the socketpair
  proto::Ref proxy;
  std::string node;  // the name of the child's node
  // ProcessChild::silent_within.
  absl::Duration silence = limits::kProcessChildSilence;
  std::string listen;  // the address at which the child listens

  // The name of the parent's node.
  const std::string& parent() const { return proxy.node(); }

  std::string ToString() const;
  // InvalidArgument if `text` is not a result of ToString.
  [[nodiscard]] static absl::StatusOr<ParentInvitation> Parse(absl::string_view text);
};

// The times of the session between a parent and its process child. The session has only one stream, which cannot be
// replaced: there is no grace period after its end, and more time for its handshake.
SessionTimes ProcessSessionTimes(SessionTimes times, absl::Duration silence);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_PROCESS_PARENT_INVITATION_H_
