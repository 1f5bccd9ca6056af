#include "understudy/actors/internal/envelope.h"

#include <cstddef>
#include <new>

#include "understudy/actors/message.h"

namespace understudy::internal {
namespace {

void* NewBox(const MessageType& type) { return ::operator new(type.size, std::align_val_t(type.alignment)); }

}  // namespace

Envelope* Envelope::Make(EnvelopeKind kind) {
  auto* envelope = new (AllocateBlock(1)) Envelope;
  envelope->kind = kind;
  return envelope;
}

Envelope* Envelope::Make(EnvelopeKind kind, const MessageType& type, bool has_call_part) {
  const uint8_t units = type.units[has_call_part ? 1 : 0];
  auto* envelope = new (AllocateBlock(units)) Envelope;
  envelope->kind = kind;
  envelope->units = units;
  envelope->type = &type;
  if (has_call_part) {
    envelope->set(kHasCallPart);
    new (&envelope->call()) CallPart;
  }
  if (type.is_boxed) {
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
  if (other.units[has(kHasCallPart) ? 1 : 0] > units) return false;
  type = &other;
  if (other.is_boxed) {
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
