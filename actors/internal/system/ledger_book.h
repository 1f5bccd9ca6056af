// LedgerBook: one system's ledgers of messages, mailbox by mailbox.
//
// Senders and owner count accepted, left and handled messages in the actor's cell.
// The book has the other counts: the rare dispositions of living actors, on a page
// that an actor gets when it needs one first, and the totals of ended actors, by
// layout of mailboxes.
//
// Any thread, except that only the turn of its actor writes a page's counts. The
// ledgers are exact while no turn runs and no thread sends.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_LEDGER_BOOK_H_
#define UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_LEDGER_BOOK_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "understudy/actors/internal/send/actor_cell.h"
#include "understudy/actors/internal/send/cell_arena.h"
#include "understudy/actors/internal/send/mailbox_layout.h"
#include "understudy/actors/ledger.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/pid.h"

namespace understudy::internal {

class RemoteRoom;

class LedgerBook {
 public:
  // The counts of one mailbox. For a living actor they do not include those in its cell.
  struct Counts {
    std::array<std::atomic<int64_t>, kDispositionCount> dispositions{};
    // Messages that have left the mailbox and have no disposition yet: their handlers
    // await, or they are in unhandled mail.
    std::atomic<int64_t> in_hand{0};
    std::atomic<int64_t> accepted{0};

    std::atomic<int64_t>& of(Disposition disposition) { return dispositions[static_cast<size_t>(disposition)]; }
  };
  // The rare dispositions of one living actor.
  class Page {
   public:
    Counts& operator[](size_t place) { return counts_[place]; }

   private:
    friend class LedgerBook;
    Page(Pid actor, size_t mailboxes) : actor_(actor), counts_(mailboxes) {}

    const Pid actor_;
    std::vector<Counts> counts_;
    size_t place_ = 0;  // in pages_
  };

  LedgerBook(const CellArena& cells, const RemoteRoom& remote) : cells_(cells), remote_(remote) {}
  ~LedgerBook();
  LedgerBook(const LedgerBook&) = delete;
  LedgerBook& operator=(const LedgerBook&) = delete;

  // Makes a page for an actor with that number of mailboxes. EndLife deletes it.
  Page* OpenPage(Pid actor, size_t mailboxes);
  // Adds the counts of the cell's present life, and of its page, which may be null, to the
  // totals of ended actors. Requires that the life has ended and no message waits.
  void EndLife(const ActorCell& cell, Page* page);
  // The counts of ended actors with that layout for that mailbox.
  Counts& OfEnded(const MailboxLayout& layout, size_t place);
  // Counts a dead letter that no mailbox counted as accepted, because it was early or
  // its actor ended while it was sent.
  void CountUnsorted() { unsorted_.fetch_add(1, std::memory_order_relaxed); }

  // Adds a cell's counts to `messages`, which has the rare dispositions. The cell's
  // counts have 32 bits and wrap: `accepted` becomes the number with these low bits
  // that is nearest to the sum of the others, so the ledger balances in spite of that.
  static void AddCounted(const ActorCell::Counts& counted, MessageLedger& messages);

  // Calls `look` for each mailbox of living actors, then, with a null pid, with the
  // total of all ended actors for each mailbox of a layout. Leaves out mailboxes that
  // have accepted nothing. `mailbox` is null for messages that were not sorted into a
  // mailbox: a living actor's early mail, and the dead letters of CountUnsorted.
  using Look = absl::FunctionRef<void(Pid actor, const MailboxDeclaration* mailbox, const MessageLedger& messages)>;
  void ForEach(Look look) const;
  // Returns the sum of all ledgers. It has no refused messages, because these are not counted by mailbox.
  MessageLedger Sum() const;
  // Returns the ledger of each mailbox of each living actor, then one for each mailbox that ended actors had, by name
  // and type.
  std::vector<MailboxLedger> ByMailbox() const;
  // Returns the ledgers of the mailboxes of that living actor.
  std::vector<MailboxLedger> ByMailbox(Pid actor) const;
  // The ledgers of that life of `cell`, by mailbox; empty if its mailboxes are not known yet, or it has ended.
  std::vector<MessageLedger> OfActor(const ActorCell& cell, uint64_t life) const;

 private:
  // An array with the counts of each mailbox of one layout.
  using Ended = std::atomic<Counts*>;
  static constexpr size_t kChunkLayouts = 256;
  static constexpr size_t kChunksMax = limits::kMailboxLayoutsMax / kChunkLayouts + 1;
  struct Chunk {
    std::array<std::atomic<const MailboxLayout*>, kChunkLayouts> layouts{};
    std::array<Ended, kChunkLayouts> counts{};
  };

  Counts* MakeEnded(const MailboxLayout& layout);
  std::vector<std::pair<Pid, std::vector<MessageLedger>>> Pages() const;

  const CellArena& cells_;
  const RemoteRoom& remote_;
  std::array<std::atomic<Chunk*>, kChunksMax> chunks_{};
  std::atomic<int64_t> unsorted_{0};
  mutable absl::Mutex mu_;
  std::vector<std::unique_ptr<Page>> pages_ ABSL_GUARDED_BY(mu_);
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_LEDGER_BOOK_H_
