// RollCall: asks the steward of each node for its report, and waits for nodes that are
// not up yet.
//
// `result` is answered when all stewards have answered or their time is over. An actor
// in the process style.
#ifndef UNDERSTUDY_EXAMPLES_AUCTION_ROLL_CALL_H_
#define UNDERSTUDY_EXAMPLES_AUCTION_ROLL_CALL_H_

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

struct WhenCalled {};
struct Roll {
  std::vector<NodeReport> reports;    // of the nodes that answered, in order
  std::vector<std::string> problems;  // one for each node that did not answer
};

class RollCall final : public understudy::Actor {
 public:
  // Waits at most `patience` for each of `nodes`.
  RollCall(std::vector<std::string> nodes, absl::Duration patience) : nodes_(std::move(nodes)), patience_(patience) {}

  understudy::Mailbox<"result", understudy::Call<WhenCalled, Roll>> result{this};

 private:
  understudy::StartResult Start() override { return CallAll(); }
  understudy::Task<> CallAll();
  understudy::Task<> CallOne(std::string node);

  const std::vector<std::string> nodes_;
  const absl::Duration patience_;
  Roll roll_;
};

}  // namespace auction

#endif  // UNDERSTUDY_EXAMPLES_AUCTION_ROLL_CALL_H_
