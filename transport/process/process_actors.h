// ProcessParentActor and ProcessChildActor: the two ends of the link between a process child
// and its parent (the services of process.proto), and ParentInvitation, by which the child
// learns who its parent is.
//
// The child finds the parent's proxy by its published name, ProcessParentName. Threads are
// those of every actor.
#ifndef UNDERSTUDY_TRANSPORT_PROCESS_PROCESS_ACTORS_H_
#define UNDERSTUDY_TRANSPORT_PROCESS_PROCESS_ACTORS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/channel.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/mailbox.h"
#include "understudy/actors/mailbox_signature.h"
#include "understudy/actors/ref.h"
#include "understudy/actors/registry.h"
#include "understudy/proto/process.pb.h"
#include "understudy/transport/session_times.h"

namespace understudy::internal {

class ProcessParentRef;

class ProcessParentActor : public Actor {
 public:
  using Ref = ProcessParentRef;
  static constexpr absl::string_view kService = "understudy.proto.ProcessParent";

 protected:
  Mailbox<"Attached", proto::ProcessAttached> attached{this};
  Mailbox<"Started", proto::ProcessStarted> started{this};
  Mailbox<"Leaving", proto::ProcessLeaving> leaving{this};
  friend class ProcessParentRef;
};

class ProcessParentRef : public Ref<ProcessParentActor> {
 public:
  using Ref<ProcessParentActor>::Ref;
  Channel<proto::ProcessAttached> attached() const { return (*this)[&ProcessParentActor::attached]; }
  Channel<proto::ProcessStarted> started() const { return (*this)[&ProcessParentActor::started]; }
  Channel<proto::ProcessLeaving> leaving() const { return (*this)[&ProcessParentActor::leaving]; }
  static std::vector<MailboxSignature> Mailboxes() {
    return {SignatureOf(&ProcessParentActor::attached), SignatureOf(&ProcessParentActor::started),
            SignatureOf(&ProcessParentActor::leaving)};
  }
};

class ProcessChildRef;

class ProcessChildActor : public Actor {
 public:
  using Ref = ProcessChildRef;
  static constexpr absl::string_view kService = "understudy.proto.ProcessChild";

 protected:
  Mailbox<"Stop", proto::ProcessStop> stop{this};
  Mailbox<"MeetPeer", proto::PeerAddress> meet_peer{this};
  friend class ProcessChildRef;
};

class ProcessChildRef : public Ref<ProcessChildActor> {
 public:
  using Ref<ProcessChildActor>::Ref;
  Channel<proto::ProcessStop> stop() const { return (*this)[&ProcessChildActor::stop]; }
  Channel<proto::PeerAddress> meet_peer() const { return (*this)[&ProcessChildActor::meet_peer]; }
  static std::vector<MailboxSignature> Mailboxes() {
    return {SignatureOf(&ProcessChildActor::stop), SignatureOf(&ProcessChildActor::meet_peer)};
  }
};

// The name that `parent` publishes for its process child's proxy. No other node may publish it (grants.h).
inline std::string ProcessParentName(absl::string_view parent, absl::string_view child_node) {
  return absl::StrCat("understudy/process/", parent, "/", child_node);
}

// The message of a parent to its process child, in the environment variable kVariable.
struct ParentInvitation {
  static constexpr char kVariable[] = "UNDERSTUDY_PARENT";

  int descriptor = -1;  // the child's end of the socketpair
  std::string parent;   // the name of the parent's node
  std::string node;     // the name of the child's node
  // ProcessChild::silent_within.
  absl::Duration silence = limits::kProcessChildSilence;
  std::string listen;  // the address at which the child listens

  std::string ToString() const;
  // InvalidArgument if `text` is not a result of ToString.
  [[nodiscard]] static absl::StatusOr<ParentInvitation> Parse(absl::string_view text);
};

// The times of the session between a parent and its process child. The session has only one stream, which cannot be
// replaced: there is no grace period after its end, and more time for its handshake.
SessionTimes ProcessSessionTimes(SessionTimes times, absl::Duration silence);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_PROCESS_PROCESS_ACTORS_H_
