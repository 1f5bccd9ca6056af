// The reads of the operator's service, without gRPC: the state of a system and its node as messages of proto/ops.proto.
//
// Any thread but an actor's turn.
#ifndef UNDERSTUDY_TRANSPORT_OPS_OPS_READS_H_
#define UNDERSTUDY_TRANSPORT_OPS_OPS_READS_H_

#include <google/protobuf/message_lite.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/actor_info.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/inspection.h"
#include "understudy/actors/pid.h"
#include "understudy/proto/ops.pb.h"
#include "understudy/transport/node.h"
#include "understudy/transport/node_status.h"
#include "understudy/transport/ops/ops_limits.h"

namespace understudy::internal {

// The room of a reply that has many entries: limits::kOpsReplyBytesMax.
class ReplyRoom {
 public:
  // False if there is no room for `entry` any more.
  bool Takes(const google::protobuf::MessageLite& entry) {
    left_ -= static_cast<int64_t>(entry.ByteSizeLong() + kTagAndLengthBytes);
    return left_ >= 0;
  }

 private:
  static constexpr size_t kTagAndLengthBytes = 6;
  static constexpr size_t kOtherFieldsBytes = 64;

  int64_t left_ = limits::kOpsReplyBytesMax - kOtherFieldsBytes;
};

// The pid as it is printed; empty if it is null.
std::string TextOf(Pid pid);

// `text` cut to limits::kOpsTextBytesMax and made printable.
std::string ShownText(absl::string_view text);

// The actor of `system` that `text` names: a pid as it is printed, with or without brackets, or a name, as its bytes or
// as PrintableText of it. InvalidArgument: `text` is empty. NotFound: no actor has the name, or the pid is of another
// node.
absl::StatusOr<Pid> FindActor(ActorSystem& system, absl::string_view text);

// `node` may be null.
proto::NodeDetails ReadNode(ActorSystem& system, const Node* node);
proto::PeerDetails DetailsOf(const PeerStatus& peer);
proto::ListPeersReply ReadPeers(const Node* node);
// The answer to one ListActors, from looks in slices, so that a search among many actors keeps no other caller waiting.
// Lifetime: the system outlives it.
class ActorSearch {
 public:
  ActorSearch(ActorSystem& system, const proto::ListActorsRequest& request);

  // Looks at some more actors. Returns the answer when it is known; until then call again.
  absl::optional<proto::ListActorsReply> Look();

 private:
  ActorSystem& system_;
  ActorQuery query_;
  const uint64_t end_;  // actors with this place and above are for the next page
  proto::ListActorsReply reply_;
  ReplyRoom room_;
};
TopBy OrderOf(proto::TopOrder order);
// `actors`, as far as they fit into a reply.
proto::ListActorsReply TopReply(const std::vector<ActorInfo>& actors);
absl::StatusOr<proto::ActorDetails> ReadActor(ActorSystem& system, const proto::GetActorRequest& request);
proto::ListNamesReply ReadNames(ActorSystem& system, const proto::ListNamesRequest& request);
proto::ListHandlerTimesReply ReadHandlerTimes(ActorSystem& system, const proto::ListHandlerTimesRequest& request);
proto::ListWorkersReply ReadWorkers(ActorSystem& system);
// In ops_tree.cc.
proto::GetTreeReply ReadTree(ActorSystem& system, const proto::GetTreeRequest& request);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_OPS_OPS_READS_H_
