// CurrentTurn: the state of the turn that runs on a thread. This thread only.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_CURRENT_TURN_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_CURRENT_TURN_H_

#include <cstdint>

#include "understudy/actors/internal/memory/destruction_queue.h"
#include "understudy/actors/internal/send/actor_cell.h"
#include "understudy/actors/internal/send/mailbox_layout.h"
#include "understudy/actors/node_table.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/router.h"

namespace understudy::internal {

class ActorCore;
class SystemCore;
struct CancelBatch;  // actor_queues.cc

// Messages of one node that have left one mailbox, all with the same admission.
struct LeftRemote {
  uint32_t messages = 0;
  NodePlace node;     // of the senders
  uint8_t place = 0;  // of the mailbox
  Admission admission = Admission::kAllowance;
  int64_t bytes = 0;
};

// The state of the turn that runs on a thread.
struct CurrentTurn {
  ActorCore* actor() const;  // inline in actor_core.h

  SystemCore* system = nullptr;
  ActorCell* cell = nullptr;  // null if `system` is null
  // The actor's pid and, once they are known, its mailboxes. Copies: in the cell these words lie where senders write.
  Pid self;
  Gate* gates = nullptr;
  const MailboxLayout* layout = nullptr;
  // The actor's mailboxes (bit i is mailbox i) with new room that is not published to senders yet.
  uint64_t unpublished = 0;
  // Messages that left, of which the router was not told yet. Their mailbox is in `unpublished` too.
  LeftRemote left_remote;
  CancelBatch* cancels = nullptr;  // owned; null unless CancelCall was called, and CancelCalls was not
  // Values that kernel code of the turn passed to DestroyLater.
  DestructionQueue remains;
};
// The value of ThisTurn() outside turns. Never written.
inline constinit CurrentTurn no_turn;
// An access is one load without a call, as for this_worker in worker.h.
inline constinit thread_local CurrentTurn* this_turn __attribute__((tls_model("initial-exec"))) = &no_turn;
// The turn that runs on this thread. Outside turns its pointers are null and its pid is null.
inline CurrentTurn& ThisTurn() { return *this_turn; }

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_CURRENT_TURN_H_
