// Join: one item from each of N sources makes a row.
//
// Each source has a mailbox of its own, so the k-th row has the k-th item of each
// source, even if one source is faster than another: an item that comes too early
// waits in its mailbox, which its guard closes. The join needs no tags and no
// sequence numbers, and keeps only one row.
#ifndef UNDERSTUDY_EXAMPLES_PATTERNS_JOIN_H_
#define UNDERSTUDY_EXAMPLES_PATTERNS_JOIN_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/types/optional.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/channel.h"

namespace understudy::patterns {

// Takes the items of a row in any order. A source is closed while the row has its item.
template <class Item>
class Join final : public Actor {
 public:
  using Row = std::vector<Item>;
  MailboxArray<"source", Item> sources;

  Join(size_t source_count, Channel<Row> rows)
      : sources(this, source_count, {.capacity_messages = 100'000}), rows_(rows), items_(source_count) {}
  StartResult Start() override { return joining_; }

 private:
  bool IsMissing(size_t source) const { return !items_[source].has_value(); }

  void Take(Item item, size_t source) {
    items_[source] = std::move(item);
    if (++count_ < items_.size()) return;
    Row row;
    for (absl::optional<Item>& taken : items_) row.push_back(*std::exchange(taken, absl::nullopt));
    count_ = 0;
    rows_.Tell(std::move(row));
  }

  Channel<Row> rows_;
  std::vector<absl::optional<Item>> items_;
  size_t count_ = 0;
  Behavior joining_{"joining", On(sources, &Join::Take).When(&Join::IsMissing)};
};

// Takes the items of a row in the order of the sources. Only the next source is open.
template <class Item>
class RoundRobinJoin final : public Actor {
 public:
  using Row = std::vector<Item>;
  MailboxArray<"source", Item> sources;

  RoundRobinJoin(size_t source_count, Channel<Row> rows)
      : sources(this, source_count, {.capacity_messages = 100'000}), rows_(rows) {}
  StartResult Start() override { return joining_; }

 private:
  bool IsNext(size_t source) const { return source == row_.size(); }

  void Take(Item item) {
    row_.push_back(std::move(item));
    if (row_.size() == sources.size()) rows_.Tell(std::exchange(row_, {}));
  }

  Channel<Row> rows_;
  Row row_;
  Behavior joining_{"joining in turn", On(sources, &RoundRobinJoin::Take).When(&RoundRobinJoin::IsNext)};
};

}  // namespace understudy::patterns

#endif  // UNDERSTUDY_EXAMPLES_PATTERNS_JOIN_H_
