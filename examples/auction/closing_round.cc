#include "understudy/examples/auction/closing_round.h"

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "understudy/actors/context.h"
#include "understudy/examples/auction/auction.ref.h"
#include "understudy/examples/auction/english_auction.h"

namespace auction {
namespace {

using understudy::Task;

constexpr absl::Duration kAskDeadline = absl::Seconds(5);
constexpr absl::Duration kPause = absl::Milliseconds(50);

}  // namespace

Task<> ClosingRound::GoRound() {
  for (const std::string& lot : lots_) {
    while (true) {
      auto inquiring = Inquire(lot);
      const bool is_closed = co_await inquiring;
      if (is_closed) break;
      if (context().WallNow() > deadline_) {
        closed_.problems.push_back(absl::StrCat(lot, " has not closed"));
        break;
      }
      auto paused = Receive(After(kPause, [] {}));
      co_await paused;
    }
  }
  auto asked = Receive(On(result, [this](const WhenClosed&) { return closed_; }));
  co_await asked;
}

Task<bool> ClosingRound::Inquire(std::string lot) {
  auto looking = context().Lookup<AuctionRef>(PublishedLot(lot), kAskDeadline);
  absl::StatusOr<AuctionRef> found = co_await looking;
  if (!found.ok()) co_return false;
  auto asked = found->inquire().Ask(InquireRequest(), kAskDeadline);
  absl::StatusOr<AuctionStatus> status = co_await asked;
  if (!status.ok() || !status->closed()) co_return false;
  closed_.lots.push_back(*std::move(status));
  co_return true;
}

}  // namespace auction
