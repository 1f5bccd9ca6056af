#include "understudy/actors/message.h"

#include <cxxabi.h>

#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "understudy/actors/check.h"
#include "understudy/actors/limits.h"

namespace understudy {
namespace internal {

std::string DemangledName(const char* mangled) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(abi::__cxa_demangle(mangled, nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 ? name.get() : mangled;
}

Payload Payload::CopyOfWireBytes(absl::string_view bytes) {
  const size_t units = UnitsFor(sizeof(Envelope) + sizeof(CallPart) + sizeof(WireBytes) + bytes.size());
  if (units > kPooledUnits) return OfWireBytes(std::string(bytes));
  Envelope* const block =
      Envelope::Make(EnvelopeKind::kMessage, TypeOf<WireBytes>(), /*has_call_part=*/true, static_cast<uint8_t>(units));
  auto* const value = new (block->value()) WireBytes(bytes.size());
  if (!bytes.empty()) std::memcpy(static_cast<void*>(value + 1), bytes.data(), bytes.size());
  block->SetMade();
  return Payload(block);
}

Payload Payload::CopyOfTracedWireBytes(absl::string_view bytes, const TraceContext& trace) {
  const TracePart part{.context = trace, .accepted = MonotonicTime()};
  const size_t with_bytes =
      UnitsFor(sizeof(Envelope) + sizeof(CallPart) + sizeof(WireBytes) + bytes.size() + sizeof(TracePart));
  if (with_bytes > kPooledUnits) {
    return With(Envelope::MakeTraced(TypeOf<WireBytes>(), part), WireBytes(std::string(bytes)));
  }
  Envelope* const block = Envelope::MakeTraced(TypeOf<WireBytes>(), part, bytes.size());
  auto* const value = new (block->value()) WireBytes(bytes.size());
  if (!bytes.empty()) std::memcpy(static_cast<void*>(value + 1), bytes.data(), bytes.size());
  block->SetMade();
  return Payload(block);
}

Envelope* Payload::MakeForForward(const MessageType& type) {
  const absl::optional<TraceContext> trace = TraceOfNextMessage();
  if (!trace.has_value()) return Envelope::Make(EnvelopeKind::kMessage, type, /*has_call_part=*/true);
  return Envelope::MakeTraced(type, {.context = *trace, .accepted = MonotonicTime()});
}

size_t Payload::bytes() const {
  if (block_ == nullptr) return 0;
  return is_wire_bytes() ? wire_bytes().size() : block_->type->bytes(block_->value());
}

std::string Payload::TypeText() const { return type() == nullptr ? "nothing" : type()->name(); }

absl::Status Payload::ParseAs(const MessageType& type) {
  if (is_typed()) {
    if (block_->type == &type) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("expected a ", type.name(), ", got a ", block_->type->name()));
  }
  if (!type.is_wire) {
    return absl::InvalidArgumentError(
        absl::StrCat(type.name(), " is not a wire message: it cannot come from another node"));
  }
  const absl::string_view bytes = block_ == nullptr ? absl::string_view() : wire_bytes();
  Payload parsed(Envelope::Make(EnvelopeKind::kReply, type, /*has_call_part=*/false));
  if (!type.parse(bytes, parsed.block_->value())) {
    return absl::InvalidArgumentError(absl::StrCat(bytes.size(), " bytes do not parse as ", type.name()));
  }
  parsed.block_->SetMade();
  *this = std::move(parsed);
  return absl::OkStatus();
}

namespace {

struct NameTable {
  struct Name {
    const std::string* text = nullptr;
    bool is_declared = false;
  };
  absl::Mutex mu;
  std::map<uint32_t, Name> names ABSL_GUARDED_BY(mu);
  std::deque<std::string> texts ABSL_GUARDED_BY(mu);  // a deque, because views of its elements stay valid
  size_t meant ABSL_GUARDED_BY(mu) = 0;               // names that only Meant has added
};

NameTable& GetNames() {
  static NameTable* const table = new NameTable;
  return *table;
}

}  // namespace

uint32_t MailboxNames::Intern(absl::string_view wire_name) {
  const uint32_t hash = Fnv1a(wire_name);
  NameTable& table = GetNames();
  absl::MutexLock lock(&table.mu);
  NameTable::Name& name = table.names[hash];
  if (name.text == nullptr || *name.text != wire_name) {
    // A name that only senders have used (Meant) gives way to a declared one with the same hash.
    UNDERSTUDY_CHECK(!name.is_declared, "the mailboxes ", *name.text, " and ", wire_name,
                     " have the same hash; rename one");
    name.text = &table.texts.emplace_back(wire_name);
  }
  name.is_declared = true;
  return hash;
}

uint32_t MailboxNames::Meant(absl::string_view wire_name) {
  const uint32_t hash = Fnv1a(wire_name);
  NameTable& table = GetNames();
  absl::MutexLock lock(&table.mu);
  if (const auto it = table.names.find(hash); it != table.names.end()) {
    return *it->second.text == wire_name ? hash : 0;
  }
  if (table.meant < limits::kMailboxNamesMeantMax) {
    ++table.meant;
    table.names[hash].text = &table.texts.emplace_back(wire_name);
  }
  return hash;
}

absl::string_view MailboxNames::Find(uint32_t hash) {
  NameTable& table = GetNames();
  absl::MutexLock lock(&table.mu);
  const auto it = table.names.find(hash);
  return it == table.names.end() ? absl::string_view() : *it->second.text;
}

std::string ElementName(absl::string_view array, absl::string_view label) {
  return absl::StrCat(array, "[", label, "]");
}

uint32_t ElementHash(absl::string_view array, absl::string_view label) {
  if (label.empty() || label.size() > limits::kMailboxLabelBytesMax) return 0;
  return MailboxNames::Meant(ElementName(array, label));
}

}  // namespace internal

absl::string_view SignalKindName(SignalKind kind) {
  switch (kind) {
    case SignalKind::kExit:
      return "exit";
    case SignalKind::kKill:
      return "kill";
    case SignalKind::kLink:
      return "link";
    case SignalKind::kUnlink:
      return "unlink";
    case SignalKind::kUnlinkAck:
      return "unlink_ack";
    case SignalKind::kMonitor:
      return "monitor";
    case SignalKind::kDemonitor:
      return "demonitor";
    case SignalKind::kDown:
      return "down";
    case SignalKind::kRequestStop:
      return "request_stop";
    case SignalKind::kCancel:
      return "cancel";
    case SignalKind::kReply:
      return "reply";
    case SignalKind::kItem:
      return "item";
    case SignalKind::kStreamCredit:
      return "stream_credit";
    case SignalKind::kUploadItem:
      return "upload_item";
    case SignalKind::kUploadCredit:
      return "upload_credit";
    case SignalKind::kUploadEnd:
      return "upload_end";
    case SignalKind::kUploadCancel:
      return "upload_cancel";
  }
  return "?";
}

}  // namespace understudy
