// Request and reply without blocking: an actor that asks closes its other
// mailbox by not naming it, until the reply has come.
//
// SeriesWorker computes terms of the logistic map, each with the help of a
// RateComputer. `StartResult` and `Result` arrive at any time; the worker handles one
// of them, then only the reply. So a Result that was sent after a thousand Next
// is answered after the thousandth: the mailbox counts, nobody else does.
//
// The same can be written as a coroutine: a handler that awaits
//   auto asked = computer_.compute().Ask({term_}, absl::Seconds(1));
//   auto term = co_await asked;
// holds all mailboxes of its actor meanwhile. Two behaviours, as here, let the
// actor keep some of them open.
#ifndef UNDERSTUDY_EXAMPLES_PATTERNS_REQUEST_REPLY_H_
#define UNDERSTUDY_EXAMPLES_PATTERNS_REQUEST_REPLY_H_

#include "understudy/actors/actor.h"
#include "understudy/actors/channel.h"

namespace understudy::patterns {

struct Compute {
  double term = 0;
  Channel<double> reply_to;
};

// Answers r * x * (1 - x) for its rate r.
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
