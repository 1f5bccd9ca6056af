// NameNews: the changes of a watched name that are on their way to the actor that watches it.
//
// The registry tells each change. One is under way to the watcher at a time, in a message at its place among the
// others; of the changes that come meanwhile the last one follows it. So no change is told before what was sent before
// it, and however often the name changes, one message is under way. Threads: any.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_NAME_NEWS_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_NAME_NEWS_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "understudy/actors/pid.h"

namespace understudy::internal {

class NameNews {
 public:
  // `watch`: from Watches::AddName.
  NameNews(uint64_t its_watch, std::string its_name) : watch(its_watch), name(std::move(its_name)) {}

  // `owner` has the name now; null: nobody. Returns true if the caller must send the watcher a message about this
  // object.
  [[nodiscard]] bool Tell(Pid owner) {
    absl::MutexLock lock(&mu_);
    if (is_under_way_) {
      newest_ = owner;
      return false;
    }
    is_under_way_ = true;
    owner_ = owner;
    return true;
  }
  struct Arrived {
    Pid owner;
    bool follows = false;  // the receiver must send itself another message about this object
  };
  // The message has arrived. Returns the owner at the time when it was sent.
  Arrived Take() {
    absl::MutexLock lock(&mu_);
    const Arrived arrived{.owner = owner_, .follows = newest_.has_value()};
    is_under_way_ = arrived.follows;
    if (newest_.has_value()) owner_ = *std::exchange(newest_, absl::nullopt);
    return arrived;
  }

  const uint64_t watch;
  const std::string name;

 private:
  absl::Mutex mu_;
  bool is_under_way_ ABSL_GUARDED_BY(mu_) = false;
  Pid owner_ ABSL_GUARDED_BY(mu_);                   // of the message that is under way
  absl::optional<Pid> newest_ ABSL_GUARDED_BY(mu_);  // since that message was sent
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_NAME_NEWS_H_
