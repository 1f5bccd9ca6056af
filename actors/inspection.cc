#include "understudy/actors/inspection.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/internal/memory/block_pool_bytes.h"
#include "understudy/actors/internal/send/actor_cell.h"
#include "understudy/actors/internal/send/cell_arena.h"
#include "understudy/actors/internal/send/mailbox_layout.h"
#include "understudy/actors/internal/system/system_core.h"
#include "understudy/actors/internal/turn/actor_core.h"
#include "understudy/actors/internal/turn/actor_crash.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/registry.h"

namespace understudy {
namespace {

using internal::ActorCell;
using internal::ActorCore;
using internal::MailboxDeclaration;
using internal::MailboxLayout;

enum class Detail { kAges, kLine, kWhole };

// Reads the actors of one system, with the workers as they were when this object was made.
class Reader {
 public:
  explicit Reader(ActorSystem& system) : system_(system), workers_(system.executor().Workers()) {
    for (WorkerInfo& thread : system.executor().OwnThreads()) workers_.push_back(std::move(thread));
  }

  // Returns false if the counters of the cell's actor show that `query` leaves it out.
  bool MayMatch(ActorCell& cell, uint64_t life, const ActorQuery& query) const;
  // Returns nullopt if the cell's actor has ended or `query` leaves it out. `detail`: what InspectActor tells, or
  // ListActors.
  absl::optional<ActorInfo> Read(ActorCell& cell, uint64_t life, const ActorQuery& query, Detail detail) const;
  // How long the oldest message of the actor has waited.
  absl::Duration OldestAge(ActorCell& cell, uint64_t life, int64_t waiting) const;
  // How long the actor has been in one handler, if that is limits::kNameHandlerAfter or longer; else zero.
  absl::Duration StuckFor(ActorCell& cell) const;

 private:
  void ReadMailboxes(const ActorCell& cell, uint64_t life, ActorInfo& info) const;
  // Reads what belongs to the actor's owner, and its state.
  void ReadOwner(ActorCell& cell, uint64_t life, Detail detail, ActorInfo& info) const;

  ActorSystem& system_;
  std::vector<WorkerInfo> workers_;  // and actors' own threads; constant after construction
};

absl::Duration Reader::StuckFor(ActorCell& cell) const {
  const Runnable* const turn = cell.owner();
  for (const WorkerInfo& worker : workers_) {
    if (worker.turn == turn && worker.running >= limits::kNameHandlerAfter) return worker.running;
  }
  return absl::ZeroDuration();
}

absl::Duration Reader::OldestAge(ActorCell& cell, uint64_t life, int64_t waiting) const {
  ActorInfo info;
  info.waiting = waiting;
  ReadOwner(cell, life, Detail::kAges, info);
  return info.oldest_age;
}

bool Matches(const ActorInfo& info, const ActorQuery& query) {
  if (info.waiting < query.waiting_min) return false;
  if (query.state.has_value() && info.state != *query.state) return false;
  if (query.asking_only && info.asks.empty()) return false;
  if (query.text.empty()) return true;
  const auto has = [&](absl::string_view text) { return absl::StrContains(text, query.text); };
  return has(info.pid.ToString()) || has(info.class_name) || has(info.label) || has(info.behavior) ||
         (!info.parent.is_null() && has(info.parent.ToString())) ||
         std::any_of(info.names.begin(), info.names.end(), has);
}

int64_t Waiting(const internal::SystemCore& core, const ActorCell& cell, uint64_t life) {
  int64_t waiting = cell.early();
  cell.ForEachMailbox([&](const MailboxLayout&, size_t place, const ActorCell::Counts& counts) {
    // The counts have 32 bits and wrap around.
    waiting += static_cast<int32_t>(static_cast<uint32_t>(counts.accepted) - static_cast<uint32_t>(counts.left));
    waiting += core.remote_room().Excess(cell, life, place).messages;
  });
  return std::max<int64_t>(waiting, 0);
}

int64_t BytesIn(const internal::SystemCore& core, const ActorCell& cell, uint64_t life, const MailboxLayout& layout,
                size_t place) {
  if (!layout[place].has_bytes()) return 0;
  return std::max<int64_t>(0, cell.BytesHeld(layout, place) + core.remote_room().Excess(cell, life, place).bytes);
}

int64_t WaitingBytes(const internal::SystemCore& core, const ActorCell& cell, uint64_t life) {
  int64_t bytes = 0;
  cell.ForEachMailbox([&](const MailboxLayout& layout, size_t place, const ActorCell::Counts&) {
    bytes += BytesIn(core, cell, life, layout, place);
  });
  return bytes;
}

bool Reader::MayMatch(ActorCell& cell, uint64_t life, const ActorQuery& query) const {
  if (query.waiting_min > 0 && Waiting(system_.core(), cell, life) < query.waiting_min) return false;
  return query.state != ActorState::kStuck || StuckFor(cell) > absl::ZeroDuration();
}

absl::optional<ActorInfo> Reader::Read(ActorCell& cell, uint64_t life, const ActorQuery& query, Detail detail) const {
  ActorInfo info;
  info.pid = Pid::OfLife(life, cell.index());
  info.waiting = Waiting(system_.core(), cell, life);
  info.waiting_bytes = info.waiting == 0 ? 0 : WaitingBytes(system_.core(), cell, life);
  info.names = system_.registry().NamesOf(info.pid);
  if (detail == Detail::kWhole) ReadMailboxes(cell, life, info);
  ReadOwner(cell, life, detail, info);
  if (!cell.IsAlive(life) || !Matches(info, query)) return absl::nullopt;
  return info;
}

void Reader::ReadMailboxes(const ActorCell& cell, uint64_t life, ActorInfo& info) const {
  internal::SystemCore& core = system_.core();
  const std::vector<MessageLedger> ledgers = core.ledgers().OfActor(cell, life);
  const uint64_t open = cell.open_mailboxes();
  cell.ForEachMailbox([&](const MailboxLayout& layout, size_t place, const ActorCell::Counts&) {
    const MailboxDeclaration& declaration = layout[place];
    MailboxInfo& mailbox = info.mailboxes.emplace_back();
    mailbox.name = std::string(declaration.wire_name);
    mailbox.request = declaration.RequestText();
    mailbox.reply = declaration.ReplyText();
    mailbox.capacity_messages = declaration.options.capacity_messages;
    if (declaration.has_bytes()) {
      mailbox.capacity_bytes = static_cast<int64_t>(declaration.capacity_bytes);
      mailbox.bytes = BytesIn(core, cell, life, layout, place);
    }
    mailbox.closed_by = (open >> place & 1U) != 0 ? ClosedBy::kNothing : ClosedBy::kUnknown;
    if (place < ledgers.size()) mailbox.messages = ledgers[place];
  });
}

void Reader::ReadOwner(ActorCell& cell, uint64_t life, Detail detail, ActorInfo& info) const {
  auto* const core = static_cast<ActorCore*>(cell.owner());
  const MonotonicTime now = system_.clock().Now();
  const auto inspect = [&] {
    internal::InspectAges(*core, now, info);
    if (detail == Detail::kAges) return;
    internal::Inspect(*core, info);
    if (const internal::ActorTimers* const timers = core->parts().known_timers(); timers != nullptr) {
      info.timers = static_cast<int64_t>(timers->count());
      if (info.timers > 0) info.next_timer_in = std::max(timers->NextTimer() - now, absl::ZeroDuration());
      if (timers->is_suspended()) info.suspended_for = std::max(timers->suspension_end() - now, absl::ZeroDuration());
    }
    if (detail == Detail::kWhole) internal::InspectTies(*core, info);
  };
  if (cell.WhileIdle(system_.core(), life, inspect)) {
    info.state = info.awaiting.empty() ? ActorState::kIdle : ActorState::kAwaiting;
    return;
  }
  info.state = ActorState::kQueued;
  // The condition reads the actor and is false, so that the turn is not fenced.
  (void)system_.executor().WhileInUserCode(
      core,
      [&] {
        if (!cell.IsAlive(life)) return false;
        inspect();
        info.state = ActorState::kRunning;
        if (detail != Detail::kAges) info.doing = std::string(core->occupation().HandlerName());
        return false;
      },
      [] {});
  if (info.state != ActorState::kRunning) {
    if (detail != Detail::kAges) internal::InspectQueued(system_.core(), cell, life, now, info);
    return;
  }
  for (const WorkerInfo& worker : workers_) {
    if (worker.turn == core) info.doing_for = worker.running;
  }
  if (info.doing_for >= limits::kNameHandlerAfter) info.state = ActorState::kStuck;
  // Messages that wait unsorted are taken to have arrived since the present handler began.
  if (info.waiting > 0) info.oldest_age = std::max(info.oldest_age, info.doing_for);
  for (MailboxInfo& mailbox : info.mailboxes) {
    if (mailbox.messages.waiting > 0 && mailbox.oldest_age == absl::ZeroDuration()) mailbox.oldest_age = info.doing_for;
  }
}

}  // namespace

absl::string_view ActorStateName(ActorState state) {
  switch (state) {
    case ActorState::kIdle:
      return "idle";
    case ActorState::kAwaiting:
      return "awaiting";
    case ActorState::kQueued:
      return "queued";
    case ActorState::kRunning:
      return "running";
    case ActorState::kStuck:
      return "stuck";
  }
  return "?";
}

absl::string_view ClosedByName(ClosedBy closed_by) {
  switch (closed_by) {
    case ClosedBy::kNothing:
      return "open";
    case ClosedBy::kUnknown:
      return "closed";
    case ClosedBy::kStart:
      return "start";
    case ClosedBy::kBehavior:
      return "behavior";
    case ClosedBy::kGuard:
      return "guard";
    case ClosedBy::kScopedClose:
      return "scoped close";
    case ClosedBy::kSuspension:
      return "suspension";
    case ClosedBy::kHandler:
      return "handler";
  }
  return "?";
}

ActorPage ListActors(ActorSystem& system, const ActorQuery& query) {
  const Reader reader(system);
  const internal::CellArena& cells = system.core().cells();
  const size_t at_most = std::clamp(query.at_most, size_t{1}, limits::kActorsPerPageMax);
  ActorPage page;
  const uint64_t end = query.after + limits::kActorsPerLookMax;
  size_t read = 0;
  for (uint64_t index = query.after;; ++index) {
    ActorCell* const cell = index < UINT32_MAX ? cells.Find(static_cast<uint32_t>(index)) : nullptr;
    if (cell == nullptr) break;
    if (index == end || read == limits::kActorsReadPerLookMax || page.actors.size() == at_most) {
      page.next = index;
      break;
    }
    const uint64_t life = cell->life();
    if (life == 0 || !reader.MayMatch(*cell, life, query)) continue;
    ++read;
    absl::optional<ActorInfo> info = reader.Read(*cell, life, query, Detail::kLine);
    if (info.has_value()) page.actors.push_back(*std::move(info));
  }
  return page;
}

std::vector<MailboxLedger> MailboxTotals(ActorSystem& system) {
  internal::SystemCore& core = system.core();
  // Layouts are never destroyed, and several may have the same mailbox.
  std::map<const MailboxDeclaration*, MessageLedger> by_declaration;
  core.ledgers().ForEach([&](Pid, const MailboxDeclaration* mailbox, const MessageLedger& messages) {
    by_declaration[mailbox] += messages;
  });
  std::map<std::pair<std::string, std::string>, MessageLedger> by_name;
  for (const auto& [mailbox, messages] : by_declaration) {
    if (mailbox == nullptr) {
      by_name[{}] += messages;
    } else {
      by_name[{std::string(mailbox->wire_name), mailbox->request->name()}] += messages;
    }
  }
  std::vector<MailboxLedger> totals;
  for (const auto& [mailbox, messages] : by_name) {
    totals.push_back({.mailbox = mailbox.first, .type = mailbox.second, .messages = messages});
  }
  return totals;
}

class TopScan::Parts {
 public:
  Parts(ActorSystem& system, size_t count, TopBy by)
      : system_(system), by_(by), at_most_(std::clamp(count, size_t{1}, limits::kActorsPerPageMax)), reader_(system) {}

  bool Step(size_t places) {
    const internal::CellArena& cells = system_.core().cells();
    for (size_t i = 0; i < places; ++i) {
      ActorCell* const cell = cells.Find(next_);
      if (cell == nullptr) return true;
      ++next_;
      if (const uint64_t life = cell->life(); life != 0) Consider(*cell, life);
    }
    return false;
  }

  std::vector<ActorInfo> Take() {
    std::sort(top_.begin(), top_.end(), &IsAbove);
    std::vector<ActorInfo> actors;
    for (const Candidate& one : std::exchange(top_, {})) {
      absl::optional<ActorInfo> info = reader_.Read(*one.cell, one.life, {}, Detail::kLine);
      if (info.has_value()) actors.push_back(*std::move(info));
    }
    return actors;
  }

 private:
  struct Candidate {
    absl::Duration first_by;  // how long it is stuck, or the age of its oldest message
    int64_t bytes = 0;        // with kBytes
    int64_t waiting = 0;
    uint64_t life = 0;
    ActorCell* cell = nullptr;
  };
  static bool IsAbove(const Candidate& a, const Candidate& b) {
    return std::tie(a.first_by, a.bytes, a.waiting) > std::tie(b.first_by, b.bytes, b.waiting);
  }

  void Consider(ActorCell& cell, uint64_t life) {
    const int64_t waiting = Waiting(system_.core(), cell, life);
    if (by_ != TopBy::kWaiting && waiting == 0) return;
    Candidate found{.waiting = waiting, .life = life, .cell = &cell};
    if (by_ == TopBy::kAge) found.first_by = reader_.OldestAge(cell, life, waiting);
    if (by_ == TopBy::kWaiting) found.first_by = reader_.StuckFor(cell);
    if (by_ == TopBy::kBytes) found.bytes = WaitingBytes(system_.core(), cell, life);
    if (found.first_by == absl::ZeroDuration() && found.waiting == 0) return;
    if (by_ == TopBy::kBytes && found.bytes == 0) return;
    if (top_.size() == at_most_) {
      if (!IsAbove(found, top_.front())) return;
      std::pop_heap(top_.begin(), top_.end(), &IsAbove);
      top_.pop_back();
    }
    top_.push_back(found);
    std::push_heap(top_.begin(), top_.end(), &IsAbove);
  }

  ActorSystem& system_;
  const TopBy by_;
  const size_t at_most_;
  const Reader reader_;
  uint32_t next_ = 0;           // the index of the cell to look at next
  std::vector<Candidate> top_;  // a heap with the lowest one in front
};

TopScan::TopScan(ActorSystem& system, size_t count, TopBy by) : parts_(std::make_unique<Parts>(system, count, by)) {}

TopScan::~TopScan() = default;

bool TopScan::Step(size_t places) { return parts_->Step(places); }

std::vector<ActorInfo> TopScan::Take() { return parts_->Take(); }

std::vector<ActorInfo> TopActors(ActorSystem& system, size_t count, TopBy by) {
  TopScan scan(system, count, by);
  while (!scan.Step(limits::kActorsPerLookMax)) {
  }
  return scan.Take();
}

absl::Duration OldestMessageAge(ActorSystem& system) {
  const Reader reader(system);
  const internal::CellArena& cells = system.core().cells();
  absl::Duration oldest;
  for (uint32_t index = 0;; ++index) {
    ActorCell* const cell = cells.Find(index);
    if (cell == nullptr) break;
    const uint64_t life = cell->life();
    const int64_t waiting = life == 0 ? 0 : Waiting(system.core(), *cell, life);
    if (waiting > 0) oldest = std::max(oldest, reader.OldestAge(*cell, life, waiting));
  }
  return oldest;
}

KernelMemory ReadMemory(ActorSystem& system) {
  internal::SystemCore& core = system.core();
  const internal::BlockPoolBytes blocks = internal::ReadBlockPool();
  KernelMemory memory{.cells = static_cast<int64_t>(core.cells().bytes()),
                      .blocks = static_cast<int64_t>(blocks.taken),
                      .blocks_free = static_cast<int64_t>(blocks.free)};
  for (uint32_t index = 0;; ++index) {
    const ActorCell* const cell = core.cells().Find(index);
    if (cell == nullptr) break;
    const uint64_t life = cell->life();
    if (life != 0 && Waiting(core, *cell, life) > 0) memory.waiting += WaitingBytes(core, *cell, life);
  }
  return memory;
}

std::vector<HandlerTimes> HandlerTimesOf(ActorSystem& system) {
  std::map<std::pair<std::string, std::string>, TimeSketch> by_name;
  for (const auto& [kind, sketch] : system.core().handler_sketches().Sum()) {
    const bool is_other = kind.actor_class == nullptr;
    const auto* const mailbox = static_cast<const MailboxDeclaration*>(kind.mailbox);
    by_name[{is_other ? "(other)" : internal::DemangledName(kind.actor_class->name()),
             is_other             ? "(other)"
             : mailbox == nullptr ? "(event)"
                                  : std::string(mailbox->wire_name)}] += sketch;
  }
  std::vector<HandlerTimes> times;
  for (auto& [name, sketch] : by_name) times.push_back({name.first, name.second, sketch});
  std::sort(times.begin(), times.end(), [](const HandlerTimes& a, const HandlerTimes& b) {
    if (a.times.sum != b.times.sum) return a.times.sum > b.times.sum;
    return std::tie(a.class_name, a.mailbox) < std::tie(b.class_name, b.mailbox);
  });
  return times;
}

absl::optional<ActorInfo> InspectActor(ActorSystem& system, Pid actor) {
  if (!HasActor(system, actor)) return absl::nullopt;
  return Reader(system).Read(*system.core().CellOf(actor), actor.life(), {}, Detail::kWhole);
}

bool HasActor(ActorSystem& system, Pid actor) {
  const ActorCell* const cell = system.core().CellOf(actor);
  return cell != nullptr && cell->IsAlive(actor.life());
}

}  // namespace understudy
