// TopScans: the answers to TopActors, from scans in slices, so that a scan of a million actors keeps no other caller of
// the operator's service waiting, and answers that many callers ask for cost no more than those of one.
//
// Threads: one. Lifetime: the system outlives it.
#ifndef UNDERSTUDY_TRANSPORT_OPS_TOP_SCANS_H_
#define UNDERSTUDY_TRANSPORT_OPS_TOP_SCANS_H_

#include <cstddef>
#include <map>
#include <memory>

#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/inspection.h"
#include "understudy/proto/ops.pb.h"

namespace understudy::internal {

class TopScans {
  struct Scan;

 public:
  // `clock` is for the cost of scans and the age of answers.
  explicit TopScans(ActorSystem& system, Clock& clock = Clock::Real()) : system_(system), clock_(clock) {}

  // What a caller has of a scan that it waits for.
  using Share = std::shared_ptr<Scan>;

  // Goes on with the scan that `request` needs, for one slice. Returns the answer when it is known; until then call
  // again, with the same `share`, which is null at first. Several callers may do so in turn, and share a scan. A scan
  // ends when no caller has a share of it, so that nobody is told what was seen long ago. The answer of a scan that has
  // ended serves others for limits::kTopAgeMax at most.
  absl::optional<proto::ListActorsReply> Look(const proto::TopActorsRequest& request, Share& share);

  // Scans that have begun, since this object was made.
  int begun() const { return begun_; }

 private:
  struct Scan {
    Scan(ActorSystem& system, size_t its_count, TopBy by) : count(its_count), top(system, its_count, by) {}
    const size_t count;
    TopScan top;
    absl::Duration cost;  // of the slices so far
    MonotonicTime begun;
  };
  struct Answer {
    proto::ListActorsReply reply;
    size_t count = 0;  // how many actors were asked for
    MonotonicTime begun;
    MonotonicTime good_until;
  };
  struct Order {
    std::weak_ptr<Scan> scan;  // that is under way
    absl::optional<Answer> last;
  };

  ActorSystem& system_;
  Clock& clock_;
  std::map<TopBy, Order> orders_;
  int begun_ = 0;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_OPS_TOP_SCANS_H_
