// The beginning of an actor's life: its constructor, its names and Start.
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/types/variant.h"
#include "understudy/actors/check.h"
#include "understudy/actors/error.h"
#include "understudy/actors/internal/send/constructing.h"
#include "understudy/actors/internal/system/late_ends.h"
#include "understudy/actors/internal/turn/actor_core.h"
#include "understudy/actors/internal/turn/actor_crash.h"
#include "understudy/actors/internal/turn/actor_disposal.h"
#include "understudy/actors/internal/turn/actor_names.h"
#include "understudy/actors/internal/turn/actor_queues.h"
#include "understudy/actors/internal/turn/actor_signals.h"
#include "understudy/actors/internal/turn/actor_unhandled_mail.h"
#include "understudy/actors/internal/turn/current_turn.h"
#include "understudy/actors/internal/turn/exceptions.h"
#include "understudy/actors/internal/turn/in_user_code.h"

namespace understudy::internal {
namespace {

// The actor whose constructor runs, as its mailboxes see it.
class Construction final : public MailboxHost {
 public:
  explicit Construction(ActorCore& core) : core_(core) {}

  int AddMailbox(const MailboxDeclaration& declaration, const MailboxBase* mailbox) override {
    UNDERSTUDY_CHECK(count_ < limits::kMailboxesPerActorMax, "mailbox ", declaration.wire_name,
                     " is one too many: an actor has at most ", limits::kMailboxesPerActorMax, ", and this one has ",
                     CountsByService(), ": move some to another actor");
    UNDERSTUDY_CHECK(layout_->Find(declaration.hash) < 0, "the actor has two mailboxes ", declaration.wire_name);
    const MailboxLayout* const known = status_.ok() ? layout_->FindLonger(declaration) : nullptr;
    if (known != nullptr) {
      layout_ = known;  // so its options are valid
    } else if (status_.ok()) {
      status_ = Extend(declaration);
    }
    made_[static_cast<size_t>(count_)] = mailbox;
    return count_++;
  }
  bool NameInClause(const MailboxBase& mailbox) override {
    const int index = mailbox.index();  // anything, before its constructor has run
    if (index < 0 || index >= count_) return false;
    const MailboxBase* const made = made_[static_cast<size_t>(index)];
    if (made != nullptr && made != &mailbox) return false;
    named_ |= uint64_t{1} << index;
    return true;
  }
  ActorCore& core() override { return core_; }
  const MailboxLayout& layout() const { return *layout_; }
  // The mailboxes that have to be handled and that no clause names.
  uint64_t unhandled() const { return layout_->must_be_handled() & ~named_; }
  // The error of the first mailbox that had invalid options or was one too many; OK if there was none.
  const absl::Status& status() const { return status_; }

 private:
  // "40 of auction.Auction, 24 of auction.Admin". Mailboxes of no service are counted as "of its own".
  std::string CountsByService() const {
    std::map<absl::string_view, int> counts;
    for (size_t place = 0; place < layout_->size(); ++place) {
      const absl::string_view name = (*layout_)[place].wire_name;
      const size_t slash = name.find('/');
      ++counts[slash == absl::string_view::npos ? absl::string_view("its own") : name.substr(0, slash)];
    }
    return absl::StrJoin(counts, ", ", [](std::string* out, const auto& each) {
      absl::StrAppend(out, each.second, " of ", each.first);
    });
  }
  absl::Status Extend(const MailboxDeclaration& declaration) {
    if (absl::Status valid = declaration.Validate(); !valid.ok()) return valid;
    const MailboxLayout* const longer = layout_->With(declaration);
    if (longer == nullptr) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "no room for mailbox ", declaration.wire_name, ": this process has ", limits::kMailboxLayoutsMax,
          " different sets of mailboxes, the most it may; do not take labels and options from data without a bound"));
    }
    layout_ = longer;
    return absl::OkStatus();
  }

  ActorCore& core_;
  const MailboxLayout* layout_ = &MailboxLayout::Empty();
  int count_ = 0;
  uint64_t named_ = 0;  // bit i: a clause names mailbox i
  // Only the first count_ elements are set and read: initializing all would cost each spawn. Null for the mailboxes of
  // arrays.
  std::array<const MailboxBase*, limits::kMailboxesPerActorMax> made_;
  absl::Status status_;
};

// Names the unhandled mailboxes.
absl::Status UnhandledMailboxesError(ActorCore& core) {
  std::vector<absl::string_view> names;
  for (size_t place = 0; place < core.layout().size(); ++place) {
    if ((core.parts().unhandled_mailboxes() >> place & 1) != 0) names.push_back(core.layout()[place].wire_name);
  }
  const Actor& object = *core.object();
  return absl::FailedPreconditionError(absl::StrCat(
      DemangledName(typeid(object).name()), " does not handle ", absl::StrJoin(names, ", "),
      ": expected a clause (On, Refuse or Drop) for each rpc in the behaviors that the constructor and Start build, "
      "context().HandlesLater, or the rpc's option optional_rpc"));
}

}  // namespace

// Runs the constructor and begins Start. False when the constructor failed.
bool ActorCore::Construct() {
  const std::unique_ptr<SpawnArguments> spawn_arguments(std::exchange(spawn_arguments_, nullptr));
  last_stamp_ = 0;
  NoteTime(system().executor().CoarseNow());  // for mail of an earlier life, which is sorted without a drain
  const bool has_record = !spawn_arguments->record.empty();
  if (has_record) parts_.spawn() = std::move(spawn_arguments->record);
  if (spawn_arguments->has_failed.has_value()) {
    SetExit(*std::move(spawn_arguments->has_failed), ExitCause::kOwn);
    InUserCode([&] { spawn_arguments->make = nullptr; });
    return false;
  }
  if (has_record) {
    const absl::Duration within = parts_.spawn_or_default().options().start_within;
    if (within != absl::InfiniteDuration()) {
      parts_.spawn().SetStartTimer(EndStartAfter(system(), within, cell(), life()));
    }
  }
  Construction construction(*this);
  std::unique_ptr<Actor> made;
  std::exception_ptr thrown;
  InUserCode([&] {
    const ConstructingScope scope(&construction);
    thrown = Caught([&] { made = std::move(spawn_arguments->make)(); });
    spawn_arguments->make = nullptr;
  });
  actor_ = std::move(made);
  if (stage_.is_fenced()) return false;
  if (actor_ == nullptr) {
    // The mailboxes are not known, so all early messages become dead letters.
    SetExit(thrown != nullptr ? DescribeException(thrown)
                              : ExitReason::Failed(absl::InternalError("the factory made no actor")),
            ExitCause::kOwn);
    return false;
  }
  stage_.Constructed();
  if (const absl::Status& declared = construction.status(); !declared.ok()) {
    const Actor& object = *actor_;
    SetExit(ExitReason::Failed(absl::Status(
                declared.code(), absl::StrCat(DemangledName(typeid(object).name()), ": ", declared.message()))),
            ExitCause::kOwn);
  }
  cell().SetLayout(construction.layout());
  if (layout().has_expiring_calls()) parts_.due();  // made, so that each turn ends with ArmExecutor
  ThisTurn().gates = cell().gates();
  ThisTurn().layout = cell().layout();
  if (construction.unhandled() != 0) parts_.unhandled_mailboxes() = construction.unhandled();
  if (!stage_.has_exit()) TakeUnhandledMail(*this);  // else it is its next life's
  cell().OpenGates();
  if (!stage_.has_exit()) BeginStart();  // unless the constructor has ended it
  return true;
}

void ActorCore::BeginStart() {
  if (!parts_.empty() && parts_.spawn().has_names()) {
    RunStart(absl::nullopt);
    return;
  }
  absl::optional<StartResult> next;
  std::exception_ptr thrown;
  {
    Activation starting(*this, Activation::Source::kStart);
    if (system().observation().sees_steps()) Trace(*this, "handles", starting);
    SetCurrent(&starting);
    thrown = CaughtInUserCode([&] { next.emplace(actor_->Start()); });
    SetCurrent(nullptr);
  }
  if (stage_.is_fenced()) return;
  if (thrown != nullptr) SetExit(DescribeException(thrown), ExitCause::kOwn);
  if (stage_.has_exit()) return;
  if (absl::holds_alternative<Task<StartResult>>(next->choice_) || absl::holds_alternative<Task<void>>(next->choice_)) {
    RunStart(std::move(next));
  } else {
    Decide(*std::move(next));
    if (!parts_.empty()) ApplyBecome();
  }
}

// The body of the coroutine handler that RunStart runs.
struct ActorCore::Starter {
  static constexpr bool kAwaits = true;
  void Run(Actor& /*self*/, Activation& started) {
    started.SetRoot(started.core().StartSequence(started, std::move(next)));
  }
  absl::optional<StartResult> next;
};

// Continues the start as a coroutine: from taking its names on, or, if `next` is set, from what Start returned.
void ActorCore::RunStart(absl::optional<StartResult> next) {
  auto starter = MessageHandler::Of(Starter{.next = std::move(next)});
  RunAwaiting(std::make_unique<Activation>(*this, Activation::Source::kStart), starter);
}

// The root coroutine of the first activation: takes the names, calls Start, and carries out what Start decided. It runs
// as user code; its steps that are the kernel's are under KernelCode.
RootTask ActorCore::StartSequence(Activation& /*activation*/, absl::optional<StartResult> begun) {
  if (!begun) {
    auto names = TakeNames(*this);
    if (absl::optional<ExitReason> not_taken = co_await names; not_taken.has_value()) {
      const KernelCode kernel;
      // No failure of its own: a supervisor starts it again when the name is free.
      if (!kernel.is_fenced()) SetExit(*std::move(not_taken), ExitCause::kTold);
      co_return;
    }
    begun.emplace(actor_->Start());
  }
  StartResult next = *std::move(begun);
  while (absl::holds_alternative<Task<StartResult>>(next.choice_) && !stage_.has_exit()) {
    Task<StartResult> later = std::move(absl::get<Task<StartResult>>(next.choice_));
    next = co_await later;
  }
  if (stage_.has_exit()) co_return;
  if (absl::holds_alternative<Task<void>>(next.choice_)) {
    Task<void> body = std::move(absl::get<Task<void>>(next.choice_));
    {
      const KernelCode kernel;  // another thread may look at the stage while this one is in user code
      if (kernel.is_fenced()) co_return;
      stage_.BecomeProcess();
    }
    co_await body;
    if (stage_.has_exit()) co_return;
    const KernelCode kernel;
    if (kernel.is_fenced()) co_return;
    FinishStart();
    SetExit(ExitReason::Normal(), ExitCause::kOwn);
    co_return;
  }
  const KernelCode kernel;
  if (!kernel.is_fenced()) Decide(std::move(next));
}

// Carries out what Start returned, if that is not a coroutine.
void ActorCore::Decide(StartResult next) {
  if (const auto* failed = absl::get_if<absl::Status>(&next.choice_)) {
    SetExit(ExitReason::Failed(*failed), ExitCause::kOwn);
  } else if (absl::holds_alternative<StartResult::Ignored>(next.choice_)) {
    DeclineStart();
  } else if (!parts_.empty() && parts_.unhandled_mailboxes() != 0) {
    SetExit(ExitReason::Failed(UnhandledMailboxesError(*this)), ExitCause::kOwn);
  } else if (auto* later = absl::get_if<StartResult::StartsLater>(&next.choice_)) {
    stage_.Open();
    EnterBehavior(later->behavior.table());
  } else if (auto* behavior = absl::get_if<Behavior>(&next.choice_)) {
    UNDERSTUDY_CHECK(behavior->table() != nullptr, "Start gave a behavior that was never built");
    FinishStart();
    if (parts_.empty() || parts_.behaviors().next() == nullptr) EnterBehavior(behavior->table());
  }
}

void NameInClause(ActorCore& core, int mailbox) {
  if (!core.stage().start().is_starting()) return;
  const KernelCode kernel;
  if (kernel.is_fenced() || core.parts().empty()) return;
  core.parts().unhandled_mailboxes() &= ~(uint64_t{1} << mailbox);
}

void ActorCore::FinishStart() {
  if (!IsStarting()) return;
  stage_.Started();
  cell().SetStarted();
  // seq_cst: see SetStarted.
  if (system().population().awaited_starts.load(std::memory_order_seq_cst) != 0) system().executor().Notify();
  if (!parts_.empty()) {
    if (const uint64_t timer = parts_.spawn().TakeStartTimer(); timer != 0) system().executor().Cancel(timer);
  }
  TellOutcome(*this, SpawnOutcome::Kind::kStarted, {});
}

void ActorCore::DeclineStart() {
  if (stage_.start().has_started() || stage_.has_exit()) return;
  stage_.Decline();
  SetExit(ExitReason::Normal(), ExitCause::kOwn);
}

}  // namespace understudy::internal
