// Request and reply without blocking: an actor that asks closes its other
// mailbox by not naming it, until the reply has come.
//
// SeriesWorker computes terms of the logistic map, each with the help of a
// RateComputer. NextTerm and GetTerm arrive at any time. After a NextTerm the worker
// handles only the reply, so a GetTerm that was sent after a thousand NextTerm is
// answered after the thousandth reply. The worker needs no counter for that, because
// the messages wait in order.
//
// The same can be written as a coroutine:
//   auto asked = computer_.compute().Ask({term_}, absl::Seconds(1));
//   auto term = co_await asked;
// A handler that awaits keeps all mailboxes of its actor closed meanwhile. With two
// behaviours, as here, the actor may keep some of them open.
#ifndef UNDERSTUDY_EXAMPLES_PATTERNS_REQUEST_REPLY_H_
#define UNDERSTUDY_EXAMPLES_PATTERNS_REQUEST_REPLY_H_

#include "understudy/actors/actor.h"
#include "understudy/actors/channel.h"

namespace understudy::patterns {

struct Compute {
  double term = 0;
  Channel<double> reply_to;
};

// Replies to a term x with r * x * (1 - x) for its rate r.
class RateComputer final : public Actor {
 public:
  Mailbox<"compute", Compute> compute{this};

  explicit RateComputer(double rate) : rate_(rate) {}
  StartResult Start() override { return computing_; }

 private:
  void Answer(const Compute& asked) { asked.reply_to.Tell(rate_ * asked.term * (1 - asked.term)); }

  double rate_;
  Behavior computing_{"computing", On(compute, &RateComputer::Answer)};
};

struct NextTerm {};
struct GetTerm {};

class SeriesWorker final : public Actor {
 public:
  Mailbox<"next", NextTerm> next{this, {.capacity_messages = 100'000}};
  Mailbox<"get", Call<GetTerm, double>> get{this};
  Mailbox<"reply", double> reply{this};

  SeriesWorker(Ref<RateComputer> computer, double first_term) : computer_(computer), term_(first_term) {}
  StartResult Start() override { return ready_; }

 private:
  Behavior AskForNext(const NextTerm&) {
    computer_[&RateComputer::compute].Tell({term_, context().ChannelTo(reply)});
    return waiting_;
  }
  Behavior TakeReply(double term) {
    term_ = term;
    return ready_;
  }
  double Term(const GetTerm&) { return term_; }

  Ref<RateComputer> computer_;
  double term_;
  Behavior ready_{"ready", On(next, &SeriesWorker::AskForNext), On(get, &SeriesWorker::Term)};
  Behavior waiting_{"waiting for the reply", On(reply, &SeriesWorker::TakeReply)};
};

}  // namespace understudy::patterns

#endif  // UNDERSTUDY_EXAMPLES_PATTERNS_REQUEST_REPLY_H_
