#include "understudy/actors/internal/turn/actor_crash.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "understudy/actors/actor_info.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/internal/scheduling/message_ring.h"
#include "understudy/actors/internal/scheduling/worker.h"
#include "understudy/actors/internal/send/actor_cell.h"
#include "understudy/actors/internal/send/envelope.h"
#include "understudy/actors/internal/send/waiting_mark.h"
#include "understudy/actors/internal/system/fixed_text.h"
#include "understudy/actors/internal/system/message_traces.h"
#include "understudy/actors/internal/turn/actor_core.h"
#include "understudy/actors/internal/turn/crash_notes.h"
#include "understudy/actors/internal/turn/current_turn.h"
#include "understudy/actors/internal/turn/exceptions.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/message.h"
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
  note.time = core.system().executor().CoarseNow();
  core.parts().crash_notes().Keep(std::move(note), static_cast<size_t>(core.system().observation().last_messages()));
}

// The messages of the actor that the ring of this thread's worker has, the newest first. It is `now`: the stamps of
// messages that an actor sorts together differ by a nanosecond each, and may be ahead by that.
std::vector<MessageNote> NotesOfRing(const ActorCore& core, MonotonicTime now) {
  std::vector<MessageNote> notes;
  const Worker* const worker = ThisWorker();
  if (worker == nullptr) return notes;
  worker->ring.ForEachOf(core.life(), [&](const RingEntry& entry, uint64_t nanos) {
    const auto& type = *static_cast<const MessageType*>(entry.type);
    const bool has_counted_bytes = (entry.flags & Envelope::kHasCallPart) != 0 && entry.bytes != 0;
    notes.push_back({.mailbox = std::string(core.layout()[entry.mailbox].wire_name),
                     .type = type.name(),
                     .bytes = has_counted_bytes ? entry.bytes
                              : type.is_wire    ? 0
                                                : type.size,
                     .from = Pid::OfLife(entry.sender_life, entry.sender_cell),
                     .contents = {},
                     .time = std::min(MonotonicTime::FromNanos(static_cast<int64_t>(nanos)), now)});
  });
  std::reverse(notes.begin(), notes.end());
  return notes;
}

// Puts the note of the current message first, in place of the ring's note of the same message. Only `current` has what
// the handler has left of that message.
void PutFirst(MessageNote current, std::vector<MessageNote>& notes) {
  const auto same = std::find_if(notes.begin(), notes.end(), [&](const MessageNote& note) {
    return note.mailbox == current.mailbox && note.type == current.type && note.from == current.from;
  });
  if (same != notes.end()) {
    current.time = same->time;
    notes.erase(same);
  }
  notes.insert(notes.begin(), std::move(current));
}

Occupation OccupationOf(const ActorCore& core, const Activation& handler) {
  using Kind = Occupation::Kind;
  switch (handler.source()) {
    case Activation::Source::kStart:
      return {.kind = core.stage().start().is_process() && core.stage().start().has_started() ? Kind::kProcess
                                                                                              : Kind::kStart};
    case Activation::Source::kEvent:
      return {.kind = Kind::kEvent};
    case Activation::Source::kMessage:
      break;
  }
  return {.kind = Kind::kMessage, .mailbox = &core.layout()[static_cast<size_t>(handler.mailbox)]};
}

// The class of the actor and its name, if it has one.
std::string TitleOf(const ActorCore& core) {
  const SpawnOptions& options = core.parts().spawn_or_default().options();
  const Actor* const object = core.object();
  std::string title = object == nullptr ? options.label : DemangledName(typeid(*object).name());
  const std::string& name = options.registered_as.empty() ? options.published_as : options.registered_as;
  if (!name.empty()) absl::StrAppend(&title, " \"", name, "\"");
  return title;
}

}  // namespace

void Trace(ActorCore& core, absl::string_view what, const Activation& activation) {
  SystemCore& system = core.system();
  if (system.observation().last_messages() > 0 && what == "handles") KeepMessage(core, activation);
  if (system.observation().tracer() == nullptr) return;
  absl::string_view mailbox = "event";
  if (activation.mailbox >= 0) mailbox = core.layout()[static_cast<size_t>(activation.mailbox)].wire_name;
  const MessageType* type = activation.envelope == nullptr ? nullptr : activation.envelope->type;
  const Pid sender = activation.envelope == nullptr || activation.mailbox < 0 ? Pid() : activation.envelope->sender();
  system.observation().tracer()(absl::StrCat(
      core.self().ToString(), " ", what, " ", mailbox, " of ", type == nullptr ? "start" : type->name(), " from ",
      sender.ToString(), type == nullptr && what == "handles" ? " as " + TitleOf(core) : std::string()));
}

void TraceEnd(ActorCore& core, const ExitReason& reason) {
  if (core.system().observation().tracer() == nullptr) return;
  const std::string line = absl::StrCat(core.self().ToString(), " ends: ", reason.ToString());
  core.system().observation().tracer()(absl::StrReplaceAll(line, {{"\n", "\\n"}}));
}

void NoteTraced(ActorCore& core, const Envelope& message) {
  SystemCore& system = core.system();
  const std::shared_ptr<MessageTraceState> trace = system.message_traces().Find(core.life());
  const MonotonicTime now = system.clock().Now();
  const uint64_t number = trace == nullptr ? 0 : trace->Next(now);
  if (number != 0) {
    TracedMessage note{.number = number,
                       .time = system.clock().WallNow(),
                       .mailbox = std::string(core.layout()[message.mailbox].wire_name),
                       .type = message.type->name(),
                       .from = message.sender()};
    // Not under UserCode: see KeepMessage.
    (void)Caught([&] {
      note.bytes = message.type->bytes(message.value());
      if (!trace->shows_contents() || !message.type->is_wire || note.bytes > limits::kTracedContentsBytesMax) return;
      std::string contents;
      if (message.type->serialize(message.value(), &contents)) note.contents = std::move(contents);
    });
    trace->Keep(std::move(note));
  }
  if (trace == nullptr || trace->IsOver(now)) core.SetTraced(false);
}

void LogCrash(ActorCore& core, const CrashReport& crash, const ExitReason& reason) {
  if (!core.system().log().Wants(LogSeverity::kError)) return;
  const bool keeps_messages = core.system().observation().last_messages() > 0;
  LogError(
      core.system(),
      LineOf(crash, reason, core.parts().links().Links(), keeps_messages ? NamesMessages::kYes : NamesMessages::kNo),
      crash.trace_id);
}

void LogError(SystemCore& system, absl::string_view line, absl::string_view trace_id) {
  const std::string text = absl::StrReplaceAll(line, {{"\n", "\\n"}});
  system.log().Put({.severity = LogSeverity::kError, .text = text, .node = {}, .trace_id = trace_id});
}

Occupation ActorCore::occupation() const {
  using Kind = Occupation::Kind;
  if (stage_.start().is_constructing()) return {.kind = Kind::kConstructor};
  const Activation* const handler = in_hand_.has_message() ? nullptr : current();
  if (handler == nullptr) return {.kind = stage_.start().is_starting() ? Kind::kStarting : Kind::kNoHandler};
  return OccupationOf(*this, *handler);
}

void NoteCrash(ActorCore& core, ExitCause cause) {
  if (!core.system().observation().reports_crashes()) return;
  Occupation doing = core.occupation();
  const bool is_outside = cause == ExitCause::kOwnOutside && !core.stage().start().is_constructing();
  const Envelope* const message =
      is_outside || doing.kind != Occupation::Kind::kMessage ? nullptr : core.current()->envelope;
  auto report = std::make_shared<CrashReport>();
  report->pid = core.self();
  report->parent = core.parts().parent();
  report->time = core.system().clock().Now();
  if (const std::string& label = core.parts().spawn_or_default().options().label; !label.empty()) {
    report->label = label;
  } else if (core.object() != nullptr) {
    const Actor& object = *core.object();
    report->label = DemangledName(typeid(object).name());
  }
  if (Activation* const handler = is_outside ? nullptr : core.current();
      handler != nullptr && handler->held() != nullptr && handler->held()->trace != nullptr) {
    report->trace_id = handler->held()->trace->context.trace.ToString();
  }
  report->doing = is_outside ? "no handler" : doing.ForCrashReport(message);
  if (core.parts().known_crash_notes() != nullptr) {
    report->messages = core.parts().known_crash_notes()->NewestFirst();
  } else {
    report->messages = NotesOfRing(core, report->time);
    if (message != nullptr) PutFirst(NoteWithBytesLeft(*message, *doing.mailbox), report->messages);
    if (report->messages.size() > limits::kBlackBoxMessagesMax) report->messages.resize(limits::kBlackBoxMessagesMax);
  }
  core.parts().exits().AddCrash(std::move(report));
}

// Called by another thread, which has seized the worker while this actor's turn is in user code.
std::string ActorCore::Describe() {
  return absl::StrCat(self().ToString(), " in the handler of ", occupation().HandlerName());
}

void Inspect(const ActorCore& core, ActorInfo& info) {
  info.is_complete = true;
  info.parent = core.parts().parent();
  const SpawnOptions& options = core.parts().spawn_or_default().options();
  info.label = options.label;
  if (core.object() != nullptr) {
    const Actor& object = *core.object();
    info.class_name = DemangledName(typeid(object).name());
  }
  if (const AskTable* const asks = core.parts().known_asks(); asks != nullptr) {
    info.asks = asks->OpenCallees(limits::kTiesToldMax);
  }
  const BehaviorTable* table = core.behavior().get();
  const uint64_t scoped = core.parts().closed_mask();
  const ActorTimers* const timers = core.parts().known_timers();
  const bool is_suspended = timers != nullptr && timers->is_suspended();
  bool is_held = false;
  if (const Activations* const activations = core.parts().known_activations(); activations != nullptr) {
    is_held = activations->IsHeld();
    for (const std::unique_ptr<Activation>& begun : activations->all()) {
      if (begun.get() != core.current()) info.awaiting.emplace_back(OccupationOf(core, *begun).HandlerName());
    }
    if (activations->IsReceiving()) table = activations->receive().table.get();
  }
  if (table != nullptr) info.behavior = std::string(table->name());
  for (size_t i = 0; i < info.mailboxes.size(); ++i) {
    MailboxInfo& mailbox = info.mailboxes[i];
    if (mailbox.closed_by == ClosedBy::kNothing) continue;
    if (is_suspended) {
      mailbox.closed_by = ClosedBy::kSuspension;
    } else if ((scoped >> i & 1U) != 0) {
      mailbox.closed_by = ClosedBy::kScopedClose;
    } else if (!core.stage().start().handles_messages()) {
      mailbox.closed_by = ClosedBy::kStart;
    } else if (is_held) {
      mailbox.closed_by = ClosedBy::kHandler;
    } else {
      const bool is_named = table != nullptr && (table->mailboxes() >> i & 1U) != 0;
      mailbox.closed_by = is_named ? ClosedBy::kGuard : ClosedBy::kBehavior;
    }
  }
}

void InspectAges(ActorCore& core, MonotonicTime now, ActorInfo& info) {
  const MailboxLayout* const layout = core.cell().layout();
  if (layout == nullptr) return;
  std::vector<absl::Duration> ages(layout->size());
  const auto note = [&](size_t place, MonotonicTime came) { ages[place] = std::max(ages[place], now - came); };
  core.cell().ForEachArrived(limits::kArrivedLookMax, [&](const Envelope& arrived) {
    if (arrived.kind != EnvelopeKind::kMessage || arrived.life != core.life()) return;
    if (arrived.has(Envelope::kIsEarly)) {
      const int place = layout->Find(arrived.mailbox_hash());
      if (place >= 0) note(static_cast<size_t>(place), arrived.call().accepted);
    } else if (WaitingMark::IsOn(arrived)) {
      note(arrived.mailbox, WaitingMark::TimeOf(arrived, now));
    }
  });
  for (size_t place = 0; place < ages.size(); ++place) {
    const auto note_ring = [&](const Envelope* newest) {
      if (newest != nullptr) note(place, MonotonicTime::FromNanos(static_cast<int64_t>(newest->next->stamp)));
    };
    note_ring(core.cell().queue(place).newest);
    if (!core.parts().empty()) {
      if (Envelope** const postponed = core.parts().postponed().Ring(place); postponed != nullptr)
        note_ring(*postponed);
    }
    info.oldest_age = std::max(info.oldest_age, ages[place]);
    if (place < info.mailboxes.size()) info.mailboxes[place].oldest_age = ages[place];
  }
}

void InspectQueued(SystemCore& system, ActorCell& cell, uint64_t life, MonotonicTime now, ActorInfo& info) {
  const std::type_info* type = nullptr;
  uint64_t named = ~uint64_t{0};
  {
    const absl::MutexLock lock(&system.look_mu());
    system.look_guard().Begin(&cell);
    // What the start has set is constant until the actor is stopping, but for the behavior and the time.
    if (cell.HasStarted(life) && !cell.is_stopping()) {
      const auto& core = *static_cast<const ActorCore*>(cell.owner());
      const Actor& object = *core.object();
      type = &typeid(object);
      info.parent = core.parts().parent();
      info.noted_within = std::max(absl::ZeroDuration(), now - core.last_sorted());
      if (const BehaviorTable* const table = core.published_behavior(); table != nullptr) {
        info.behavior = std::string(table->name());
        named = table->mailboxes();
      }
    }
    system.look_guard().End();
  }
  if (type != nullptr) info.class_name = DemangledName(type->name());
  for (size_t i = 0; i < info.mailboxes.size(); ++i) {
    if ((named >> i & 1U) == 0) info.mailboxes[i].closed_by = ClosedBy::kBehavior;
  }
}

void DescribeForLog(const ActorCore& core, LogFormat format, LogOrigin& origin) {
  origin.actor = core.self().ToString();
  if (format == LogFormat::kText) return;
  const std::vector<std::string> names = ThisTurn().system->registry().NamesOf(core.self());
  if (!names.empty()) origin.name = names.front();
  if (core.object() != nullptr) {
    const Actor& object = *core.object();
    origin.class_name = DemangledName(typeid(object).name());
  }
  if (const BehaviorTable* const table = core.behavior().get(); table != nullptr) {
    origin.behavior = std::string(table->name());
  }
}

void InspectTies(const ActorCore& core, ActorInfo& info) {
  if (core.parts().parent_tie().is_linked()) info.links.push_back(core.parts().parent());
  if (const LinkTable* const ties = core.parts().known_links(); ties != nullptr) {
    const std::vector<Pid> links = ties->Links(limits::kTiesToldMax - info.links.size());
    info.links.insert(info.links.end(), links.begin(), links.end());
    for (const auto& [id, target] : ties->monitored()) {
      if (info.monitors.size() == limits::kTiesToldMax) break;
      info.monitors.push_back(target);
    }
    for (const auto& [watcher, id] : ties->watchers()) {
      if (info.monitored_by.size() == limits::kTiesToldMax) break;
      info.monitored_by.push_back(watcher);
    }
    info.link_count = static_cast<int64_t>(ties->link_count());
    info.monitor_count = static_cast<int64_t>(ties->monitor_count());
    info.monitored_by_count = static_cast<int64_t>(ties->watchers().size());
  }
  if (core.parts().parent_tie().is_linked()) ++info.link_count;
}

// Runs in a signal handler, so it allocates nothing, takes no lock, and uses no thread-local variable that is
// constructed at its first use.
void DescribeForSignal(const ActorCore& core, FixedText& who, FixedText& at) {
  const Pid pid = core.self();
  const NodeEntry& node = *NodeTable::At(pid.node());
  const ActorAddress address = node.key.Permuted({.cell = pid.cell(), .serial = pid.serial()});  // as Pid::ToString
  who.Add("<").Add(node.name).Add(".").AddNumber(address.cell).Add(".").AddNumber(address.serial).Add(">");
  if (core.object() != nullptr) {
    const Actor& object = *core.object();
    FixedText type;
    at.Add(type.AddType(typeid(object).name()).text());
    if (!core.parts().empty()) {
      // The options need no construction: each spawn has used them.
      const SpawnOptions& options = core.parts().spawn_or_default().options();
      for (const std::string* name : {&options.label, &options.published_as, &options.registered_as}) {
        if (!name->empty() && *name != type.text()) at.Add(" \"").Add(*name).Add("\"");
      }
    }
    at.Add(", ");
  }
  core.occupation().AddTo(at);
}

}  // namespace understudy::internal
