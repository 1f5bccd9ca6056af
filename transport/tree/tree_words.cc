#include "understudy/transport/tree/tree_words.h"

#include <string>

#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/proto/supervision_tree.pb.h"
#include "understudy/supervision/child_spec.h"

namespace understudy::tree_words {

// The enums of specs and of the .proto have the same numbers, so a cast converts them.
static_assert(static_cast<int>(RestartStrategy::kOneForAll) == proto::SupervisionTree::ONE_FOR_ALL &&
              static_cast<int>(RestartStrategy::kRestForOne) == proto::SupervisionTree::REST_FOR_ONE);
static_assert(static_cast<int>(AutoShutdown::kAnySignificant) == proto::SupervisionTree::ANY_SIGNIFICANT &&
              static_cast<int>(AutoShutdown::kAllSignificant) == proto::SupervisionTree::ALL_SIGNIFICANT);
static_assert(static_cast<int>(RestartType::kTransient) == proto::SupervisedChild::TRANSIENT &&
              static_cast<int>(RestartType::kTemporary) == proto::SupervisedChild::TEMPORARY);

proto::SupervisionTree::Strategy StrategyOf(RestartStrategy strategy) {
  return static_cast<proto::SupervisionTree::Strategy>(strategy);
}
RestartStrategy StrategyOf(proto::SupervisionTree::Strategy strategy) {
  return proto::SupervisionTree::Strategy_IsValid(strategy) ? static_cast<RestartStrategy>(strategy)
                                                            : RestartStrategy::kOneForOne;
}

proto::SupervisionTree::AutoShutdown AutoShutdownOf(AutoShutdown when) {
  return static_cast<proto::SupervisionTree::AutoShutdown>(when);
}
AutoShutdown AutoShutdownOf(proto::SupervisionTree::AutoShutdown when) {
  return proto::SupervisionTree::AutoShutdown_IsValid(when) ? static_cast<AutoShutdown>(when) : AutoShutdown::kNever;
}

proto::SupervisedChild::Restart RestartOf(RestartType restart) {
  return static_cast<proto::SupervisedChild::Restart>(restart);
}
RestartType RestartOf(proto::SupervisedChild::Restart restart) {
  return proto::SupervisedChild::Restart_IsValid(restart) ? static_cast<RestartType>(restart) : RestartType::kPermanent;
}

std::string TextOf(absl::Duration time) { return absl::FormatDuration(time); }

absl::optional<absl::Duration> TimeOf(const std::string& text) {
  absl::Duration time;
  if (!absl::ParseDuration(text, &time)) return absl::nullopt;
  return time;
}

std::string TextOf(const ChildShutdown& shutdown) {
  switch (shutdown.kind) {
    case ChildShutdown::Kind::kWithin:
      return TextOf(shutdown.timeout);
    case ChildShutdown::Kind::kBrutalKill:
      return "brutal_kill";
    case ChildShutdown::Kind::kInfinity:
      return "infinity";
  }
  return "";
}

absl::optional<ChildShutdown> ShutdownOf(const std::string& text) {
  if (text == "brutal_kill") return ChildShutdown::BrutalKill();
  if (text == "infinity") return ChildShutdown::Infinity();
  const absl::optional<absl::Duration> within = TimeOf(text);
  return within.has_value() ? absl::make_optional(ChildShutdown::Within(*within)) : absl::nullopt;
}

}  // namespace understudy::tree_words
