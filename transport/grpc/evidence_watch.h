// EvidenceWatch: gathers PeerEvidence of all peers of a node. On the SocketThread it
// watches the pidfds of their processes, and dials the peers that listen on this machine.
//
// Threads: any. `proved` is called on the SocketThread, without locks, at most
// once for each time that a session lost its stream, until Stop.
#ifndef UNDERSTUDY_TRANSPORT_GRPC_EVIDENCE_WATCH_H_
#define UNDERSTUDY_TRANSPORT_GRPC_EVIDENCE_WATCH_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/pid.h"
#include "understudy/transport/session/peer_watch.h"
#include "understudy/transport/sockets/peer_process.h"

namespace understudy::internal {

class EvidenceWatch final : public PeerWatch {
 public:
  // The time after which a dial counts as hanging: on this machine one is answered at once or not at all.
  static constexpr absl::Duration kDialAnsweredWithin = absl::Seconds(1);

  using Proved = std::function<void(const std::string& node, NodeIncarnation incarnation)>;
  explicit EvidenceWatch(Proved proved);
  ~EvidenceWatch() override { Stop(); }

  // When Stop returns, `proved` is not running and is not called again. Must not be called from `proved`.
  void Stop();

  void OnCarried(absl::string_view node, NodeIncarnation incarnation, absl::string_view address,
                 std::shared_ptr<const PeerProcess> process) override;
  void OnBroken(absl::string_view node) override;
  void OnOver(absl::string_view node) override;

 private:
  class State;
  const std::shared_ptr<State> state_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_GRPC_EVIDENCE_WATCH_H_
