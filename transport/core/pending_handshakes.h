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
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "understudy/actors/clock.h"
#include "understudy/transport/core/node_link.h"
#include "understudy/transport/session/stream_identity.h"

namespace understudy::internal {

class PendingHandshakes {
 public:
  // Causes for which a stream is refused, besides the reasons of proto::Refuse.
  static constexpr char kNoRoom[] = "no_room";         // too many streams wait for their Hello
  static constexpr char kNoHello[] = "no_hello";       // no Hello came in time
  static constexpr char kNotAHello[] = "not_a_hello";  // the first frame was another one, or the second came too early
  static constexpr char kGaveWay[] = "gave_way";       // the peer, which is not proved, gave its place to another

  // Whether there is room for a stream of that identity.
  bool HasRoom(const StreamIdentity& identity) const;
  // A stream was accepted. Its Hello must come before `deadline`. Requires HasRoom.
  void Add(std::shared_ptr<NodeLink> link, MonotonicTime deadline);
  bool Contains(uint64_t link) const { return entries_.contains(link); }
  // Whether the stream is here and its Hello has not come.
  bool AwaitsHello(uint64_t link) const;
  // The Hello of a stream is refused. The stream stays until the other end, which is to read why, closes it, or until
  // its deadline. Requires Contains. `cause` is one of a bounded number, here as below.
  void Refuse(uint64_t link, absl::string_view cause);
  // The stream has closed, or belongs to a peer from now on.
  void Remove(uint64_t link);
  // Removes a stream that the caller closes, and counts it as refused unless Refuse has done so. Requires Contains.
  void Drop(uint64_t link, absl::string_view cause);
  // Drops the streams whose deadline has come by `now`, and returns them in the order in which they were accepted.
  std::vector<std::shared_ptr<NodeLink>> DropLate(MonotonicTime now);
  // The time at which to call DropLate; InfiniteFuture without streams.
  MonotonicTime NextDeadline() const;

  // A stream was refused that is not here: there was no room for it, or its peer gave way to another.
  void CountRefused(absl::string_view cause) { ++refused_[std::string(cause)]; }
  // The number of streams that were refused, since the node began.
  int64_t refused() const;
  // The number of streams that were refused for each cause.
  const std::map<std::string, int64_t>& refused_by_cause() const { return refused_; }

 private:
  struct Entry {
    std::shared_ptr<NodeLink> link;
    MonotonicTime deadline;
    bool is_refused = false;
  };

  std::map<uint64_t, Entry> entries_;  // by the number of the link
  size_t unproved_ = 0;                // entries of streams whose identity is not proved
  std::map<std::string, int64_t> refused_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_CORE_PENDING_HANDSHAKES_H_
