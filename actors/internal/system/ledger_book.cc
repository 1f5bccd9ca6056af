#include "understudy/actors/internal/system/ledger_book.h"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "understudy/actors/internal/send/remote_room.h"

namespace understudy::internal {
namespace {

MessageLedger Read(const LedgerBook::Counts& counts) {
  MessageLedger ledger;
  for (size_t i = 0; i < ledger.dispositions.size(); ++i)
    ledger.dispositions[i] = counts.dispositions[i].load(std::memory_order_relaxed);
  ledger.accepted = counts.accepted.load(std::memory_order_relaxed);
  ledger.waiting = counts.in_hand.load(std::memory_order_relaxed);
  return ledger;
}

// Empty for messages that were not sorted into a mailbox, as TypeOfMessages.
std::string NameOf(const MailboxDeclaration* mailbox) {
  return mailbox == nullptr ? "" : std::string(mailbox->wire_name);
}

std::string TypeOfMessages(const MailboxDeclaration* mailbox) {
  return mailbox == nullptr ? "" : mailbox->request->name();
}

}  // namespace

void LedgerBook::AddCounted(const ActorCell::Counts& counted, MessageLedger& messages) {
  const auto low = [](int64_t n) { return static_cast<uint32_t>(n); };
  messages.dispositions[static_cast<size_t>(Disposition::kHandled)] = counted.handled;
  messages.waiting += static_cast<int32_t>(low(counted.accepted) - low(counted.left));
  const int64_t known = std::accumulate(messages.dispositions.begin(), messages.dispositions.end(), messages.waiting);
  messages.accepted = known + static_cast<int32_t>(low(counted.accepted) - low(known));
}

LedgerBook::~LedgerBook() {
  for (const std::atomic<Chunk*>& known : chunks_) {
    Chunk* const chunk = known.load(std::memory_order_relaxed);
    if (chunk == nullptr) continue;
    for (const Ended& ended : chunk->counts) delete[] ended.load(std::memory_order_relaxed);
    delete chunk;
  }
}

LedgerBook::Page* LedgerBook::OpenPage(Pid actor, size_t mailboxes) {
  std::unique_ptr<Page> page(new Page(actor, mailboxes));
  absl::MutexLock lock(&mu_);
  page->place_ = pages_.size();
  pages_.push_back(std::move(page));
  return pages_.back().get();
}

void LedgerBook::EndLife(const ActorCell& cell, Page* page) {
  cell.ForEachMailbox([&](const MailboxLayout& layout, size_t place, const ActorCell::Counts& counted) {
    if (counted.left == 0) return;
    Counts& ended = OfEnded(layout, place);
    MessageLedger messages;
    if (page != nullptr) messages = Read((*page)[place]);
    // All accepted messages have left. Anything more in the gates was counted by senders that are about to take it
    // back.
    AddCounted({.accepted = counted.left, .left = counted.left, .handled = counted.handled}, messages);
    ended.accepted.fetch_add(messages.accepted, std::memory_order_relaxed);
    for (size_t i = 0; i < messages.dispositions.size(); ++i) {
      if (messages.dispositions[i] != 0)
        ended.dispositions[i].fetch_add(messages.dispositions[i], std::memory_order_relaxed);
    }
  });
  if (page == nullptr) return;
  absl::MutexLock lock(&mu_);
  pages_.back()->place_ = page->place_;
  std::swap(pages_[page->place_], pages_.back());
  pages_.pop_back();
}

LedgerBook::Counts& LedgerBook::OfEnded(const MailboxLayout& layout, size_t place) {
  // acquire: pairs with MakeEnded's release store of the chunk.
  Chunk* const chunk = chunks_[layout.id() / kChunkLayouts].load(std::memory_order_acquire);
  Counts* counts = nullptr;
  // acquire: pairs with MakeEnded's release store of the counts.
  if (chunk != nullptr) counts = chunk->counts[layout.id() % kChunkLayouts].load(std::memory_order_acquire);
  if (counts == nullptr) counts = MakeEnded(layout);
  return counts[place];
}

LedgerBook::Counts* LedgerBook::MakeEnded(const MailboxLayout& layout) {
  absl::MutexLock lock(&mu_);
  std::atomic<Chunk*>& chunk = chunks_[layout.id() / kChunkLayouts];
  // release: pairs with the acquire of OfEnded and ForEach.
  if (chunk.load(std::memory_order_relaxed) == nullptr) chunk.store(new Chunk, std::memory_order_release);
  Chunk& made = *chunk.load(std::memory_order_relaxed);
  Ended& ended = made.counts[layout.id() % kChunkLayouts];
  if (ended.load(std::memory_order_relaxed) == nullptr) {
    made.layouts[layout.id() % kChunkLayouts].store(&layout, std::memory_order_relaxed);
    // release: pairs with the acquire of OfEnded and ForEach, for the layout too.
    ended.store(new Counts[layout.size()], std::memory_order_release);
  }
  return ended.load(std::memory_order_relaxed);
}

std::vector<std::pair<Pid, std::vector<MessageLedger>>> LedgerBook::Pages() const {
  std::vector<std::pair<Pid, std::vector<MessageLedger>>> pages;
  absl::MutexLock lock(&mu_);
  for (const std::unique_ptr<Page>& page : pages_) {
    std::vector<MessageLedger>& read = pages.emplace_back(page->actor_, std::vector<MessageLedger>()).second;
    for (const Counts& counts : page->counts_) read.push_back(Read(counts));
  }
  return pages;
}

std::vector<MessageLedger> LedgerBook::OfActor(const ActorCell& cell, uint64_t life) const {
  std::vector<MessageLedger> ledgers;
  {
    absl::MutexLock lock(&mu_);
    const auto page = std::find_if(pages_.begin(), pages_.end(),
                                   [&](const std::unique_ptr<Page>& open) { return open->actor_.life() == life; });
    if (page != pages_.end()) {
      for (const Counts& counts : (*page)->counts_) ledgers.push_back(Read(counts));
    }
  }
  cell.ForEachMailbox([&](const MailboxLayout& layout, size_t place, ActorCell::Counts counted) {
    ledgers.resize(layout.size());
    counted.accepted += remote_.Excess(cell, life, place).messages;
    AddCounted(counted, ledgers[place]);
  });
  if (!cell.IsAlive(life)) ledgers.clear();
  return ledgers;
}

void LedgerBook::ForEach(Look look) const {
  auto pages = Pages();
  std::sort(pages.begin(), pages.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const ActorCell* cell : cells_.Used()) {
    const Pid actor = Pid::OfLife(cell->life(), cell->index());
    const auto found =
        std::lower_bound(pages.begin(), pages.end(), actor, [](const auto& page, Pid pid) { return page.first < pid; });
    const bool has_page = found != pages.end() && found->first == actor;
    cell->ForEachMailbox([&](const MailboxLayout& layout, size_t place, ActorCell::Counts counted) {
      MessageLedger messages;
      counted.accepted += remote_.Excess(*cell, actor.life(), place).messages;
      if (has_page && place < found->second.size()) messages = found->second[place];
      AddCounted(counted, messages);
      if (messages.accepted != 0) look(actor, &layout[place], messages);
    });
    if (const int64_t early = cell->early(); early != 0) look(actor, nullptr, {.accepted = early, .waiting = early});
  }
  for (const std::atomic<Chunk*>& known : chunks_) {
    // acquire: pairs with MakeEnded's release.
    const Chunk* chunk = known.load(std::memory_order_acquire);
    for (size_t i = 0; chunk != nullptr && i < kChunkLayouts; ++i) {
      // acquire: pairs with MakeEnded's release.
      const Counts* counts = chunk->counts[i].load(std::memory_order_acquire);
      if (counts == nullptr) continue;
      const MailboxLayout& layout = *chunk->layouts[i].load(std::memory_order_relaxed);
      for (size_t place = 0; place < layout.size(); ++place) {
        if (const MessageLedger messages = Read(counts[place]); messages.accepted != 0) {
          look(Pid(), &layout[place], messages);
        }
      }
    }
  }
  const int64_t unsorted = unsorted_.load(std::memory_order_relaxed);
  if (unsorted == 0) return;
  MessageLedger messages;
  messages.accepted = unsorted;
  messages.dispositions[static_cast<size_t>(Disposition::kDeadLetter)] = unsorted;
  look(Pid(), nullptr, messages);
}

MessageLedger LedgerBook::Sum() const {
  MessageLedger sum;
  ForEach([&](Pid, const MailboxDeclaration*, const MessageLedger& messages) { sum += messages; });
  return sum;
}

std::vector<MailboxLedger> LedgerBook::ByMailbox() const {
  std::vector<MailboxLedger> ledgers;
  // Several layouts may have the same mailbox; their counts of ended actors are added up.
  std::map<std::pair<std::string, std::string>, MessageLedger> ended;
  ForEach([&](Pid actor, const MailboxDeclaration* mailbox, const MessageLedger& messages) {
    if (actor.is_null()) {
      ended[{NameOf(mailbox), TypeOfMessages(mailbox)}] += messages;
    } else {
      ledgers.push_back(
          {.actor = actor, .mailbox = NameOf(mailbox), .type = TypeOfMessages(mailbox), .messages = messages});
    }
  });
  for (const auto& [mailbox, messages] : ended) {
    ledgers.push_back({.mailbox = mailbox.first, .type = mailbox.second, .messages = messages});
  }
  return ledgers;
}

std::vector<MailboxLedger> LedgerBook::ByMailbox(Pid actor) const {
  std::vector<MailboxLedger> ledgers;
  ForEach([&](Pid owner, const MailboxDeclaration* mailbox, const MessageLedger& messages) {
    if (owner.is_null() || owner != actor) return;
    ledgers.push_back(
        {.actor = owner, .mailbox = NameOf(mailbox), .type = TypeOfMessages(mailbox), .messages = messages});
  });
  return ledgers;
}

}  // namespace understudy::internal
