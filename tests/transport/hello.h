// The first frames of a peer that a test plays.
#ifndef UNDERSTUDY_TESTS_TRANSPORT_HELLO_H_
#define UNDERSTUDY_TESTS_TRANSPORT_HELLO_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "understudy/actors/random.h"
#include "understudy/proto/envelope.pb.h"
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/session/session_proof.h"
#include "understudy/transport/session_times.h"

namespace understudy {

// Keys that a seed gives again.
inline std::function<std::string()> KeysOf(uint64_t seed) {
  return [random = std::make_shared<Random>(seed)] {
    std::string key(kSessionKeyBytes, '\0');
    for (char& byte : key) byte = static_cast<char>(random->Next());
    return key;
  };
}

// A Hello that would begin a session.
inline proto::Hello HelloFrom(absl::string_view from, uint64_t incarnation, absl::string_view to, uint64_t dial = 1) {
  proto::Hello hello;
  hello.set_version(kWireVersion);
  hello.set_version_highest(kWireVersion);
  hello.set_from_node(std::string(from));
  hello.set_incarnation(incarnation);
  hello.set_to_node(std::string(to));
  hello.set_new_epoch(1);
  hello.set_dial(dial);
  hello.set_key(std::string(kSessionKeyBytes, 'k'));
  *hello.mutable_times() = ToProto(SessionTimes());
  hello.mutable_times()->set_grace_ms(0);  // the other end's holds
  return hello;
}

inline std::string FrameOf(const proto::Hello& hello) {
  FramePacker packer(0, 0);
  *packer.frame().mutable_hello() = hello;
  return packer.Encode();
}

// Returns a heartbeat frame. It accepts the offer of a Welcome, or shows that the node is alive.
inline std::string HeartbeatFrame(uint64_t epoch) {
  FramePacker packer(epoch, 0);
  packer.frame().mutable_heartbeat();
  return packer.Encode();
}

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_TRANSPORT_HELLO_H_
