#include "understudy/actors/internal/system/mailbox_watch.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "understudy/actors/internal/send/actor_cell.h"
#include "understudy/actors/internal/system/system_core.h"
#include "understudy/actors/limits.h"

namespace understudy {

struct MailboxWatch::State {
  State(internal::SystemCore& core, absl::Duration closed_limit) : system(core), limit(closed_limit) {}

  void Log(const ClosedMailbox& mailbox);
  std::vector<ClosedMailbox> Look() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  static void Arm(const std::shared_ptr<State>& self) ABSL_EXCLUSIVE_LOCKS_REQUIRED(self->mu);

  internal::SystemCore& system;
  const absl::Duration limit;
  absl::Mutex mu;
  bool is_stopped ABSL_GUARDED_BY(mu) = false;
  uint64_t timer ABSL_GUARDED_BY(mu) = 0;
  // Key: cell and mailbox.
  std::map<std::pair<uint32_t, size_t>, Seen> seen ABSL_GUARDED_BY(mu);
};

std::vector<ClosedMailbox> MailboxWatch::State::Look() {
  const MonotonicTime now = system.clock().Now();
  const std::map<std::pair<uint32_t, size_t>, Seen> last = std::exchange(seen, {});
  std::map<std::pair<uint32_t, size_t>, Seen> closed;
  std::vector<ClosedMailbox> found;
  std::vector<size_t> to_log;
  for (internal::ActorCell* cell : system.cells().Used()) {
    cell->ForEachClosed([&](uint64_t life, size_t mailbox, internal::ClosedMail mail) {
      mail.waiting += system.remote_room().Excess(*cell, life, mailbox).messages;
      if (mail.waiting <= 0) return;
      const std::pair<uint32_t, size_t> place(cell->index(), mailbox);
      Seen now_seen{.life = life, .left = mail.left, .since = now};
      const auto before = last.find(place);
      if (before != last.end() && before->second.life == life && before->second.left == mail.left) {
        now_seen = before->second;
      }
      found.push_back({.actor = Pid::OfLife(life, cell->index()),
                       .mailbox = std::string(mail.mailbox),
                       .waiting = mail.waiting,
                       .closed_for = now - now_seen.since});
      if (found.back().closed_for >= limit && !std::exchange(now_seen.is_logged, true))
        to_log.push_back(found.size() - 1);
      closed.emplace(place, now_seen);
    });
  }
  seen = std::move(closed);
  for (const size_t place : to_log) Log(found[place]);
  return found;
}

void MailboxWatch::State::Log(const ClosedMailbox& mailbox) {
  system.log().Write(
      LogSeverity::kWarning,
      absl::StrCat("mailbox ", mailbox.mailbox, " of ", mailbox.actor.ToString(), " has been closed for ",
                   absl::FormatDuration(mailbox.closed_for), " with ", mailbox.waiting,
                   " messages: its behavior neither takes nor drops them, or a scoped close, ",
                   "or a handler that awaits, holds it closed"));
}

void MailboxWatch::State::Arm(const std::shared_ptr<State>& self) {
  const absl::Duration pause = std::max(self->limit / 4, limits::kClosedMailPauseMin);
  self->timer = self->system.executor().RunAt(self->system.clock().Now() + pause, [self] {
    absl::MutexLock lock(&self->mu);
    if (self->is_stopped) return;
    (void)self->Look();
    Arm(self);
  });
}

MailboxWatch::MailboxWatch(internal::SystemCore& system, absl::Duration limit)
    : state_(std::make_shared<State>(system, limit)) {
  if (limit == absl::InfiniteDuration()) return;
  absl::MutexLock lock(&state_->mu);
  State::Arm(state_);
}

// Taking the lock waits for a look that is under way. A timer's callback that runs later finds is_stopped set.
MailboxWatch::~MailboxWatch() {
  absl::MutexLock lock(&state_->mu);
  state_->is_stopped = true;
  if (state_->timer != 0) state_->system.executor().Cancel(state_->timer);
}

std::vector<ClosedMailbox> MailboxWatch::Look() {
  absl::MutexLock lock(&state_->mu);
  return state_->Look();
}

}  // namespace understudy
