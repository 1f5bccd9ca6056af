// An actor becomes its other behaviour with each message that a producer sends. Both behaviours are made once and kept.
#include "caf_bench.h"

namespace bench {
namespace {

class Toggle : public caf::event_based_actor {
 public:
  Toggle(caf::actor_config& config, int64_t expected, caf::actor main)
      : caf::event_based_actor(config), expected_(expected), main_(std::move(main)) {
    even_.assign([this](tick_atom, int64_t amount) {
      evens_ += amount;
      become(odd_);
      Count();
    });
    odd_.assign([this](tick_atom, int64_t amount) {
      odds_ += amount;
      become(even_);
      Count();
    });
  }
  caf::behavior make_behavior() override { return even_; }

 private:
  void Count() {
    if (evens_ + odds_ < expected_) return;
    Check(evens_ == odds_, "the behaviors did not alternate");
    send(main_, done_atom::value, evens_ + odds_);
  }

  const int64_t expected_;
  const caf::actor main_;
  int64_t evens_ = 0;
  int64_t odds_ = 0;
  caf::behavior even_;
  caf::behavior odd_;
};

caf::behavior Producer(caf::event_based_actor* self, caf::actor toggle) {
  return {
      [=](start_atom, int64_t messages) {
        for (int64_t i = 0; i < messages; ++i) self->send(toggle, tick_atom::value, int64_t{1});
      },
  };
}

}  // namespace

Measurement Run(caf::actor_system& system, int64_t operations) {
  caf::scoped_actor self{system};
  const caf::actor toggle = system.spawn<Toggle>(operations, caf::actor_cast<caf::actor>(self));
  const caf::actor producer = system.spawn(Producer, toggle);
  const Stopwatch stopwatch;
  self->send(producer, start_atom::value, operations);
  Measurement measured;
  measured.count = AwaitDone(self);
  measured.seconds = stopwatch.Seconds();
  EndAll(self, {toggle, producer});
  return measured;
}

}  // namespace bench
