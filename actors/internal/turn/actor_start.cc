#include "understudy/actors/internal/turn/actor_start.h"

#include <memory>
#include <utility>

#include "understudy/actors/actor_spec.h"

namespace understudy::internal {

const SpawnOptions& SpawnRecord::Plain() {
  static const SpawnOptions* const plain = new SpawnOptions;
  return *plain;
}

SpawnRecord::SpawnRecord(SpawnOptions&& options, uint64_t parents_id) : parents_id_(parents_id) {
  options.outcome_handler = nullptr;
  options.down_handler = nullptr;
  if (const auto mail = std::exchange(options.unhandled_mail, nullptr); mail != nullptr) inherited_ = std::move(*mail);
  const SpawnOptions& plain = Plain();
  const bool is_plain = options.registered_as.empty() && options.published_as.empty() && options.label.empty() &&
                        options.start_within == plain.start_within &&
                        options.shutdown_within == plain.shutdown_within && options.thread == plain.thread;
  if (!is_plain) options_ = std::make_unique<SpawnOptions>(std::move(options));
}

}  // namespace understudy::internal
