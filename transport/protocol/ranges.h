// Ranges of numbers of fields and enum values.
#ifndef UNDERSTUDY_TRANSPORT_PROTOCOL_RANGES_H_
#define UNDERSTUDY_TRANSPORT_PROTOCOL_RANGES_H_

#include <cstdint>

#include "understudy/transport/protocol/protocol.pb.h"

namespace understudy::actor_protocol {

// Whether one of `ranges` has the number.
template <class Ranges>
bool Holds(const Ranges& ranges, int64_t number) {
  for (const Range& range : ranges) {
    if (range.first() <= number && number <= range.last()) return true;
  }
  return false;
}

// The first number of `range` that none of `ranges` has, or one above range.last() if there is none.
template <class Ranges>
int64_t FirstOutside(const Range& range, const Ranges& ranges) {
  int64_t number = range.first();
  bool has_moved = true;
  while (has_moved && number <= range.last()) {
    has_moved = false;
    for (const Range& other : ranges) {
      if (other.first() > number || number > other.last()) continue;
      number = int64_t{other.last()} + 1;
      has_moved = true;
    }
  }
  return number;
}

}  // namespace understudy::actor_protocol

#endif  // UNDERSTUDY_TRANSPORT_PROTOCOL_RANGES_H_
