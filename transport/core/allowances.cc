#include "understudy/transport/core/allowances.h"

#include <algorithm>
#include <cstdint>

#include "understudy/actors/fault_point.h"
#include "understudy/actors/room.h"
#include "understudy/transport/codec/credit.h"

namespace understudy {
namespace {

// Rules that tests leave out.
FaultPoint kHaveNoBound("allowances_have_no_bound_in_all");
FaultPoint kLargeHaveNoBound("allowances_of_large_messages_have_no_bound_in_all");
FaultPoint kCoverAnyLarge("allowances_cover_large_messages_without_bytes");
FaultPoint kCoverFirstLarge("allowances_cover_large_messages_only_when_untouched");
FaultPoint kCountTogether("allowances_count_large_messages_with_the_others");
FaultPoint kCountNoMessages("allowances_have_no_bound_in_messages");

}  // namespace

int64_t AllowancesInUse::WithinBytes(const RoomAmount& left) const {
  const int64_t first = terms_.first_allowance.bytes;
  if (kCountTogether.armed()) return first - left.bytes;
  return first - std::max(int64_t{0}, left.bytes);
}

// left.bytes is negative after a message that is larger than the allowance.
int64_t AllowancesInUse::BeyondBytes(const RoomAmount& left) const { return std::max(int64_t{0}, -left.bytes); }

bool AllowancesInUse::CoversLarge(const RoomAmount& left) const {
  if (kCoverAnyLarge.armed()) return true;
  if (terms_.large_messages == CreditTerms::LargeMessages::kNeedUntouched || kCoverFirstLarge.armed()) {
    return left == terms_.first_allowance;
  }
  return left.bytes > 0;
}

bool AllowancesInUse::Covers(const RoomAmount& left, int64_t bytes) const {
  if ((left.messages < 1 && !kCountNoMessages.armed()) || within_.messages >= kSessionAllowanceMax.messages)
    return false;
  if (bytes > left.bytes && !CoversLarge(left)) return false;
  const RoomAmount after{.messages = left.messages - 1, .bytes = left.bytes - bytes};
  const int64_t within = within_.bytes + WithinBytes(after) - WithinBytes(left);
  if (within > kSessionAllowanceMax.bytes && !kHaveNoBound.armed()) return false;
  const int64_t beyond = BeyondBytes(after) - BeyondBytes(left);
  return beyond == 0 || beyond_ == 0 || beyond_ + beyond <= kSessionAllowanceMax.bytes || kLargeHaveNoBound.armed();
}

void AllowancesInUse::Change(const RoomAmount& before, const RoomAmount& after) {
  within_ += {.messages = before.messages - after.messages, .bytes = WithinBytes(after) - WithinBytes(before)};
  beyond_ += BeyondBytes(after) - BeyondBytes(before);
}

}  // namespace understudy
