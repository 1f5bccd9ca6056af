#include "understudy/actors/inspection.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "understudy/actors/internal/send/actor_cell.h"
#include "understudy/actors/internal/send/mailbox_layout.h"
#include "understudy/actors/internal/system/system_core.h"
#include "understudy/actors/internal/turn/actor_core.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/registry.h"

namespace understudy {
namespace {

using internal::ActorCell;
using internal::ActorCore;
using internal::MailboxDeclaration;
using internal::MailboxLayout;

using Names = std::map<Pid, std::vector<std::string>>;

enum class Mailboxes { kLeaveOut, kShow };

// Reads the actors of one system, with the workers and names as they were when this object was made.
class Reader {
 public:
  explicit Reader(ActorSystem& system) : system_(system), workers_(system.executor().Workers()) {
    for (NameRecord& record : system.registry().List("")) {
      if (record.pid.node() == system.node()) names_[record.pid].push_back(std::move(record.name));
    }
  }

  // Returns nullopt if the cell's actor has ended or `query` leaves it out.
  absl::optional<ActorInfo> Read(ActorCell& cell, uint64_t life, const ActorQuery& query, Mailboxes mailboxes) const;

 private:
  void ReadMailboxes(const ActorCell& cell, uint64_t life, ActorInfo& info) const;
  // Reads what belongs to the actor's owner, and its state.
  void ReadOwner(ActorCell& cell, uint64_t life, ActorInfo& info) const;

  ActorSystem& system_;
  const std::vector<WorkerInfo> workers_;
  Names names_;
};

bool Matches(const ActorInfo& info, const ActorQuery& query) {
  if (query.state.has_value() && info.state != *query.state) return false;
  if (query.text.empty()) return true;
  const auto has = [&](absl::string_view text) { return absl::StrContains(text, query.text); };
  return has(info.pid.ToString()) || has(info.class_name) || has(info.label) ||
         std::any_of(info.names.begin(), info.names.end(), has);
}

bool HasMailbox(const ActorCell& cell, absl::string_view wire_name) {
  bool has = false;
  cell.ForEachMailbox([&](const MailboxLayout& layout, size_t place, const ActorCell::Counts&) {
    has = has || layout[place].wire_name == wire_name;
  });
  return has;
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

absl::optional<ActorInfo> Reader::Read(ActorCell& cell, uint64_t life, const ActorQuery& query,
                                       Mailboxes mailboxes) const {
  ActorInfo info;
  info.pid = Pid::OfLife(life, cell.index());
  info.waiting = Waiting(system_.core(), cell, life);
  if (info.waiting < query.waiting_min) return absl::nullopt;
  if (!query.mailbox.empty() && !HasMailbox(cell, query.mailbox)) return absl::nullopt;
  if (const auto names = names_.find(info.pid); names != names_.end()) info.names = names->second;
  if (mailboxes == Mailboxes::kShow) ReadMailboxes(cell, life, info);
  ReadOwner(cell, life, info);
  if (!cell.IsAlive(life) || !Matches(info, query)) return absl::nullopt;
  return info;
}

void Reader::ReadMailboxes(const ActorCell& cell, uint64_t life, ActorInfo& info) const {
  internal::SystemCore& core = system_.core();
  const std::vector<MessageLedger> ledgers = core.ledgers().OfActor(cell, life, core.remote_room());
  const uint64_t open = cell.open_mailboxes();
  cell.ForEachMailbox([&](const MailboxLayout& layout, size_t place, const ActorCell::Counts&) {
    const MailboxDeclaration& declaration = layout[place];
    MailboxInfo& mailbox = info.mailboxes.emplace_back();
    mailbox.name = std::string(declaration.wire_name);
    mailbox.request = declaration.request->name();
    if (declaration.is_call())
      mailbox.reply = absl::StrCat(declaration.is_stream ? "stream " : "", declaration.reply->name());
    mailbox.capacity_messages = declaration.options.capacity_messages;
    if (declaration.has_bytes()) {
      mailbox.capacity_bytes = static_cast<int64_t>(declaration.capacity_bytes);
      mailbox.bytes =
          std::max<int64_t>(0, cell.BytesHeld(layout, place) + core.remote_room().Excess(cell, life, place).bytes);
    }
    mailbox.closed_by = (open >> place & 1U) != 0 ? ClosedBy::kNothing : ClosedBy::kUnknown;
    if (place < ledgers.size()) mailbox.messages = ledgers[place];
  });
}

void Reader::ReadOwner(ActorCell& cell, uint64_t life, ActorInfo& info) const {
  auto* const core = static_cast<ActorCore*>(cell.owner());
  if (cell.WhileIdle(system_.core(), life, [&] { core->Inspect(info); })) {
    info.state = info.awaiting.empty() ? ActorState::kIdle : ActorState::kAwaiting;
    return;
  }
  info.state = ActorState::kQueued;
  // The condition reads the actor and is false, so that the turn is not fenced.
  (void)system_.executor().WhileInUserCode(
      core,
      [&] {
        if (!cell.IsAlive(life)) return false;
        core->Inspect(info);
        info.state = ActorState::kRunning;
        info.doing = std::string(core->occupation().HandlerName());
        return false;
      },
      [] {});
  if (info.state != ActorState::kRunning) return;
  for (const WorkerInfo& worker : workers_) {
    if (worker.turn == core) info.doing_for = worker.running;
  }
  if (info.doing_for >= limits::kNameHandlerAfter) info.state = ActorState::kStuck;
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
  for (uint64_t index = query.after;; ++index) {
    ActorCell* const cell = index < UINT32_MAX ? cells.Find(static_cast<uint32_t>(index)) : nullptr;
    if (cell == nullptr) break;
    if (index == end || page.actors.size() == at_most) {
      page.next = index;
      break;
    }
    const uint64_t life = cell->life();
    if (life == 0) continue;
    absl::optional<ActorInfo> info = reader.Read(*cell, life, query, Mailboxes::kLeaveOut);
    if (info.has_value()) page.actors.push_back(*std::move(info));
  }
  return page;
}

std::vector<MailboxLedger> MailboxTotals(ActorSystem& system) {
  internal::SystemCore& core = system.core();
  // Layouts are never destroyed, and several may have the same mailbox.
  std::map<const MailboxDeclaration*, MessageLedger> by_declaration;
  core.ledgers().ForEach(core.cells(), core.remote_room(),
                         [&](Pid, const MailboxDeclaration* mailbox, const MessageLedger& messages) {
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

absl::optional<ActorInfo> InspectActor(ActorSystem& system, Pid actor) {
  ActorCell* const cell = system.core().CellOf(actor);
  if (cell == nullptr || !cell->IsAlive(actor.life())) return absl::nullopt;
  return Reader(system).Read(*cell, actor.life(), {}, Mailboxes::kShow);
}

}  // namespace understudy
