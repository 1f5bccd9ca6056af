// Store: an actor with one bounded mailbox that handles messages at a rate set by the test.
#ifndef UNDERSTUDY_TESTS_SIM_STORE_ACTOR_H_
#define UNDERSTUDY_TESTS_SIM_STORE_ACTOR_H_

#include <cstdint>
#include <map>
#include <memory>

#include "absl/time/time.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/context.h"
#include "understudy/actors/mailbox.h"
#include "understudy/actors/pid.h"
#include "understudy/tests/transport/puppet.pb.h"

namespace understudy {

class Store final : public Actor {
 public:
  // The number of handled notes, by the sender's number, which each note carries.
  using Handled = std::map<int64_t, int64_t>;

  Mailbox<"store/box", net_testing::Note> box;
  Mailbox<"store/open", int> open{this};    // local only: not a wire message
  Mailbox<"store/close", int> close{this};  // local only; has an effect only if the pause is zero

  Store(std::shared_ptr<Handled> handled, MailboxOptions options, absl::Duration pause)
      : box(this, options), handled_(std::move(handled)), pause_(pause) {}
  StartResult Start() override { return closed_; }

 private:
  // Opens the store: it takes one note after each pause or, if the pause is zero, all notes until it is closed.
  Behavior Open(int) {
    if (pause_ == absl::ZeroDuration()) return open_;
    Rest();
    return closed_;
  }
  Behavior Close(int) { return closed_; }
  void Rest() {
    (void)context().StartTimer("pause", pause_, [this](const TimerEvent&) { Become(one_); });
  }
  void Take(const net_testing::Note& note) { ++(*handled_)[note.number()]; }
  void TakeOne(const net_testing::Note& note) {
    Take(note);
    Become(closed_);
    Rest();
  }

  const std::shared_ptr<Handled> handled_;
  const absl::Duration pause_;
  Behavior closed_{"closed", On(open, &Store::Open)};
  Behavior open_{"open", On(box, &Store::Take), On(close, &Store::Close)};
  Behavior one_{"one", On(box, &Store::TakeOne)};
};

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_SIM_STORE_ACTOR_H_
