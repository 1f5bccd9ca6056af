// The choice of what to handle next, and what becomes of it.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "understudy/actors/check.h"
#include "understudy/actors/error.h"
#include "understudy/actors/internal/actor_core.h"
#include "understudy/actors/internal/exceptions.h"

namespace understudy::internal {

absl::Status UnansweredError(Pid callee) {
  return MakeError(ErrorKind::kUnanswered, absl::StrCat("a Replier of ", callee.ToString(), " was destroyed unused"));
}

bool ActorCore::IsHeld() const {
  return std::any_of(activations_.begin(), activations_.end(), [&](const std::unique_ptr<Activation>& activation) {
    return !activation->is_interleaved && !(receive_ != nullptr && activation.get() == receiver_.activation);
  });
}

BehaviorTable* ActorCore::Effective() {
  if (receive_ != nullptr) return receive_.get();
  return stage_ == Stage::kStartingOpen || stage_ == Stage::kRunning ? behavior_.get() : nullptr;
}

// Bit i is set when clause i's guard holds.
uint64_t ActorCore::HoldingGuards(BehaviorTable& table) {
  uint64_t holding = 0;
  for (size_t i = 0; i < table.clauses.size(); ++i) {
    const ClauseEntry& clause = table.clauses[i];
    bool holds = clause.guard == nullptr;
    if (!holds) {
      absl::optional<ExitReason> thrown = CatchExceptions([&] { holds = clause.guard(*actor_); });
      if (thrown) SetExit(*std::move(thrown), /*is_kill=*/false);
    }
    if (holds) holding |= uint64_t{1} << i;
  }
  return exit_ ? 0 : holding;
}

// The first message of the mailbox that a clause takes, and that clause.
ActorCore::Choice ActorCore::ChooseIn(BehaviorTable& table, int mailbox, uint64_t guards) {
  MailboxState& state = mailboxes_[static_cast<size_t>(mailbox)];
  for (size_t position = 0; position < state.queue.size(); ++position) {
    const Waiting& waiting = state.queue[position];
    if (waiting.is_postponed) continue;
    bool is_selective = false;
    for (size_t i = 0; i < table.clauses.size(); ++i) {
      ClauseEntry& clause = table.clauses[i];
      if (clause.mailbox != mailbox || (guards >> i & 1U) == 0) continue;
      is_selective = true;
      bool takes = clause.predicate == nullptr;
      if (!takes) {
        absl::optional<ExitReason> thrown =
            CatchExceptions([&] { takes = clause.predicate(waiting.message.payload.value()); });
        if (thrown) {
          SetExit(*std::move(thrown), /*is_kill=*/false);
          return {};
        }
      }
      if (takes) return {.mailbox = mailbox, .position = position, .clause = &clause, .stamp = waiting.stamp};
    }
    if (!is_selective) return {};
  }
  return {};
}

std::vector<ActorCore::Choice> ActorCore::Candidates(BehaviorTable& table) {
  std::vector<Choice> candidates;
  const uint64_t guards = HoldingGuards(table);
  uint64_t seen = 0;
  for (const ClauseEntry& clause : table.clauses) {
    const uint64_t bit = uint64_t{1} << clause.mailbox;
    const MailboxState& state = mailboxes_[static_cast<size_t>(clause.mailbox)];
    if ((seen & bit) != 0 || state.leases > 0 || state.queue.empty()) continue;
    seen |= bit;
    const Choice choice = ChooseIn(table, clause.mailbox, guards);
    if (choice.clause != nullptr) candidates.push_back(choice);
  }
  return candidates;
}

// Ranks take turns from the top, each up to its quota while it has mail.
ActorCore::Choice ActorCore::ChooseByRank(const BehaviorTable& table, const std::vector<Choice>& candidates) {
  for (size_t tried = 0; tried <= table.ranks.size(); ++tried) {
    const int rank = table.ranks[rank_index_];
    Choice best;
    for (const Choice& candidate : candidates) {
      if (candidate.clause->rank == rank && candidate.stamp < best.stamp) best = candidate;
    }
    if (best.clause != nullptr && rank_used_ < best.clause->quota) {
      ++rank_used_;
      return best;
    }
    rank_index_ = (rank_index_ + 1) % table.ranks.size();
    rank_used_ = 0;
  }
  return {};
}

bool ActorCore::HasEligible() {
  BehaviorTable* table = Effective();
  if (table == nullptr || IsHeld()) return false;
  return !events_.empty() || !Candidates(*table).empty();
}

bool ActorCore::HandleOne() {
  BehaviorTable* table = Effective();
  if (table == nullptr || IsHeld()) return false;
  while (!events_.empty() && IsStale(events_.front())) events_.pop_front();
  const std::vector<Choice> candidates = Candidates(*table);
  if (exit_) return false;
  uint64_t earliest = UINT64_MAX;
  for (const Choice& candidate : candidates) earliest = std::min(earliest, candidate.stamp);
  if (!events_.empty() && events_.front().stamp < earliest) {
    HandleEvent();
    return true;
  }
  if (candidates.empty()) {
    rank_index_ = 0;
    rank_used_ = 0;
    return false;
  }
  HandleMessage(ChooseByRank(*table, candidates));
  return true;
}

bool ActorCore::IsExpired(int mailbox, const Waiting& waiting, absl::Status& why) {
  const MonotonicTime now = system_.clock().Now();
  if (waiting.message.deadline <= now) {
    why = MakeError(ErrorKind::kExpired, "the call's deadline passed while it waited in its mailbox");
    return true;
  }
  const MailboxDeclaration& declaration = mailboxes_[static_cast<size_t>(mailbox)].declaration;
  const absl::Duration ttl = declaration.options.time_to_live;
  if (ttl == absl::InfiniteDuration() || now - waiting.message.accepted < ttl) return false;
  why = MakeError(ErrorKind::kExpired, absl::StrCat("the message waited in mailbox ", declaration.wire_name,
                                                    " longer than its time to live of ", absl::FormatDuration(ttl)));
  return true;
}

// A sender found a mailbox of calls full: those that nobody waits for any more
// leave it, whether it is open or not.
void ActorCore::ExpireWaitingCalls() {
  const MonotonicTime now = system_.clock().Now();
  for (size_t i = 0; i < mailboxes_.size(); ++i) {
    const auto waiting_count = static_cast<int64_t>(mailboxes_[i].queue.size());
    if (mailboxes_[i].declaration.reply == nullptr ||
        waiting_count < mailboxes_[i].declaration.options.capacity_messages) {
      continue;
    }
    std::deque<Waiting> kept;
    for (Waiting& waiting : mailboxes_[i].queue) {
      if (waiting.message.deadline > now) {
        kept.push_back(std::move(waiting));
        continue;
      }
      Leave(static_cast<int>(i), waiting);
      Dispose(waiting.message, static_cast<int>(i), Fate::kExpired,
              MakeError(ErrorKind::kExpired, "the call's deadline passed while it waited in its mailbox"));
    }
    mailboxes_[i].queue.swap(kept);
  }
}

void ActorCore::HandleMessage(const Choice& choice) {
  MailboxState& state = mailboxes_[static_cast<size_t>(choice.mailbox)];
  Waiting waiting = std::move(state.queue[choice.position]);
  state.queue.erase(state.queue.begin() + static_cast<std::ptrdiff_t>(choice.position));
  Leave(choice.mailbox, waiting);
  absl::Status expired;
  if (IsExpired(choice.mailbox, waiting, expired)) {
    Dispose(waiting.message, choice.mailbox, Fate::kExpired, expired);
    return;
  }
  switch (choice.clause->kind) {
    case ClauseEntry::Kind::kRefuse:
      Dispose(waiting.message, choice.mailbox, Fate::kRejected, choice.clause->refusal);
      return;
    case ClauseEntry::Kind::kDrop:
      Dispose(waiting.message, choice.mailbox, Fate::kDropped, absl::OkStatus());
      return;
    case ClauseEntry::Kind::kHandle:
      break;
  }
  auto activation = std::make_unique<Activation>(*this, Activation::Source::kMessage);
  activation->message = std::move(waiting.message);
  activation->stamp = waiting.stamp;
  activation->mailbox = choice.mailbox;
  activation->is_interleaved = choice.clause->is_interleaved;
  activation->behavior = receive_ != nullptr ? receive_ : behavior_;
  activation->ends_receive = receive_ != nullptr;
  last_message_ = system_.clock().Now();
  MessageHandler& handler = *choice.clause->handler;
  // It has no fate yet: while its handler awaits, it waits in every ledger.
  waiting_.fetch_add(1, std::memory_order_relaxed);
  RunHandler(std::move(activation), handler);
}

bool ActorCore::IsStale(const Event& event) const { return event.epoch != 0 && event.epoch != epoch_; }

void ActorCore::HandleEvent() {
  Event event = std::move(events_.front());
  events_.pop_front();
  if (event.kind == Event::Kind::kTimer && event.id != 0) {
    const auto named = named_timers_.find(event.payload.As<TimerEvent>().name);
    if (named != named_timers_.end() && named->second == event.id) named_timers_.erase(named);
  }
  if (event.handler == nullptr) {
    SetExit(std::move(event.reason), /*is_kill=*/false);
    return;
  }
  auto activation = std::make_unique<Activation>(*this, Activation::Source::kEvent);
  activation->message.payload = std::move(event.payload);
  activation->handler = event.handler;
  activation->behavior = receive_ != nullptr ? receive_ : behavior_;
  // A timeout of a Receive ends it; other events come between.
  activation->ends_receive = receive_ != nullptr && event.epoch != 0;
  RunHandler(std::move(activation), *event.handler);
}

void ActorCore::Trace(absl::string_view what, const Activation& activation) {
  if (system_.tracer() == nullptr) return;
  absl::string_view mailbox = "event";
  if (activation.mailbox >= 0) mailbox = mailboxes_[static_cast<size_t>(activation.mailbox)].declaration.wire_name;
  system_.tracer()(
      absl::StrCat(self_.ToString(), " ", what, " ", mailbox, " of ",
                   activation.message.payload.type() == nullptr ? "start" : activation.message.payload.type()->name,
                   " from ", activation.message.from.ToString()));
}

void ActorCore::RunHandler(std::unique_ptr<Activation> activation, MessageHandler& handler) {
  Trace("handles", *activation);
  current_ = activation.get();
  absl::optional<ExitReason> thrown = CatchExceptions([&] { handler.Run(*actor_, *activation); });
  const bool has_thrown = thrown.has_value();
  if (has_thrown) {
    activation->has_failed = true;
    SetExit(*std::move(thrown), /*is_kill=*/false);
  }
  Activation& running = *activation;
  activations_.push_back(std::move(activation));
  if (running.root().handle() == nullptr || has_thrown) {
    running.is_complete = true;
  } else {
    running.root().handle().resume();
  }
  AfterStep(running);
}

void ActorCore::Resume(Resumable resumable) {
  Trace("resumes", *resumable.activation);
  current_ = resumable.activation;
  resumable.handle.resume();
  AfterStep(*resumable.activation);
}

// The handler has returned or awaits.
void ActorCore::AfterStep(Activation& activation) {
  current_ = nullptr;
  if (!activation.is_complete) {
    ApplyBecome();
    return;
  }
  if (activation.exception != nullptr) {
    activation.has_failed = true;
    SetExit(DescribeException(activation.exception), /*is_kill=*/false);
  }
  Finish(activation);
}

void ActorCore::Finish(Activation& activation) {
  const auto place = std::find_if(activations_.begin(), activations_.end(),
                                  [&](const std::unique_ptr<Activation>& held) { return held.get() == &activation; });
  UNDERSTUDY_CHECK(place != activations_.end(), "a handler ended twice");
  const std::unique_ptr<Activation> finished = std::move(*place);
  activations_.erase(place);
  // The frame first: a Replier that it forgot gives the right to answer back.
  current_ = finished.get();
  finished->root() = RootTask();
  current_ = nullptr;
  if (finished->source() == Activation::Source::kMessage) SettleMessage(*finished);
  ApplyBecome();
  SettleRound(*finished);
}

// What the message's fate is, and an answer where one is still owed.
void ActorCore::SettleMessage(Activation& activation) {
  if (activation.is_passed_on) return;
  waiting_.fetch_sub(1, std::memory_order_relaxed);
  if (activation.is_postponed && !activation.has_failed) {
    PutBack(activation);
    return;
  }
  const bool is_unanswered = activation.is_call() && !activation.answer_given();
  Fate fate = activation.status().ok() && !is_unanswered ? Fate::kHandled : Fate::kRejected;
  if (activation.has_failed) fate = Fate::kFailed;
  system_.Count(fate);
  if (!is_unanswered) return;
  if (activation.has_failed) {
    activation.AnswerFinally(CalleeExitedError(self_.ToString(), *exit_));
  } else {
    activation.AnswerFinally(activation.status().ok() ? UnansweredError(self_) : activation.status());
  }
}

bool ActorCore::TakeBackAnswer(Pid asker, uint64_t ask) {
  if (current_ == nullptr || current_->message.ask != ask || current_->message.from != asker) return false;
  current_->TakeBackAnswer();
  return true;
}

void ActorCore::PutBack(Activation& activation) {
  MailboxState& state = mailboxes_[static_cast<size_t>(activation.mailbox)];
  Waiting waiting;
  waiting.bytes = activation.message.payload.bytes();
  waiting.message = std::move(activation.message);
  waiting.stamp = activation.stamp;
  waiting.is_postponed = true;
  has_postponed_ = true;
  waiting.was_in_hand = true;
  waiting_.fetch_add(1, std::memory_order_relaxed);
  cell_->Released(activation.mailbox, -1, 0 - waiting.bytes);
  const auto place = std::find_if(state.queue.begin(), state.queue.end(),
                                  [&](const Waiting& other) { return other.stamp > waiting.stamp; });
  state.queue.insert(place, std::move(waiting));
}

// Becoming costs the same however much waits, when nothing was postponed.
void ActorCore::ReturnPostponed() {
  if (!std::exchange(has_postponed_, false)) return;
  for (MailboxState& mailbox : mailboxes_) {
    for (Waiting& waiting : mailbox.queue) waiting.is_postponed = false;
  }
}

// In the process style: what the Receive waited for has been handled.
void ActorCore::SettleRound(const Activation& activation) {
  if (!activation.ends_receive || receive_ == nullptr) return;
  receive_ = nullptr;
  RemoveBehaviorTimers();
  resumable_.push_back(std::exchange(receiver_, {}));
}

void ActorCore::BeginReceive(std::shared_ptr<BehaviorTable> table, std::coroutine_handle<> waiter) {
  UNDERSTUDY_CHECK(receive_ == nullptr, "a Receive is under way already");
  if (stage_ == Stage::kStarting) FinishStart();
  receive_ = std::move(table);
  receiver_ = {waiter, current_};
  ++epoch_;
  ReturnPostponed();
  AddBehaviorTimers(*receive_);
}

void ActorCore::Dispose(const Message& message, int mailbox, Fate fate, const absl::Status& why) {
  system_.Count(fate);
  if (message.ask != 0) {
    system_.Post({.kind = SignalKind::kReply, .from = self_, .to = message.from, .id = message.ask, .status = why});
  }
  if (fate == Fate::kDeadLetter) {
    system_.OnDeadLetter({.why = why,
                          .from = message.from,
                          .to = self_,
                          .mailbox = mailbox < 0 ? std::string(MailboxNames::Find(message.mailbox))
                                                 : mailboxes_[static_cast<size_t>(mailbox)].declaration.wire_name,
                          .type = message.payload.type() == nullptr ? "" : message.payload.type()->name});
  }
}

void ActorCore::Postpone() {
  UNDERSTUDY_CHECK(current_ != nullptr && current_->source() == Activation::Source::kMessage,
                   "Postpone without a message in hand");
  current_->is_postponed = true;
}

void Activation::FinishTell(std::shared_ptr<BehaviorTable> become) { core_.Become(std::move(become)); }

void Activation::AnswerValue(Payload value) {
  if (has_failed || is_postponed) return;
  answer_given_ = true;
  core_.system().Post({.kind = SignalKind::kReply,
                       .from = core_.self(),
                       .to = message.from,
                       .id = message.ask,
                       .payload = std::move(value)});
}

void Activation::AnswerStatus(const absl::Status& status) {
  if (has_failed || is_postponed) return;
  status_ = status;
  AnswerFinally(status);
}

void Activation::AnswerFinally(const absl::Status& status) {
  answer_given_ = true;
  core_.system().Post(
      {.kind = SignalKind::kReply, .from = core_.self(), .to = message.from, .id = message.ask, .status = status});
}

}  // namespace understudy::internal
