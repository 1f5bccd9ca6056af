#include "understudy/actors/internal/send/envelope.h"

#include <cstddef>
#include <new>

#include "understudy/actors/message.h"

namespace understudy::internal {

Envelope* Envelope::MakeTraced(const MessageType& type, const TracePart& trace, size_t bytes_behind) {
  const size_t value = type.is_boxed ? sizeof(void*) : type.size;
  const size_t units = UnitsFor(sizeof(Envelope) + sizeof(CallPart) + value + bytes_behind + sizeof(TracePart));
  Envelope* const made = Make(EnvelopeKind::kMessage, type, /*has_call_part=*/true, static_cast<uint8_t>(units));
  made->set(kIsTraced);
  new (&made->trace()) TracePart(trace);
  return made;
}

void Envelope::Box(const MessageType& boxed) {
  *static_cast<void**>(value()) = ::operator new(boxed.size, std::align_val_t(boxed.alignment));
  set(kIsBoxed);
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
  if (other.is_boxed) Box(other);
  return true;
}

}  // namespace understudy::internal
