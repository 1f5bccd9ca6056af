// NameNews: who owns a watched name now, for the actor that watches it.
//
// The registry tells each change; the watcher takes the last one. However often the name changes meanwhile, one message
// is under way to the watcher. Threads: any.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_NAME_NEWS_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_NAME_NEWS_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "understudy/actors/pid.h"

namespace understudy::internal {

class NameNews {
 public:
  // `watch`: from Watches::AddName.
  NameNews(uint64_t its_watch, std::string its_name) : watch(its_watch), name(std::move(its_name)) {}

  // `owner` has the name now; null: nobody. Returns true if the watcher must be told to call Take.
  [[nodiscard]] bool Tell(Pid owner) {
    absl::MutexLock lock(&mu_);
    owner_ = owner;
    return !std::exchange(is_told_, true);
  }
  // Returns the present owner. The next Tell returns true.
  Pid Take() {
    absl::MutexLock lock(&mu_);
    is_told_ = false;
    return owner_;
  }

  const uint64_t watch;
  const std::string name;

 private:
  absl::Mutex mu_;
  Pid owner_ ABSL_GUARDED_BY(mu_);
  bool is_told_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_NAME_NEWS_H_
