#include "understudy/actors/internal/turn/crash_notes.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "understudy/actors/message.h"

namespace understudy::internal {

absl::string_view Occupation::HandlerName() const {
  switch (kind) {
    case Kind::kConstructor:
    case Kind::kStarting:
    case Kind::kNoHandler:
      break;
    case Kind::kStart:
      return "Start";
    case Kind::kProcess:
      return "its process";
    case Kind::kEvent:
      return "an event";
    case Kind::kMessage:
      return mailbox->wire_name;
  }
  return "its constructor, a guard, a destructor or its end";
}

std::string Occupation::ForCrashReport(const Envelope* message) const {
  switch (kind) {
    case Kind::kConstructor:
      return "its constructor";
    case Kind::kStarting:
    case Kind::kStart:
      return "Start";
    case Kind::kProcess:
      return "its process";
    case Kind::kNoHandler:
      break;
    case Kind::kEvent:
      return "the handler of an event";
    case Kind::kMessage: {
      std::string text = absl::StrCat("mailbox ", mailbox->wire_name);
      if (message != nullptr) {
        absl::StrAppend(&text, " handling a ", message->type->name(), " from ", message->sender().ToString());
      }
      return text;
    }
  }
  return "a guard, a predicate or a hook";
}

void Occupation::AddTo(FixedText& text) const {
  switch (kind) {
    case Kind::kConstructor:
      text.Add("an actor's constructor");
      return;
    case Kind::kStarting:
    case Kind::kNoHandler:
      text.Add("a guard, a predicate, a hook, a destructor or its end");
      return;
    case Kind::kStart:
    case Kind::kProcess:
      text.Add(HandlerName());
      return;
    case Kind::kEvent:
      text.Add("the handler of an event");
      return;
    case Kind::kMessage:
      text.Add("mailbox ").Add(mailbox->wire_name).Add(" handling a ").Add(mailbox->request->name());
      return;
  }
}

MessageNote NoteOf(const Envelope& message, const MailboxDeclaration& mailbox) {
  MessageNote note;
  note.mailbox = std::string(mailbox.wire_name);
  note.type = message.type->name();
  note.from = message.sender();
  return note;
}

MessageNote NoteWithBytesLeft(const Envelope& message, const MailboxDeclaration& mailbox) {
  MessageNote note = NoteOf(message, mailbox);
  const bool can_measure = message.type->is_wire && message.has(Envelope::kHasValue);
  note.bytes = can_measure ? message.type->bytes(message.value()) : message.type->size;
  return note;
}

void CrashNotes::Keep(MessageNote note, size_t kept_max) {
  if (messages_.size() >= kept_max) messages_.erase(messages_.begin());
  messages_.push_back(std::move(note));
}

std::string LineOf(const CrashReport& crash, const ExitReason& reason, absl::Span<const Pid> peers,
                   NamesMessages names_messages) {
  constexpr size_t kPeersNamedMax = 8;
  std::string line = crash.pid.ToString();
  if (!crash.label.empty()) absl::StrAppend(&line, " (", crash.label, ")");
  absl::StrAppend(&line, " ended in ", crash.doing, ": ", reason.ToString());
  if (!crash.parent.is_null()) absl::StrAppend(&line, "; a child of ", crash.parent.ToString());
  for (size_t i = 0; i < std::min(peers.size(), kPeersNamedMax); ++i) {
    absl::StrAppend(&line, i == 0 ? "; linked to " : ", ", peers[i].ToString());
  }
  if (peers.size() > kPeersNamedMax) absl::StrAppend(&line, " and ", peers.size() - kPeersNamedMax, " more");
  if (names_messages == NamesMessages::kNo) return line;
  for (size_t i = 0; i < crash.messages.size(); ++i) {
    absl::StrAppend(&line, i == 0 ? "; its last messages: " : ", ", crash.messages[i].ToString());
  }
  return line;
}

}  // namespace understudy::internal
