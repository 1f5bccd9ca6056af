// Which payloads of a status are encoded with it, in an exit reason and between nodes.
#ifndef UNDERSTUDY_ACTORS_STATUS_PAYLOADS_H_
#define UNDERSTUDY_ACTORS_STATUS_PAYLOADS_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/cord.h"

namespace understudy::internal {

struct StatusPayloads {
  std::vector<std::pair<std::string, absl::Cord>> kept;  // each with its type URL
  size_t left_out = 0;
};

// Keeps at most limits::kStatusPayloadsMax payloads of `status`. Those of this library are first, and each group is in
// the order of the URLs, because absl::Status has no order that is the same in each run.
[[nodiscard]] StatusPayloads PayloadsToEncode(const absl::Status& status);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_STATUS_PAYLOADS_H_
