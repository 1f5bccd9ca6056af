// HostilePeer: a process in a simulated cluster that speaks the protocol and attacks. It opens streams to honest nodes,
// under its own name or under the name of an honest node, with a proper handshake or without one. Then it sends random
// well-formed frames: forbidden frames, frames with false contents, and too many of the allowed ones.
//
// The hostile peer knows only what a peer can know: the frames of its own sessions, and addresses that it was given.
// All its choices follow from the seed. Threads: one. Lifetime: the peer must outlive the network, which ends its
// streams.
#ifndef UNDERSTUDY_TESTS_SIM_HOSTILE_PEER_H_
#define UNDERSTUDY_TESTS_SIM_HOSTILE_PEER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "understudy/actors/random.h"
#include "understudy/proto/envelope.pb.h"
#include "understudy/proto/names.pb.h"
#include "understudy/transport/testing/simulated_network.h"

namespace understudy {

class HostilePeer {
 public:
  // Which incarnation the peer claims in a Hello when it poses as an honest node.
  enum class Impostor { kNever, kOtherIncarnation, kSameIncarnation };
  struct Options {
    uint64_t seed = 1;
    std::string name = "mallory";
    std::vector<std::string> honest;  // nodes that it opens streams to or poses as
    std::vector<std::string> names;   // published names that it tries to claim
    // With kNever the peer tries both, and is refused because the stream proves another name.
    Impostor impostor = Impostor::kNever;
  };
  HostilePeer(Options options, SimulatedNetwork& network);
  ~HostilePeer();

  // Performs one randomly chosen action.
  void Act();
  // Closes all streams. The peer opens no further streams.
  void Leave();
  // Gives the peer the address of an actor of `node`.
  void Learn(absl::string_view node, const proto::Address& address);

  // The number of Welcomes that the peer received, and of frames that it wrote after one.
  int64_t welcomes() const { return welcomes_; }
  int64_t frames_written() const { return frames_written_; }

 private:
  class Wire;
  struct Target {
    uint64_t incarnation = 0;  // from its last Welcome, or 0
    std::vector<proto::Address> addresses;
    uint64_t dials = 0;
  };

  // Opening streams.
  void Open();
  proto::Hello HelloTo(const std::string& node, Wire& wire);
  // Frames of a session.
  void SayTo(Wire& wire);
  proto::Frame Header(const Wire& wire) const;
  void AddEnvelope(Wire& wire, proto::Frame& frame, const proto::Envelope& envelope);
  void Messages(Wire& wire, proto::Frame& frame);
  void Credits(Wire& wire, proto::Frame& frame);
  void Signal(Wire& wire, proto::Frame& frame);
  void Refused(Wire& wire, proto::Frame& frame);
  void Names(Wire& wire, proto::Frame& frame);
  void Control(proto::Frame& frame);
  void Spoil(Wire& wire, proto::Frame& frame);
  proto::NameClaim Claim();
  std::string AName();
  // The handling of received frames.
  void OnFrame(Wire& wire, const std::string& bytes);
  void LearnFrom(Wire& wire, const proto::Envelope& envelope);

  proto::Address Own(const Wire& wire);
  proto::Address Theirs(const Wire& wire);
  uint32_t Mailbox(proto::Frame& frame);
  proto::ExitReason Reason();
  bool Chance(uint64_t of) { return random_.Below(of) == 0; }

  const Options options_;
  SimulatedNetwork& network_;
  Random random_;
  uint64_t incarnation_;
  std::map<std::string, Target> targets_;
  std::vector<std::unique_ptr<Wire>> wires_;
  std::vector<std::string> recorded_;  // frames that it wrote or read, for replay
  uint64_t last_want_ = 0;
  uint64_t last_claim_ = 0;
  int64_t welcomes_ = 0;
  int64_t frames_written_ = 0;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_SIM_HOSTILE_PEER_H_
