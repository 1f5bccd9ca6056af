// PendingHandshakes: the streams that other nodes opened and that belong to no peer yet,
// because their Hello has not come or was refused.
//
// A state machine without a lock or a clock. Its caller reports which streams come, what
// becomes of their Hellos and which streams close; its functions return whether there is
// room for a stream and which streams to close. Streams whose identity is not proved may
// use only limits::kUnprovedPeersMax of the limits::kPeersMax entries, so that they cannot
// keep others out.
#ifndef UNDERSTUDY_TRANSPORT_CORE_PENDING_HANDSHAKES_H_
#define UNDERSTUDY_TRANSPORT_CORE_PENDING_HANDSHAKES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "understudy/actors/clock.h"
#include "understudy/transport/core/node_link.h"
#include "understudy/transport/session/stream_identity.h"

namespace understudy::internal {

class PendingHandshakes {
 public:
  // Whether there is room for a stream of that identity.
  bool HasRoom(const StreamIdentity& identity) const;
  // A stream was accepted. Its Hello must come before `deadline`. Requires HasRoom.
  void Add(std::shared_ptr<NodeLink> link, MonotonicTime deadline);
  bool Contains(uint64_t link) const { return entries_.contains(link); }
  // Whether the stream is here and its Hello has not come.
  bool AwaitsHello(uint64_t link) const;
  // The Hello of a stream is refused. The stream stays until the other end, which is to read why, closes it, or until
  // its deadline. Requires Contains.
  void Refuse(uint64_t link);
  // The stream has closed, or belongs to a peer from now on.
  void Remove(uint64_t link);
  // Removes a stream that the caller closes, and counts it as refused unless Refuse has done so. Requires Contains.
  void Drop(uint64_t link);
  // Drops the streams whose deadline has come by `now`, and returns them in the order in which they were accepted.
  std::vector<std::shared_ptr<NodeLink>> DropLate(MonotonicTime now);
  // The time at which to call DropLate; InfiniteFuture without streams.
  MonotonicTime NextDeadline() const;

  // A stream was refused that is not here: there was no room for it, or its peer gave way to another.
  void CountRefused() { ++refused_; }
  // The streams that were refused, since the node began.
  int64_t refused() const { return refused_; }

 private:
  struct Entry {
    std::shared_ptr<NodeLink> link;
    MonotonicTime deadline;
    bool is_refused = false;
  };

  std::map<uint64_t, Entry> entries_;  // by the number of the link
  size_t unproved_ = 0;                // entries of streams whose identity is not proved
  int64_t refused_ = 0;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_CORE_PENDING_HANDSHAKES_H_
