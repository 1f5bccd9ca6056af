#include "understudy/actors/internal/turn/actor_crash.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <typeinfo>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "understudy/actors/actor_info.h"
#include "understudy/actors/internal/system/fixed_text.h"
#include "understudy/actors/internal/turn/actor_core.h"
#include "understudy/actors/internal/turn/crash_notes.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/node_table.h"

namespace understudy::internal {
namespace {

// Notes a message for later crash reports.
void KeepMessage(ActorCore& core, const Activation& activation) {
  if (activation.source() != Activation::Source::kMessage || activation.envelope == nullptr) return;
  const Envelope& envelope = *activation.envelope;
  const MailboxDeclaration& mailbox = core.layout()[static_cast<size_t>(activation.mailbox)];
  MessageNote note = NoteOf(envelope, mailbox);
  // Not under UserCode, although bytes() and serialize() are the message type's: this turn must not be fenced here.
  (void)Caught([&] {
    note.bytes = envelope.type->bytes(envelope.value());
    if (mailbox.options.report_contents != ReportContents::kYes || !envelope.type->is_wire) return;
    if (!envelope.type->serialize(envelope.value(), &note.contents)) note.contents.clear();
  });
  if (note.contents.size() > limits::kReportedContentsBytesMax) {
    note.contents.resize(limits::kReportedContentsBytesMax);
  }
  core.crash_notes().Keep(std::move(note), static_cast<size_t>(core.system().last_messages()));
}

}  // namespace

void Trace(ActorCore& core, absl::string_view what, const Activation& activation) {
  SystemCore& system = core.system();
  if (system.last_messages() > 0 && what == "handles") KeepMessage(core, activation);
  if (system.tracer() == nullptr) return;
  absl::string_view mailbox = "event";
  if (activation.mailbox >= 0) mailbox = core.layout()[static_cast<size_t>(activation.mailbox)].wire_name;
  const MessageType* type = activation.envelope == nullptr ? nullptr : activation.envelope->type;
  const Pid sender = activation.envelope == nullptr || activation.mailbox < 0 ? Pid() : activation.envelope->sender();
  system.tracer()(absl::StrCat(core.self().ToString(), " ", what, " ", mailbox, " of ",
                               type == nullptr ? "start" : type->name(), " from ", sender.ToString()));
}

void LogCrash(ActorCore& core, const CrashReport& crash, const ExitReason& reason) {
  if (!core.system().log().Wants(LogSeverity::kError)) return;
  const bool keeps_messages = core.system().last_messages() > 0;
  LogError(core.system(),
           LineOf(crash, reason, core.links().Links(), keeps_messages ? NamesMessages::kYes : NamesMessages::kNo));
}

void LogError(SystemCore& system, absl::string_view line) {
  system.log().Write(LogSeverity::kError, absl::StrReplaceAll(line, {{"\n", "\\n"}}));
}

Occupation ActorCore::occupation() const {
  using Kind = Occupation::Kind;
  if (start_.is_constructing()) return {.kind = Kind::kConstructor};
  // At the beginning of a turn in_hand_ may still be an Envelope, whose bytes are not an Activation of this actor.
  const Activation* const handler = current() != nullptr && &current()->core() == this ? current() : nullptr;
  if (handler == nullptr) return {.kind = start_.is_starting() ? Kind::kStarting : Kind::kNoHandler};
  return OccupationOf(*handler);
}

Occupation ActorCore::OccupationOf(const Activation& handler) const {
  using Kind = Occupation::Kind;
  switch (handler.source()) {
    case Activation::Source::kStart:
      return {.kind = start_.is_process() && start_.has_started() ? Kind::kProcess : Kind::kStart};
    case Activation::Source::kEvent:
      return {.kind = Kind::kEvent};
    case Activation::Source::kMessage:
      break;
  }
  return {.kind = Kind::kMessage, .mailbox = &layout()[static_cast<size_t>(handler.mailbox)]};
}

CrashNotes& ActorCore::crash_notes() {
  std::unique_ptr<CrashNotes>& notes = rare().crash_notes;
  if (notes == nullptr) notes = std::make_unique<CrashNotes>();
  return *notes;
}

// Makes the crash report. Called while the message or event that the actor was handling is still in hand.
void ActorCore::NoteCrash(ExitCause cause) {
  if (!system().reports_crashes()) return;
  Occupation doing = occupation();
  const bool is_outside = cause == ExitCause::kOwnOutside && !start_.is_constructing();
  const Envelope* const message =
      is_outside || doing.kind != Occupation::Kind::kMessage ? nullptr : current()->envelope;
  auto report = std::make_shared<CrashReport>();
  report->pid = self();
  report->parent = parent();
  if (const std::string& label = spawn_record().options().label; !label.empty()) {
    report->label = label;
  } else if (actor_ != nullptr) {
    const Actor& object = *actor_;
    report->label = DemangledName(typeid(object).name());
  }
  report->doing = is_outside ? "no handler" : doing.ForCrashReport(message);
  if (rare_->crash_notes != nullptr) {
    report->messages = rare_->crash_notes->NewestFirst();
  } else if (message != nullptr) {
    report->messages.push_back(NoteWithBytesLeft(*message, *doing.mailbox));
  }
  exits().AddCrash(std::move(report));
}

void ActorCore::Inspect(ActorInfo& info) const {
  info.is_complete = true;
  info.parent = parent();
  const SpawnOptions& options = spawn_record().options();
  info.label = options.label;
  if (actor_ != nullptr) {
    const Actor& object = *actor_;
    info.class_name = DemangledName(typeid(object).name());
  }
  const BehaviorTable* table = behavior_.get();
  uint64_t scoped = 0;
  bool is_held = false;
  if (rare_ != nullptr) {
    scoped = rare_->closed.mask();
    is_held = rare_->activations.IsHeld();
    for (const std::unique_ptr<Activation>& begun : rare_->activations.all()) {
      if (begun.get() != in_hand_) info.awaiting.emplace_back(OccupationOf(*begun).HandlerName());
    }
    if (rare_->activations.IsReceiving()) table = rare_->activations.receive().table.get();
  }
  if (table != nullptr) info.behavior = std::string(table->name());
  for (size_t i = 0; i < info.mailboxes.size(); ++i) {
    MailboxInfo& mailbox = info.mailboxes[i];
    if (mailbox.closed_by == ClosedBy::kNothing) continue;
    if ((scoped >> i & 1U) != 0) {
      mailbox.closed_by = ClosedBy::kScopedClose;
    } else if (!start_.handles_messages()) {
      mailbox.closed_by = ClosedBy::kStart;
    } else if (is_held) {
      mailbox.closed_by = ClosedBy::kHandler;
    } else {
      const bool is_named = table != nullptr && (table->mailboxes() >> i & 1U) != 0;
      mailbox.closed_by = is_named ? ClosedBy::kGuard : ClosedBy::kBehavior;
    }
  }
}

void ActorCore::InspectTies(ActorInfo& info) const {
  if (parent_.is_linked()) info.links.push_back(parent());
  if (rare_ != nullptr) {
    const LinkTable& ties = rare_->links;
    const std::vector<Pid> links = ties.Links(limits::kTiesToldMax - info.links.size());
    info.links.insert(info.links.end(), links.begin(), links.end());
    for (const auto& [id, target] : ties.monitored()) {
      if (info.monitors.size() == limits::kTiesToldMax) break;
      info.monitors.push_back(target);
    }
    for (const auto& [watcher, id] : ties.watchers()) {
      if (info.monitored_by.size() == limits::kTiesToldMax) break;
      info.monitored_by.push_back(watcher);
    }
    info.link_count = static_cast<int64_t>(ties.link_count());
    info.monitor_count = static_cast<int64_t>(ties.monitor_count());
    info.monitored_by_count = static_cast<int64_t>(ties.watchers().size());
  }
  if (parent_.is_linked()) ++info.link_count;
}

// Called by another thread, which has seized the worker while this actor's turn is in user code.
std::string ActorCore::Describe() {
  return absl::StrCat(self().ToString(), " in the handler of ", occupation().HandlerName());
}

// Runs in a signal handler, so it allocates nothing, takes no lock, and uses no thread-local variable that is
// constructed at its first use.
void ActorCore::DescribeForSignal(FixedText& who, FixedText& at) {
  const Pid pid = self();
  const NodeEntry& node = *NodeTable::At(pid.node());
  const ActorAddress address = node.key.Permuted({.cell = pid.cell(), .serial = pid.serial()});  // as Pid::ToString
  who.Add("<").Add(node.name).Add(".").AddNumber(address.cell).Add(".").AddNumber(address.serial).Add(">");
  if (actor_ != nullptr) {
    const Actor& object = *actor_;
    FixedText type;
    at.Add(type.AddType(typeid(object).name()).text());
    if (rare_ != nullptr) {
      const SpawnOptions& options = rare_->spawn.options();  // needs no construction: each spawn has used it
      for (const std::string* name : {&options.label, &options.published_as, &options.registered_as}) {
        if (!name->empty() && *name != type.text()) at.Add(" \"").Add(*name).Add("\"");
      }
    }
    at.Add(", ");
  }
  occupation().AddTo(at);
}

}  // namespace understudy::internal
