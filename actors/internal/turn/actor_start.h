// StartProgress: how far the start of one actor has come. SpawnRecord: what the spawn left for the actor's start and
// end: its options, the parent's id, the mail of its predecessor, and the timer of the start's time limit.
// SpawnArguments: what the first turn needs, and only that.
//
// Plain state machines: no clock, no executor, no user code. Owner's turn only, except that another thread may ask a
// StartProgress while it holds the actor's thread in user code.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_START_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_START_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/types/optional.h"
#include "understudy/actors/actor_spec.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/unhandled_mail.h"

namespace understudy::internal {

// The stages follow each other in this order; kOpen may be left out.
class StartProgress {
 public:
  // The constructor has not run, so the mailboxes are not known.
  bool is_constructing() const { return stage_ == Stage::kConstructing; }
  // The constructor has run, and the actor has neither a behavior nor started.
  bool is_starting() const { return stage_ == Stage::kStarting; }
  // The start is over, and has succeeded.
  bool has_started() const { return stage_ == Stage::kStarted; }
  // The actor handles messages: it has started, or Start said StartsLater.
  bool handles_messages() const { return stage_ >= Stage::kOpen; }

  void Constructed() { stage_ = Stage::kStarting; }
  // Start said StartsLater.
  void Open() { stage_ = Stage::kOpen; }
  void Started() { stage_ = Stage::kStarted; }
  // Start declined. Has no effect on what the others say.
  void Decline() { has_declined_ = true; }
  bool has_declined() const { return has_declined_; }
  // Start returned a body: the actor is in the process style.
  void BecomeProcess() { is_process_ = true; }
  bool is_process() const { return is_process_; }

  // True if the start is not over, of an actor that ends with `ending`, or does not end if that is null. An actor whose
  // start has ended for another reason than StartTimeout is not starting any more: it may take its time to end.
  bool IsUnderWay(const ExitReason* ending) const {
    if (has_started()) return false;
    return ending == nullptr || ending->kind() == ExitReason::Kind::kStartTimeout;
  }

 private:
  enum class Stage : uint8_t { kConstructing, kStarting, kOpen, kStarted };

  Stage stage_ : 2 = Stage::kConstructing;
  bool has_declined_ : 1 = false;
  bool is_process_ : 1 = false;
};
static_assert(sizeof(StartProgress) == 1);

class SpawnRecord {
 public:
  // The record of a spawn that left nothing.
  SpawnRecord() = default;
  // The constructor takes from `options` what the actor needs; the handlers in them are the parent's. The parent knows
  // the actor as `parents_id` (SpawnNotifications::id).
  SpawnRecord(SpawnOptions&& options, uint64_t parents_id);

  // True if the spawn left nothing, so that the record need not be kept.
  bool empty() const { return options_ == nullptr && parents_id_ == 0 && inherited_.empty(); }

  // The options of the spawn, without link, handlers and mail.
  const SpawnOptions& options() const { return options_ != nullptr ? *options_ : Plain(); }
  // True if the actor takes names before Start.
  bool has_names() const { return !(options().registered_as.empty() && options().published_as.empty()); }
  uint64_t parents_id() const { return parents_id_; }

  // The executor's timer for the start's time limit. Take returns 0 if there is none.
  void SetStartTimer(uint64_t timer) { start_timer_ = timer; }
  uint64_t TakeStartTimer() { return std::exchange(start_timer_, 0); }

  // The mail that the predecessor left, until the mailboxes exist and take it.
  UnhandledMail TakeMail() { return std::move(inherited_); }
  // Returns what was not taken: it goes to the next life.
  void ReturnMail(UnhandledMail rest) { inherited_ = std::move(rest); }

 private:
  static const SpawnOptions& Plain();

  std::unique_ptr<SpawnOptions> options_;  // null if all that the actor needs of them have their defaults
  uint64_t parents_id_ = 0;
  UnhandledMail inherited_;
  uint64_t start_timer_ = 0;
};

// The arguments that Spawn stores for the actor's first turn, which constructs the actor.
struct SpawnArguments {
  MakeActor make;
  SpawnRecord record;
  absl::optional<ExitReason> has_failed;  // if set, the actor ends with this reason and is not constructed
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_START_H_
