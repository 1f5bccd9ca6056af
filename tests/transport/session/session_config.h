// The nodes of the tests in which one end of a session is a PeerSession and the test writes the frames of the other.
#ifndef UNDERSTUDY_TESTS_TRANSPORT_SESSION_SESSION_CONFIG_H_
#define UNDERSTUDY_TESTS_TRANSPORT_SESSION_SESSION_CONFIG_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "understudy/actors/pid.h"
#include "understudy/tests/transport/hello.h"
#include "understudy/transport/session/peer_session.h"

namespace understudy {

// Incarnations.
inline constexpr uint64_t kOfA = 1;
inline constexpr uint64_t kOfB = 2;
inline constexpr uint64_t kOfStranger = 3;

inline SessionConfig ConfigOf(absl::string_view node, uint64_t incarnation, absl::string_view peer) {
  return {.node = std::string(node),
          .incarnation = {incarnation},
          .peer = std::string(peer),
          .local_index = 1,
          .peer_place = [](NodeIncarnation) { return 2; },
          .new_key = KeysOf(1)};
}

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_TRANSPORT_SESSION_SESSION_CONFIG_H_
