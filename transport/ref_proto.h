// Refs in users' messages: proto::Ref to Pid and back.
//
//   message WatchRequest { understudy.proto.Ref watcher = 1; }
//
//   *request.mutable_watcher() = ToProto(context().Self());
//   absl::StatusOr<Pid> watcher = PidFromProto(request.watcher(), context().Self());
//
// A Ref may name an actor of any node, a third one's too. Any thread.
#ifndef UNDERSTUDY_TRANSPORT_REF_PROTO_H_
#define UNDERSTUDY_TRANSPORT_REF_PROTO_H_

#include "absl/status/statusor.h"
#include "understudy/actors/pid.h"
#include "understudy/proto/ref.pb.h"

namespace understudy {

// A null pid gives an empty Ref.
proto::Ref ToProto(Pid pid);

// Every typed ref has a pid().
template <class RefT>
  requires requires(const RefT& ref) { ref.pid(); }
proto::Ref ToProto(const RefT& ref) {
  return ToProto(ref.pid());
}

// Returns the pid that `ref` names, for the actor system of `local` (which may be any
// pid of that system). An empty Ref gives a null pid. InvalidArgument: the Ref is
// malformed. ResourceExhausted: refs have named more than
// limits::kNodesLearnedFromRefsMax incarnations that this process has not met in a
// session, or this process has met too many (NodeTable).
absl::StatusOr<Pid> PidFromProto(const proto::Ref& ref, Pid local);

// Like PidFromProto, but returns a ref of type RefT. Does not check that the actor is of RefT's class.
template <class RefT>
absl::StatusOr<RefT> RefFromProto(const proto::Ref& ref, Pid local) {
  const absl::StatusOr<Pid> found = PidFromProto(ref, local);
  if (!found.ok()) return found.status();
  return RefT(*found);
}

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_REF_PROTO_H_
