#include "understudy/actors/internal/envelope.h"

#include <cstddef>
#include <new>

#include "understudy/actors/message.h"

namespace understudy::internal {
namespace {

constexpr size_t kValueAlignment = 16;
constexpr size_t kValueBytesMax = size_t{8} << 10;  // larger ones are boxed

size_t HeaderBytes(bool has_call_part) { return sizeof(Envelope) + (has_call_part ? sizeof(CallPart) : 0); }

bool IsBoxed(const MessageType& type) { return type.alignment > kValueAlignment || type.size > kValueBytesMax; }

size_t ValueBytes(const MessageType& type) { return IsBoxed(type) ? sizeof(void*) : type.size; }

void* NewBox(const MessageType& type) { return ::operator new(type.size, std::align_val_t(type.alignment)); }

}  // namespace

Envelope* Envelope::Make(EnvelopeKind kind) {
  auto* envelope = new (AllocateBlock(1)) Envelope;
  envelope->kind = kind;
  return envelope;
}

Envelope* Envelope::Make(EnvelopeKind kind, const MessageType& type, bool has_call_part) {
  const size_t bytes = HeaderBytes(has_call_part) + ValueBytes(type);
  const size_t units = (bytes + kBlockUnit - 1) / kBlockUnit;
  auto* envelope = new (AllocateBlock(units)) Envelope;
  envelope->kind = kind;
  envelope->units = static_cast<uint8_t>(units);
  envelope->type = &type;
  if (has_call_part) {
    envelope->set(kHasCallPart);
    new (&envelope->call()) CallPart;
  }
  if (IsBoxed(type)) {
    *static_cast<void**>(envelope->value()) = NewBox(type);
    envelope->set(kIsBoxed);
  }
  return envelope;
}

void Envelope::DropValue() {
  if (has(kHasValue) && type->destroy != nullptr) type->destroy(value());
  clear(kHasValue);
  if (has(kIsBoxed)) {
    ::operator delete(value(), type->size, std::align_val_t(type->alignment));
    clear(kIsBoxed);
  }
}

bool Envelope::Retype(const MessageType& other) {
  if (HeaderBytes(has(kHasCallPart)) + ValueBytes(other) > units * kBlockUnit) return false;
  type = &other;
  if (IsBoxed(other)) {
    *static_cast<void**>(value()) = NewBox(other);
    set(kIsBoxed);
  }
  return true;
}

void Envelope::Delete(Envelope* envelope) {
  if (envelope->has(kHasValue)) {
    if (envelope->type->destroy != nullptr || envelope->has(kIsBoxed)) envelope->DropValue();
  } else if (envelope->has(kIsBoxed)) {
    envelope->DropValue();
  }
  FreeBlock(envelope, envelope->units);
}

}  // namespace understudy::internal
