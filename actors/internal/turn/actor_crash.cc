// Crash reports: what an actor was handling when it ended abnormally by its own doing, and its last messages. Also how
// the fatal signal report describes an actor.
#include <algorithm>
#include <memory>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "understudy/actors/crash_report.h"
#include "understudy/actors/internal/system/fixed_text.h"
#include "understudy/actors/internal/turn/actor_core.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/node_table.h"

namespace understudy::internal {
namespace {

MessageNote NoteOf(const Envelope& envelope, const MailboxDeclaration& mailbox) {
  MessageNote note;
  note.mailbox = std::string(mailbox.wire_name);
  note.type = envelope.type->name();
  note.from = envelope.sender();
  return note;
}

}  // namespace

// Notes a message for later crash reports, before its handler may move from it. Called only if the system keeps last
// messages.
void ActorCore::KeepMessage(const Activation& activation) {
  if (activation.source() != Activation::Source::kMessage || activation.envelope == nullptr) return;
  const Envelope& envelope = *activation.envelope;
  const MailboxDeclaration& mailbox = layout()[static_cast<size_t>(activation.mailbox)];
  std::unique_ptr<std::vector<MessageNote>>& kept = rare().last_messages;
  if (kept == nullptr) kept = std::make_unique<std::vector<MessageNote>>();
  if (kept->size() >= static_cast<size_t>(system().last_messages())) kept->erase(kept->begin());
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
  kept->push_back(std::move(note));
}

// Makes the crash report. Called while the message or event that the actor was handling is still in hand.
void ActorCore::NoteCrash(ExitCause cause) {
  if (!system().reports_crashes()) return;
  auto report = std::make_shared<CrashReport>();
  report->pid = self();
  report->parent = parent();
  if (rare_->options != nullptr && !rare_->options->label.empty()) {
    report->label = rare_->options->label;
  } else if (actor_ != nullptr) {
    const Actor& object = *actor_;
    report->label = DemangledName(typeid(object).name());
  }
  if (rare_->last_messages != nullptr) {
    report->messages.assign(rare_->last_messages->rbegin(), rare_->last_messages->rend());
  }
  if (stage_ == Stage::kConstructing) {
    report->doing = "its constructor";
  } else if (cause == ExitCause::kOwnOutside) {
    report->doing = "no handler";
  } else if (current() == nullptr) {
    report->doing = stage_ == Stage::kStarting ? "Start" : "a guard, a predicate or a hook";
  } else if (current()->source() == Activation::Source::kStart) {
    report->doing = std::string(StartName());
  } else if (current()->source() == Activation::Source::kEvent) {
    report->doing = "the handler of an event";
  } else {
    const MailboxDeclaration& mailbox = layout()[static_cast<size_t>(current()->mailbox)];
    report->doing = absl::StrCat("mailbox ", mailbox.wire_name);
    if (const Envelope* envelope = current()->envelope; envelope != nullptr) {
      absl::StrAppend(&report->doing, " handling a ", envelope->type->name(), " from ", envelope->sender().ToString());
      if (report->messages.empty()) {
        MessageNote note = NoteOf(*envelope, mailbox);
        // The handler may have moved from the message. A protobuf message can still be measured then; another type's
        // MessageBytes perhaps not.
        const bool can_measure = envelope->type->is_wire && envelope->has(Envelope::kHasValue);
        note.bytes = can_measure ? envelope->type->bytes(envelope->value()) : envelope->type->size;
        report->messages.push_back(std::move(note));
      }
    }
  }
  exits().AddCrash(std::move(report));
}

// Logs one report for each actor that ends abnormally by its own doing, as OTP's proc_lib does: its pid and class, the
// reason, what it was handling, its parent, and the actors linked to it.
void ActorCore::ReportCrash() {
  const CrashReport* const report = known_exits() == nullptr ? nullptr : known_exits()->crash();
  if (report == nullptr || !system().log().Wants(LogSeverity::kError)) return;
  constexpr size_t kPeersNamedMax = 8;
  const CrashReport& crash = *report;
  std::string line = self().ToString();
  if (!crash.label.empty()) absl::StrAppend(&line, " (", crash.label, ")");
  absl::StrAppend(&line, " ended in ", crash.doing, ": ", reason().ToString());
  if (!parent().is_null()) absl::StrAppend(&line, "; a child of ", parent().ToString());
  const std::vector<Pid> peers = links().Links();
  for (size_t i = 0; i < std::min(peers.size(), kPeersNamedMax); ++i) {
    absl::StrAppend(&line, i == 0 ? "; linked to " : ", ", peers[i].ToString());
  }
  if (peers.size() > kPeersNamedMax) absl::StrAppend(&line, " and ", peers.size() - kPeersNamedMax, " more");
  if (rare_->last_messages != nullptr) {
    for (size_t i = 0; i < crash.messages.size(); ++i) {
      absl::StrAppend(&line, i == 0 ? "; its last messages: " : ", ", crash.messages[i].ToString());
    }
  }
  LogError(line);
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
    if (const SpawnOptions* options = rare_ == nullptr ? nullptr : rare_->options.get(); options != nullptr) {
      for (const std::string* name : {&options->label, &options->published_as, &options->registered_as}) {
        if (!name->empty() && *name != type.text()) at.Add(" \"").Add(*name).Add("\"");
      }
    }
    at.Add(", ");
  }
  // At the beginning of a turn in_hand_ may still be an Envelope, whose bytes are not an Activation of this actor.
  const Activation* const activation = current() != nullptr && &current()->core() == this ? current() : nullptr;
  if (stage_ == Stage::kConstructing) {
    at.Add("an actor's constructor");
  } else if (activation == nullptr) {
    at.Add("a guard, a predicate, a hook, a destructor or its end");
  } else if (activation->source() == Activation::Source::kStart) {
    at.Add(StartName());
  } else if (activation->source() == Activation::Source::kEvent) {
    at.Add("the handler of an event");
  } else {
    const MailboxDeclaration& mailbox = layout()[static_cast<size_t>(activation->mailbox)];
    at.Add("mailbox ").Add(mailbox.wire_name).Add(" handling a ").Add(mailbox.request->name());
  }
}

void ActorCore::LogError(absl::string_view line) {
  system().log().Write(LogSeverity::kError, absl::StrReplaceAll(line, {{"\n", "\\n"}}));
}

}  // namespace understudy::internal
