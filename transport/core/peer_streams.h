// PeerStreams: the credit of the streams between actors of this node and actors of the peer that one session carries
// (semantics 10.7), in both directions: answers that come in items, and uploads, whose request does. The ask of a
// stream is one of OutstandingRequests; its answer ends the streams of the call there and here.
//
// A state machine without a lock or a clock. It sees each call, answer, item, credit and end of a stream that goes out
// and comes in, and decides which may be delivered. For each stream it has the same StreamLedger as the actors at its
// two ends. So it knows of an item or a credit that the peer may not send, before an actor sees it. At the session's
// end it returns what the callees of this node must be told; OutstandingRequests tells the askers.
//
// A call is in a table for as long as it has no answer, and no longer, so the bound of the calls of a session bounds
// the streams.
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

// True for the signals of which PeerStreams says whether they are sent.
bool IsOfStream(SignalKind kind);

// The features (session/handshake.h) that a session needs for a call with that id.
uint64_t FeaturesFor(uint64_t ask);

class PeerStreams {
 public:
  // ---- Going out ----

  // A call whose answer or request comes in items was sent by an actor of this node.
  void OnSent(Pid asker, uint64_t ask, Pid callee) {
    asked_.insert_or_assign(std::pair(asker, ask), CarriedCall(ask, callee));
  }
  // An actor of this node posts a signal that IsOfStream. Returns false if it must not be sent, because the stream is
  // over.
  [[nodiscard]] bool OnPosted(const Signal& signal);
  // The signals to deliver when an item of an actor of this node found no room in the session, which ends the item's
  // stream at both ends.
  struct NoRoom {
    Signal to_writer;  // here
    Signal to_reader;  // there
  };
  // Nullopt if the stream was over already.
  absl::optional<NoRoom> OnNoRoom(const Signal& item, const absl::Status& why);

  // ---- Coming in ----

  enum class Verdict {
    kDeliver,
    kDrop,  // too late, or of no stream
    kBad,   // beyond what was granted: the session ends
  };
  // A call whose answer or request comes in items came from the peer.
  void OnCalled(Pid asker, uint64_t ask, Pid callee) {
    called_.insert_or_assign(std::pair(asker, ask), CarriedCall(ask, callee));
  }
  Verdict OnArrived(const Signal& signal);

  // A call of this node was answered, refused or given up. For an ask without streams this does nothing.
  void OnAnswered(Pid asker, uint64_t ask) { asked_.erase({asker, ask}); }
  // A call of the peer is answered or refused by this node, or given up. Returns what the callee is to be told, if it
  // still reads the call's upload.
  absl::optional<Signal> OnAnswers(Pid asker, uint64_t ask);

  // ---- The end ----

  // The session is over. Returns the signals to the callees of this node whose streams are not over, and forgets
  // everything.
  std::vector<Signal> End(absl::string_view why);

  // The calls with streams, of this node and of the peer.
  size_t asked() const { return asked_.size(); }
  size_t called() const { return called_.size(); }

 private:
  struct Carried {
    enum class State : uint8_t { kAwaitsReader, kOpen, kOver };
    State state = State::kOver;
    internal::StreamLedger ledger;  // the items that were sent, or came, and are not returned
  };
  struct CarriedCall {
    CarriedCall(uint64_t ask, Pid callee_in) : callee(callee_in) {
      if (internal::IsStreamAsk(ask)) answers.state = Carried::State::kOpen;
      if (internal::IsUploadAsk(ask)) upload.state = Carried::State::kAwaitsReader;
    }
    Pid callee;
    Carried answers;
    Carried upload;
  };
  using Calls = std::map<std::pair<Pid, uint64_t>, CarriedCall>;

  // The stream of one of `calls` to which `signal` belongs. Null if it is over, or if there is none between the two
  // actors.
  static Carried* Find(Calls& calls, const Signal& signal);

  Calls asked_;   // by (asker here, ask)
  Calls called_;  // by (asker there, ask)
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_CORE_PEER_STREAMS_H_
