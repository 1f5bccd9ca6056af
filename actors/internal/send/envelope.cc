#include "understudy/actors/internal/send/envelope.h"

#include <cstddef>
#include <new>

#include "understudy/actors/message.h"

namespace understudy::internal {

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
