// LedgerBook: one system's ledgers of messages, mailbox by mailbox.
//
// What a mailbox has accepted, let out and handled is counted in its cell, by
// those who do it. Here is the rest: the rare dispositions of actors that live, on a
// page that an actor gets at its first, and what those that have ended have
// counted, together for each layout of mailboxes.
//
// Any thread, but a page's counts, which only the turn of its actor writes.
// Exact whenever no turn runs.
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
#include "understudy/actors/internal/send/mailbox_layout.h"
#include "understudy/actors/ledger.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/pid.h"

namespace understudy::internal {

class RemoteRoom;

class LedgerBook {
 public:
  // Of one mailbox. Of a living actor's, without what its cell counts.
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

  LedgerBook() = default;
  ~LedgerBook();
  LedgerBook(const LedgerBook&) = delete;
  LedgerBook& operator=(const LedgerBook&) = delete;

  Page* OpenPage(Pid actor, size_t mailboxes);
  // The life that `cell` has is over, and no message of it waits: its counts, and
  // its page if it has one, go to those of ended actors.
  void EndLife(const ActorCell& cell, Page* page);
  // What actors with that layout that have ended counted for that mailbox.
  Counts& OfEnded(const MailboxLayout& layout, size_t place);
  // A dead letter that no mailbox counts as accepted: it was early, or its actor
  // ended while it came.
  void CountUnsorted() { unsorted_.fetch_add(1, std::memory_order_relaxed); }

  // Adds to the rare dispositions what a cell counts, in 32 bits: `accepted` is the
  // number next to the sum of the others that has those bits, so that they
  // balance where they did before a count began again at 0.
  static void AddCounted(const ActorCell::Counts& counted, MessageLedger& messages);

  // Calls `look` for each mailbox of a living actor, one after another, then for
  // those of ended actors: only for those that have accepted something.
  using Look = absl::FunctionRef<void(Pid actor, const MailboxDeclaration* mailbox, const MessageLedger& messages)>;
  void ForEach(const CellArena& cells, const RemoteRoom& remote, Look look) const;

 private:
  // Of a layout's mailboxes, by the layout's id.
  using Ended = std::atomic<Counts*>;
  static constexpr size_t kChunkLayouts = 256;
  static constexpr size_t kChunksMax = limits::kMailboxLayoutsMax / kChunkLayouts + 1;
  struct Chunk {
    std::array<std::atomic<const MailboxLayout*>, kChunkLayouts> layouts{};
    std::array<Ended, kChunkLayouts> counts{};
  };

  Counts* MakeEnded(const MailboxLayout& layout);
  std::vector<std::pair<Pid, std::vector<MessageLedger>>> Pages() const;

  std::array<std::atomic<Chunk*>, kChunksMax> chunks_{};
  std::atomic<int64_t> unsorted_{0};
  mutable absl::Mutex mu_;
  std::vector<std::unique_ptr<Page>> pages_ ABSL_GUARDED_BY(mu_);
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_LEDGER_BOOK_H_
