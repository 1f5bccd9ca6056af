// NullRouter: a Router that accepts everything and does nothing; a test overrides what it looks at. Any thread.
#ifndef UNDERSTUDY_ACTORS_TESTING_NULL_ROUTER_H_
#define UNDERSTUDY_ACTORS_TESTING_NULL_ROUTER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/optional.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/room.h"
#include "understudy/actors/router.h"

namespace understudy {

class NullRouter : public Router {
 public:
  absl::Status Send(const OutboundMessage& /*message*/) override { return absl::OkStatus(); }
  void Post(Signal /*signal*/) override {}
  void Released(const ReleasedMessages& /*messages*/) override {}
  void AskBack(Pid /*receiver*/, uint32_t /*mailbox*/) override {}
  absl::optional<absl::Status> SendOrWait(const OutboundMessage& message, uint64_t /*wait*/) override {
    return Send(message);
  }
  absl::Status SendInRoom(const OutboundMessage& message, uint64_t /*wait*/) override { return Send(message); }
  void StopWaiting(Pid /*from*/, uint64_t /*wait*/) override {}
  void EndWait(const RoomWait& /*wait*/, absl::Status /*status*/) override {}
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_TESTING_NULL_ROUTER_H_
