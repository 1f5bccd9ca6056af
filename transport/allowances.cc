#include "understudy/transport/allowances.h"

#include <algorithm>
#include <cstdint>

#include "understudy/actors/room.h"
#include "understudy/transport/credit.h"

namespace understudy {

int64_t AllowancesInUse::WithinBytes(const RoomAmount& left) const {
  return first_.bytes - std::max(int64_t{0}, left.bytes);
}

// The bytes that are left are below 0 after a large message.
int64_t AllowancesInUse::BeyondBytes(const RoomAmount& left) const { return std::max(int64_t{0}, -left.bytes); }

bool AllowancesInUse::Covers(const RoomAmount& left, int64_t bytes) const {
  if (left.messages < 1 || within_.messages >= kSessionAllowanceMax.messages) return false;
  if (bytes > left.bytes && left != first_) return false;
  const RoomAmount after{.messages = left.messages - 1, .bytes = left.bytes - bytes};
  if (within_.bytes + WithinBytes(after) - WithinBytes(left) > kSessionAllowanceMax.bytes) return false;
  const int64_t beyond = BeyondBytes(after) - BeyondBytes(left);
  return beyond == 0 || beyond_ == 0 || beyond_ + beyond <= kSessionAllowanceMax.bytes;
}

void AllowancesInUse::Change(const RoomAmount& before, const RoomAmount& after) {
  within_ += {.messages = before.messages - after.messages, .bytes = WithinBytes(after) - WithinBytes(before)};
  beyond_ += BeyondBytes(after) - BeyondBytes(before);
}

}  // namespace understudy
