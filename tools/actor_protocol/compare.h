// Compares a protocol with its baseline. Any thread.
#ifndef UNDERSTUDY_TOOLS_ACTOR_PROTOCOL_COMPARE_H_
#define UNDERSTUDY_TOOLS_ACTOR_PROTOCOL_COMPARE_H_

#include "understudy/tools/actor_protocol/findings.h"
#include "understudy/tools/actor_protocol/placed_protocol.h"

namespace understudy::actor_protocol {

// All that breaks peers when `before`, of a baseline, becomes `after`, of .proto files; and notes of what was added,
// renamed without harm, or removed as it may be. Each message and enum is compared once, however often it is used.
Findings Compare(const PlacedProtocol& before, const PlacedProtocol& after);

}  // namespace understudy::actor_protocol

#endif  // UNDERSTUDY_TOOLS_ACTOR_PROTOCOL_COMPARE_H_
