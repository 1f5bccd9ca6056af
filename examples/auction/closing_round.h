// ClosingRound: asks each lot in turn for its status until it has closed. It is
// spawned when the bidders are done. An actor in the process style: one coroutine
// that asks, waits and receives.
//
// `result` is answered when every lot has closed or the deadline is over.
#ifndef UNDERSTUDY_EXAMPLES_AUCTION_CLOSING_ROUND_H_
#define UNDERSTUDY_EXAMPLES_AUCTION_CLOSING_ROUND_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/mailbox.h"
#include "understudy/actors/message.h"
#include "understudy/actors/task.h"
#include "understudy/examples/auction/auction.pb.h"

namespace auction {

struct WhenClosed {};
struct ClosedLots {
  std::vector<AuctionStatus> lots;    // in the order of the constructor's `lots`
  std::vector<std::string> problems;  // one for each lot that did not close in time
};

class ClosingRound final : public understudy::Actor {
 public:
  // A lot that has not closed by `deadline` is a problem.
  ClosingRound(std::vector<std::string> lots, absl::Time deadline) : lots_(std::move(lots)), deadline_(deadline) {}

  understudy::Mailbox<"result", understudy::Call<WhenClosed, ClosedLots>> result{this};

 private:
  understudy::StartResult Start() override { return GoRound(); }
  understudy::Task<> GoRound();
  // Returns true if the lot answers that it is closed.
  understudy::Task<bool> Inquire(std::string lot);

  const std::vector<std::string> lots_;
  const absl::Time deadline_;
  ClosedLots closed_;
};

}  // namespace auction

#endif  // UNDERSTUDY_EXAMPLES_AUCTION_CLOSING_ROUND_H_
