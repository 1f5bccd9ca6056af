// Compares two protocols: that of .proto files with its baseline, and those of two nodes that meet. Any thread.
#ifndef UNDERSTUDY_TRANSPORT_PROTOCOL_COMPARE_H_
#define UNDERSTUDY_TRANSPORT_PROTOCOL_COMPARE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "understudy/transport/protocol/findings.h"
#include "understudy/transport/protocol/placed_protocol.h"

namespace understudy::actor_protocol {

// All that breaks peers when `before`, of a baseline, becomes `after`, of .proto files; and notes of what was added,
// renamed without harm, or removed as it may be. Each message and enum is compared once, however often it is used.
Findings Compare(const PlacedProtocol& before, const PlacedProtocol& after);

// Compares the messages of `rpc` as the client's program has them with those of the server's program. Returns each
// difference that makes one of the two misread now what the other writes, such as "field auction.Offer.cents, number 3,
// was int64 and is string": "was" tells of the client's message and "is" of the server's. The names of messages and
// enums do not count, and a difference that can only do harm later, such as a number that is not reserved, is not
// returned. The cost is subtracted from `steps_left`: a step for each pair of fields or values that is compared, and 16
// for each message, field and value that is looked at. When that becomes negative, the comparison was given up, and the
// result is incomplete. Requires PlacedProtocol::IndexTypes of both.
std::vector<std::string> MisreadPlaces(const PlacedProtocol& client, const PlacedProtocol& server, const Rpc& rpc,
                                       int64_t& steps_left);

}  // namespace understudy::actor_protocol

#endif  // UNDERSTUDY_TRANSPORT_PROTOCOL_COMPARE_H_
