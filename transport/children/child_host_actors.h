// ChildHostActor: the service of child_host.proto as an actor class, and the name under
// which a node's child host is found.
//
// Threads are those of every actor.
#ifndef UNDERSTUDY_TRANSPORT_CHILDREN_CHILD_HOST_ACTORS_H_
#define UNDERSTUDY_TRANSPORT_CHILDREN_CHILD_HOST_ACTORS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "google/protobuf/empty.pb.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/channel.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/mailbox.h"
#include "understudy/actors/mailbox_signature.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/ref.h"
#include "understudy/actors/registry.h"
#include "understudy/proto/child_host.pb.h"

namespace understudy::internal {

class ChildHostRef;

class ChildHostActor : public Actor {
 public:
  using Ref = ChildHostRef;
  using StartCall = Call<proto::StartHostedChild, proto::HostedChildStart>;
  using WaitCall = Call<proto::AwaitHostedChild, proto::HostedChildEnd>;
  using StopCall = Call<proto::StopHostedChild, google::protobuf::Empty>;
  static constexpr absl::string_view kService = "understudy.proto.ChildHost";
  // The proxies of all children may call at the same time: when all children start, and when all end.
  static constexpr int64_t kCapacity = limits::kHostedChildrenMax;

 protected:
  Mailbox<"Start", StartCall> start{this, {.capacity_messages = kCapacity}};
  Mailbox<"Wait", WaitCall> wait{this, {.capacity_messages = kCapacity}};
  Mailbox<"Stop", StopCall> stop{this, {.capacity_messages = kCapacity}};
  Mailbox<"Drop", proto::DropUnhandledMail> drop{this, {.capacity_messages = kCapacity}};
  friend class ChildHostRef;
};

class ChildHostRef : public Ref<ChildHostActor> {
 public:
  using Ref<ChildHostActor>::Ref;
  Channel<ChildHostActor::StartCall> start() const { return (*this)[&ChildHostActor::start]; }
  Channel<ChildHostActor::WaitCall> wait() const { return (*this)[&ChildHostActor::wait]; }
  Channel<ChildHostActor::StopCall> stop() const { return (*this)[&ChildHostActor::stop]; }
  Channel<proto::DropUnhandledMail> drop() const { return (*this)[&ChildHostActor::drop]; }
  static std::vector<MailboxSignature> Mailboxes() {
    return {SignatureOf(&ChildHostActor::start), SignatureOf(&ChildHostActor::wait), SignatureOf(&ChildHostActor::stop),
            SignatureOf(&ChildHostActor::drop)};
  }
};

// The name that the child host of `node` publishes.
std::string ChildHostName(absl::string_view node);

// The name of the node of `pid`, or "?" if the node is not known.
absl::string_view NodeNameOf(Pid pid);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_CHILDREN_CHILD_HOST_ACTORS_H_
