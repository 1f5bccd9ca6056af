// Probe<M>: a mailbox that a test owns and looks into.
//
//   Probe<Bid> bids(system);
//   system.Spawn<Auctioneer>(bids.channel());
//   bids.Expect(Field(&Bid::cents, 500));           // runs the system until idle, then takes the oldest
//   bids.ExpectNothing();
//
// For calls, Probe<Call<Q, R>> gives the request and a Replier for the answer:
//
//   Probe<Call<Query, Rows>> database(system);
//   database.Receive()->replier.Reply(Rows());
//
// A probe keeps the messages in the order of arrival; mailbox_probe.h has the functions that take them. These functions
// run the system until idle, but never let time pass. Threads: the test's thread. Lifetime: destroy the probe before
// the system, with which its actor ends.
#ifndef UNDERSTUDY_ACTORS_TESTING_PROBE_H_
#define UNDERSTUDY_ACTORS_TESTING_PROBE_H_

#include "understudy/actors/actor.h"
#include "understudy/actors/channel.h"
#include "understudy/actors/mailbox.h"
#include "understudy/actors/mailbox_options.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/ref.h"
#include "understudy/actors/test_system.h"
#include "understudy/actors/testing/mailbox_probe.h"

namespace understudy {

namespace internal {

template <class M>
class ProbeActor final : public Actor {
 public:
  Mailbox<"probe", M> probe;

  ProbeActor(KeepsMessages<M> handler, MailboxOptions options)
      : probe(this, options), probing_("probing", On(probe, handler)) {}
  StartResult Start() override { return probing_; }

 private:
  Behavior probing_;
};

}  // namespace internal

template <class M>
class Probe : public MailboxProbe<M> {
 public:
  explicit Probe(TestSystem& system, MailboxOptions options = {})
      : MailboxProbe<M>(system, ""), ref_(system.Spawn<internal::ProbeActor<M>>(this->handler(), options)) {
    this->set_name(ref_.pid().ToString());
  }

  // The channel to the probe, for the actors under test.
  Channel<M> channel() const { return ref_[&internal::ProbeActor<M>::probe]; }
  Pid pid() const { return ref_.pid(); }

 private:
  Ref<internal::ProbeActor<M>> ref_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_TESTING_PROBE_H_
