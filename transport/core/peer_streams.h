// PeerStreams: the credit of the streams between actors of this node and actors of the peer that one session carries
// (semantics 10.7). The ask of a stream is one of OutstandingRequests; its answer ends the stream there and here.
//
// A state machine without a lock or a clock. It sees each call, answer, item and credit of a stream that goes out and
// comes in, and decides which may be delivered. For each stream it has the same StreamLedger as the actors at its two
// ends. So it knows of an item or a credit that the peer may not send, before an actor sees it. At the session's end it
// returns what the writers of this node must be told; OutstandingRequests tells the askers.
#ifndef UNDERSTUDY_TRANSPORT_CORE_PEER_STREAMS_H_
#define UNDERSTUDY_TRANSPORT_CORE_PEER_STREAMS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "understudy/actors/internal/asks/stream_ledger.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"

namespace understudy {

class PeerStreams {
 public:
  // ---- Going out ----

  // A call whose answer is a stream was sent by an actor of this node.
  void OnSent(Pid asker, uint64_t ask, Pid callee) { reading_[{asker, ask}].callee = callee; }
  // An actor of this node posts an item or a credit. Returns false if it must not be sent, because the stream is over.
  [[nodiscard]] bool OnPosted(const Signal& signal);
  // A stream of an actor of this node found no room in the session, so its asker was answered with an error. Returns
  // what the writer is to be told.
  absl::optional<Signal> OnNoRoom(const Signal& item, const absl::Status& why);

  // ---- Coming in ----

  enum class Verdict {
    kDeliver,
    kDrop,  // too late, or of no stream
    kBad,   // beyond what was granted: the session ends
  };
  // A call whose answer is a stream came from the peer.
  void OnCalled(Pid asker, uint64_t ask, Pid callee) { writing_[{asker, ask}].callee = callee; }
  Verdict OnArrived(const Signal& signal);

  // A call of this node was answered or refused, or a call of the peer is answered or refused by this node. For an ask
  // that is no stream this does nothing.
  void OnAnswered(Pid asker, uint64_t ask) { reading_.erase({asker, ask}); }
  void OnAnswers(Pid asker, uint64_t ask) { writing_.erase({asker, ask}); }

  // ---- The end ----

  // The session is over. Returns the signals to the writers of this node, and forgets everything.
  std::vector<Signal> End(absl::string_view why);

  size_t reading() const { return reading_.size(); }
  size_t writing() const { return writing_.size(); }

 private:
  struct Carried {
    Pid callee;
    internal::StreamLedger ledger;
  };
  using Streams = std::map<std::pair<Pid, uint64_t>, Carried>;

  // Null if there is none, or if its callee is another actor.
  static Carried* Find(Streams& streams, Pid asker, uint64_t ask, Pid callee);

  Streams reading_;  // (asker here, ask) to the writer there: the items that came and are not returned
  Streams writing_;  // (asker there, ask) to the writer here: the items that were sent and are not returned
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_CORE_PEER_STREAMS_H_
