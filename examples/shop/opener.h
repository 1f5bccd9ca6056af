// Opener: fills a pool when it starts. The child after the pool under rest_for_one, because a pool that starts again is
// empty.
//
//   RestForOne()
//       .Child("items", Of<ItemPool>(PoolOptions{…}).RegisteredAs("items"))
//       .Child("items opened", Of<Opener<ItemPool>>("items", list))
//
// It has started when all children have, and then runs no longer: it declines to run, and is asked again after the
// pool's next start. If a child cannot start, neither can the Opener.
#ifndef UNDERSTUDY_EXAMPLES_SHOP_OPENER_H_
#define UNDERSTUDY_EXAMPLES_SHOP_OPENER_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/named.h"
#include "understudy/actors/task.h"
#include "understudy/supervision/pool.h"

namespace shop {

template <class Pool>
class Opener final : public understudy::Actor {
 public:
  using Child = understudy::Keyed<typename Pool::Arguments>;
  // `list` is called in the Opener's turn, at each start.
  Opener(std::string pool, std::function<absl::StatusOr<std::vector<Child>>()> list)
      : pool_(std::move(pool)), list_(std::move(list)) {}

 private:
  understudy::StartResult Start() override { return Open(); }

  understudy::Task<understudy::StartResult> Open() {
    absl::StatusOr<std::vector<Child>> children = list_();
    if (!children.ok()) co_return children.status();
    for (const Child& child : *children) {
      auto asked = pool_->start_as().Ask(child, absl::Seconds(5));
      absl::StatusOr<typename Pool::ChildRef> started = co_await asked;
      if (!started.ok()) co_return started.status();
    }
    co_return understudy::StartResult::Ignore();
  }

  const understudy::Named<typename Pool::Ref> pool_;
  const std::function<absl::StatusOr<std::vector<Child>>()> list_;
};

}  // namespace shop

#endif  // UNDERSTUDY_EXAMPLES_SHOP_OPENER_H_
