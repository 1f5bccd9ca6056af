// ActorParts: the parts of one actor besides its object, behavior and mail. Each part but the tie to the parent exists
// from its first use, because most actors use few of them.
//
// A part is a class of its own, which keeps one invariant, has no clock and sends nothing. Its test needs no actor
// (actor_core.h lists them). Owner's turn only; another thread that holds the idle actor, or holds this actor's thread
// in user code, may call the const functions.
//
// Invariants between the fields:
//  1. While the ParentTie has the link to the parent, the LinkTable does not have it; links() moves it there.
//  2. made_ is null until the first use of a part, and never again. So an actor whose parts are empty() has no event,
//  no
//     handler that awaits, no postponed message, no scoped close, and nothing that falls due.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_PARTS_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_PARTS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/optimization.h"
#include "absl/types/optional.h"
#include "understudy/actors/internal/asks/ask_table.h"
#include "understudy/actors/internal/system/ledger_book.h"
#include "understudy/actors/internal/turn/activations.h"
#include "understudy/actors/internal/turn/actor_start.h"
#include "understudy/actors/internal/turn/actor_timers.h"
#include "understudy/actors/internal/turn/answer_right.h"
#include "understudy/actors/internal/turn/behavior_stack.h"
#include "understudy/actors/internal/turn/closed_mailboxes.h"
#include "understudy/actors/internal/turn/crash_notes.h"
#include "understudy/actors/internal/turn/due_times.h"
#include "understudy/actors/internal/turn/event_queue.h"
#include "understudy/actors/internal/turn/exits.h"
#include "understudy/actors/internal/turn/link_table.h"
#include "understudy/actors/internal/turn/parent_tie.h"
#include "understudy/actors/internal/turn/postponed_mail.h"
#include "understudy/actors/internal/turn/watches.h"
#include "understudy/actors/random.h"

namespace understudy::internal {

class ActorParts {
 public:
  explicit ActorParts(const ParentTie& parent) : parent_(parent) {}

  ParentTie& parent_tie() { return parent_; }
  const ParentTie& parent_tie() const { return parent_; }
  Pid parent() const { return parent_.parent(); }

  // True if no other part has been used.
  bool empty() const { return made_ == nullptr; }

  // Parts that come into being together, at the first use of any part.
  EventQueue& events() { return made().events; }
  Activations& activations() { return made().activations; }
  BehaviorStack& behaviors() { return made().behaviors; }
  PostponedMail& postponed() { return made().postponed; }
  ClosedMailboxes& closed() { return made().closed; }
  DueTimes& due() { return made().due; }
  HeldRights& rights() { return made().rights; }
  SpawnRecord& spawn() { return made().spawn; }
  LinkTable& links();
  // Values, each of one source. The generator: null until the actor asks for it.
  absl::optional<Random>& random() { return made().random; }
  // The counts of every disposition except handled; null until the first.
  LedgerBook::Page*& ledger() { return made().ledger; }
  // Messages that arrived after the signal that ends the actor.
  std::vector<Envelope*>& unsorted() { return made().unsorted; }
  // Until the actor has started: the mailboxes that no clause names, though one has to. Bit i is mailbox i.
  uint64_t& unhandled_mailboxes() { return made().unhandled_mailboxes; }

  // Parts that are made one by one.
  AskTable& asks() { return ABSL_PREDICT_TRUE(known_asks() != nullptr) ? *known_asks() : Make(&Made::asks); }
  ActorTimers& timers() { return known_timers() != nullptr ? *known_timers() : Make(&Made::timers); }
  Exits& exits() { return known_exits() != nullptr ? *known_exits() : Make(&Made::exits); }
  Watches& watches() { return known_watches() != nullptr ? *known_watches() : Make(&Made::watches); }
  CrashNotes& crash_notes() { return known_crash_notes() != nullptr ? *known_crash_notes() : Make(&Made::crash_notes); }

  // The parts that exist: these functions make none, and return null where the part has not been used.
  AskTable* known_asks() const { return made_ == nullptr ? nullptr : made_->asks.get(); }
  ActorTimers* known_timers() const { return made_ == nullptr ? nullptr : made_->timers.get(); }
  Exits* known_exits() const { return made_ == nullptr ? nullptr : made_->exits.get(); }
  Watches* known_watches() const { return made_ == nullptr ? nullptr : made_->watches.get(); }
  CrashNotes* known_crash_notes() const { return made_ == nullptr ? nullptr : made_->crash_notes.get(); }
  const Activations* known_activations() const { return made_ == nullptr ? nullptr : &made_->activations; }
  // Without the link to the parent while parent_tie().is_linked().
  const LinkTable* known_links() const { return made_ == nullptr ? nullptr : &made_->links; }
  // These two return a shared part with the defaults instead of null.
  const Exits& exits_or_default() const;
  const SpawnRecord& spawn_or_default() const;
  // Bit i: a scoped close keeps mailbox i closed.
  uint64_t closed_mask() const { return ABSL_PREDICT_TRUE(made_ == nullptr) ? 0 : made_->closed.mask(); }

  // Removes and returns the timers. Null if there are none.
  std::unique_ptr<ActorTimers> TakeTimers() { return empty() ? nullptr : std::move(made_->timers); }

 private:
  struct Made {
    SpawnRecord spawn;

    std::unique_ptr<Exits> exits;
    std::unique_ptr<CrashNotes> crash_notes;
    absl::optional<Random> random;

    LedgerBook::Page* ledger = nullptr;
    PostponedMail postponed;
    std::vector<Envelope*> unsorted;
    EventQueue events;
    Activations activations;
    BehaviorStack behaviors;

    ClosedMailboxes closed;

    LinkTable links;
    std::unique_ptr<Watches> watches;
    uint64_t unhandled_mailboxes = 0;

    std::unique_ptr<ActorTimers> timers;
    DueTimes due;

    std::unique_ptr<AskTable> asks;
    HeldRights rights;
  };

  Made& made() { return ABSL_PREDICT_TRUE(made_ != nullptr) ? *made_ : MakeAll(); }
  Made& MakeAll();
  template <class Part>
  Part& Make(std::unique_ptr<Part> Made::* part);

  std::unique_ptr<Made> made_;
  ParentTie parent_;  // last, so that an ActorCore's small fields can follow it without padding
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_PARTS_H_
