// A node "stranger" that begins a session with node a of a simulated cluster, and whose frames a test writes by hand.
#ifndef UNDERSTUDY_TESTS_TRANSPORT_STRANGER_H_
#define UNDERSTUDY_TESTS_TRANSPORT_STRANGER_H_

#include <cstdint>
#include <memory>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/node_table.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/test_system.h"
#include "understudy/proto/envelope.pb.h"
#include "understudy/tests/transport/cluster_test.h"
#include "understudy/tests/transport/hello.h"
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/session/frame_stream.h"
#include "understudy/transport/testing/simulated_cluster.h"

namespace understudy {

inline constexpr uint64_t kStrangersIncarnation = 7;

// Begins a session of the stranger that has these features. Returns the stream to write to; `visitor` gets the frames
// of node a.
inline std::unique_ptr<FrameStream> BeginStrangersSession(SimulatedCluster& cluster, Visitor& visitor,
                                                          uint64_t features) {
  constexpr absl::Duration kAnswersWithin = absl::Milliseconds(50);
  std::unique_ptr<FrameStream> stream = cluster.network().DialerFor("stranger")->Dial("a", "a", &visitor);
  proto::Hello hello = HelloFrom("stranger", kStrangersIncarnation, "a");
  hello.set_features(features);
  stream->Write(FrameOf(hello));
  cluster.RunFor(kAnswersWithin);
  proto::Frame welcome;
  EXPECT_TRUE(!visitor.frames.empty() && welcome.ParseFromString(visitor.frames.back()));
  EXPECT_EQ(welcome.welcome().features(), features);
  stream->Write(HeartbeatFrame(welcome.welcome().epoch()));
  cluster.RunFor(kAnswersWithin);
  return stream;
}

// The pid of an actor of the stranger, as actors of node a know it.
inline Pid StrangersActor(SimulatedCluster& cluster) {
  const NodePlace place = *cluster.system("a").InternPeer("stranger", NodeIncarnation{kStrangersIncarnation});
  return internal::PidAt(place, {.cell = 1, .serial = 1});
}

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_TRANSPORT_STRANGER_H_
