// ReadToEnd: all items of an upload, for probes and mocks (mailbox_probe.h, mailbox_mock.h). In a handler's turn.
#ifndef UNDERSTUDY_ACTORS_TESTING_READ_TO_END_H_
#define UNDERSTUDY_ACTORS_TESTING_READ_TO_END_H_

#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/stream.h"
#include "understudy/actors/task.h"

namespace understudy::internal {

// The items, or the error with which the upload ended.
template <class M>
Task<absl::StatusOr<std::vector<M>>> ReadToEnd(Stream<M> upload) {
  std::vector<M> items;
  for (;;) {
    absl::StatusOr<absl::optional<M>> item = co_await upload.Next(absl::InfiniteDuration());
    if (!item.ok()) co_return item.status();
    if (!item->has_value()) co_return items;
    items.push_back(**std::move(item));
  }
}

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_TESTING_READ_TO_END_H_
