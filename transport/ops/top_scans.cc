#include "understudy/transport/ops/top_scans.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/limits.h"
#include "understudy/proto/ops.pb.h"
#include "understudy/transport/ops/ops_limits.h"
#include "understudy/transport/ops/ops_reads.h"

namespace understudy::internal {

absl::optional<proto::ListActorsReply> TopScans::Look(const proto::TopActorsRequest& request, Share& share) {
  const size_t count =
      request.at_most() == 0 ? limits::kTopActorsUsual : std::min<size_t>(request.at_most(), limits::kActorsPerPageMax);
  const TopBy by = OrderOf(request.by());
  Order& order = orders_[by];
  MonotonicTime now = clock_.Now();
  if (order.last.has_value() && now >= order.last->good_until) order.last.reset();
  const bool is_known = order.last.has_value() && order.last->count >= count;
  if (!is_known) {
    share = order.scan.lock();
    if (share == nullptr) {
      share = std::make_shared<Scan>(system_, count, by);
      share->begun = now;
      order.scan = share;
      ++begun_;
    }
    const bool is_over = share->top.Step(limits::kTopSlicePlaces);
    if (is_over)
      order.last = Answer{.reply = TopReply(share->top.Take()), .count = share->count, .begun = share->begun};
    share->cost += clock_.Now() - now;
    if (is_over) {
      order.last->good_until =
          order.last->begun + std::min<absl::Duration>(limits::kTopAgeMax, limits::kTopAgePerCost * share->cost);
      order.scan.reset();
    }
    // A scan that another caller had begun may be for fewer actors: the next call begins another.
    if (!is_over || order.last->count < count) return absl::nullopt;
  }
  proto::ListActorsReply reply = order.last->reply;
  if (static_cast<size_t>(reply.actors_size()) > count) {
    reply.mutable_actors()->DeleteSubrange(static_cast<int>(count), reply.actors_size() - static_cast<int>(count));
  }
  return reply;
}

}  // namespace understudy::internal
