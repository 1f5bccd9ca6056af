// LinkTable: one actor's links and monitors, as a plain state machine.
//
// No threads, no clock, no sending: each operation says which signal to send.
// Rules are Erlang's since OTP 23: a link is symmetric and at most one per
// pair; unlink carries an id and is acknowledged, and until it is, an exit of
// that peer that comes along the old link is ignored; a monitor fires once or
// is removed. Owner only.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_LINK_TABLE_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_LINK_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "understudy/actors/pid.h"

namespace understudy {

class LinkTable {
 public:
  // Links to `peer`. True when a Link signal must be sent to it.
  bool Link(Pid peer);
  // Removes the link to `peer`. Returns the id of the Unlink signal to send, or
  // 0 when there was no link.
  uint64_t Unlink(Pid peer);

  // A Link signal came: the link is there, unless an unlink of ours is under
  // way (the peer will see it).
  void OnLink(Pid peer);
  // An Unlink signal came; it is always acknowledged with its id.
  void OnUnlink(Pid peer);
  // An acknowledgement came.
  void OnUnlinkAck(Pid peer, uint64_t id);
  // An exit came along a link. True when it counts: the link was there (it is
  // not any more). False when this side had unlinked.
  bool OnLinkExit(Pid peer);

  bool IsLinked(Pid peer) const;
  // The first `at_most` of the peers to tell when this actor ends, in order of pid.
  std::vector<Pid> Links(size_t at_most = SIZE_MAX) const;

  // A new id for a monitor, unique within this actor.
  uint64_t NewId() { return ++last_id_; }
  // A new id for a monitor whose Down is handled only when its target is gone (LingeringLives): no handler of a fenced
  // target still runs, and no LifeHold on it is left.
  uint64_t NewIdUntilGone() { return ++last_id_ | kUntilGone; }
  static bool IsUntilGone(uint64_t id) { return (id & kUntilGone) != 0; }
  // Records that this actor monitors `target`. `id`, from NewId or NewIdUntilGone, is also the Monitor signal's.
  void Monitor(uint64_t id, Pid target) { monitored_.emplace(id, target); }
  // Ends monitor `id`. Returns the target to send Demonitor to, or a null pid if the monitor has fired or was removed.
  Pid Demonitor(uint64_t id);
  // A Down came. True when the monitor was there (it is not any more).
  bool OnDown(uint64_t id);
  bool IsMonitoring(uint64_t id) const { return monitored_.contains(id); }
  // The targets that this actor monitors, by the monitor's id.
  const std::map<uint64_t, Pid>& monitored() const { return monitored_; }

  // A Monitor signal came: `watcher` monitors this actor.
  void OnMonitor(Pid watcher, uint64_t id) { watchers_.emplace(watcher, id); }
  void OnDemonitor(Pid watcher, uint64_t id) { watchers_.erase({watcher, id}); }
  // To whom a Down goes when this actor ends: (watcher, id), in order.
  const std::set<std::pair<Pid, uint64_t>>& watchers() const { return watchers_; }

  size_t link_count() const { return links_.size(); }
  size_t monitor_count() const { return monitored_.size(); }

 private:
  static constexpr uint64_t kUntilGone = uint64_t{1} << 63;

  std::map<Pid, uint64_t> links_;  // 0 when linked, else the unlink under way
  std::map<uint64_t, Pid> monitored_;
  std::set<std::pair<Pid, uint64_t>> watchers_;
  uint64_t last_id_ = 0;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_LINK_TABLE_H_
