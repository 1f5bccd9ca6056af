// Blocker: an actor that blocks its thread.
#ifndef UNDERSTUDY_TESTS_ACTORS_INSPECTION_BLOCKER_H_
#define UNDERSTUDY_TESTS_ACTORS_INSPECTION_BLOCKER_H_

#include "absl/synchronization/notification.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/mailbox.h"

namespace understudy {

// Blocker: its handler returns at once for 0. For any other number the handler reports that it has begun, and returns
// when the test lets it.
class Blocker final : public Actor {
 public:
  Mailbox<"block", int> block{this};
  Blocker(absl::Notification* begun, absl::Notification* go_on) : begun_(begun), go_on_(go_on) {}
  StartResult Start() override { return blocking_; }

 private:
  void Block(int number) {
    if (number == 0) return;
    begun_->Notify();
    go_on_->WaitForNotification();
  }
  absl::Notification* const begun_;
  absl::Notification* const go_on_;
  Behavior blocking_{"blocking", On(block, &Blocker::Block)};
};

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_ACTORS_INSPECTION_BLOCKER_H_
