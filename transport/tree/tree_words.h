// Conversion of the enums, times and words of a tree's file between their protobuf form
// and their form in specs.
#ifndef UNDERSTUDY_TRANSPORT_TREE_TREE_WORDS_H_
#define UNDERSTUDY_TRANSPORT_TREE_TREE_WORDS_H_

#include <string>

#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/proto/supervision_tree.pb.h"
#include "understudy/supervision/child_spec.h"

namespace understudy::tree_words {

proto::SupervisionTree::Strategy StrategyOf(RestartStrategy strategy);
RestartStrategy StrategyOf(proto::SupervisionTree::Strategy strategy);
proto::SupervisionTree::AutoShutdown AutoShutdownOf(AutoShutdown when);
AutoShutdown AutoShutdownOf(proto::SupervisionTree::AutoShutdown when);
proto::SupervisedChild::Restart RestartOf(RestartType restart);
RestartType RestartOf(proto::SupervisedChild::Restart restart);

// "10s", "1h30m" or "inf".
std::string TextOf(absl::Duration time);
// The inverse of TextOf; nullopt if `text` is not a time.
absl::optional<absl::Duration> TimeOf(const std::string& text);

// "5s", "brutal_kill" or "infinity".
std::string TextOf(const ChildShutdown& shutdown);
// The inverse of TextOf; nullopt if `text` is not such a word.
absl::optional<ChildShutdown> ShutdownOf(const std::string& text);

}  // namespace understudy::tree_words

#endif  // UNDERSTUDY_TRANSPORT_TREE_TREE_WORDS_H_
