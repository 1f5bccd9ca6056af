// The node's answers as text for people. A text ends with a newline. Plain values; any thread.
#ifndef UNDERSTUDY_TOOLS_UNDERSTUDY_TABLES_H_
#define UNDERSTUDY_TOOLS_UNDERSTUDY_TABLES_H_

#include <google/protobuf/message.h>

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "understudy/proto/ops.pb.h"

namespace understudy::tool {

// Returns `message` as one line of JSON, with field names as in ops.proto.
std::string FormatJson(const google::protobuf::Message& message);

// Returns the handler that runs, with its time ("auction.Auction/MakeOffer for 3.2s"), or else the handlers that await.
std::string DoingText(const proto::ActorDetails& actor);
// "up", "suspect" or "down".
std::string PeerStateText(const proto::PeerDetails& peer);

std::string FormatNode(const proto::NodeDetails& node);
// `actors` in their order.
std::string FormatActors(const std::vector<proto::ActorDetails>& actors);
std::string FormatActor(const proto::ActorDetails& actor);
std::string FormatNames(const proto::ListNamesReply& names);
std::string FormatPeers(const proto::ListPeersReply& peers);
std::string FormatWaits(const std::vector<proto::ActorDetails>& actors);
std::string FormatHandlerTimes(const proto::ListHandlerTimesReply& times);
// Does what FormatPeers does for several nodes: each line also names the node that has the peer.
std::string FormatNodePeers(const std::vector<proto::NodePeers>& nodes);
std::string FormatWorkers(const proto::ListWorkersReply& workers);
std::string FormatTree(const proto::GetTreeReply& tree);
// The entry in one line, after a line with the number of lost entries if there are any.
std::string FormatEntry(const proto::DeadLetterEntry& entry, absl::TimeZone zone);
std::string FormatEntry(const proto::EventEntry& entry, absl::TimeZone zone);
std::string FormatEntry(const proto::TraceEntry& entry, absl::TimeZone zone);
// Returns the crash report in one line, as the functions above do, and below it a line for each message.
std::string FormatEntry(const proto::CrashEntry& entry, absl::TimeZone zone);

}  // namespace understudy::tool

#endif  // UNDERSTUDY_TOOLS_UNDERSTUDY_TABLES_H_
