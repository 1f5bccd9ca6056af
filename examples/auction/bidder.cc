#include "understudy/examples/auction/bidder.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/error.h"
#include "understudy/examples/auction/english_auction.h"
#include "understudy/transport/ref_proto.h"

namespace auction {
namespace {

using understudy::Task;

// Long enough for a lot's house to be restarted meanwhile.
constexpr absl::Duration kLookupDeadline = absl::Seconds(10);
// A lot answers only after the ledger, so this is long enough for the ledger's process to be restarted.
constexpr absl::Duration kOfferDeadline = absl::Seconds(10);
// The pause between tries if no Down causes an earlier one.
constexpr absl::Duration kPause = absl::Milliseconds(200);

// True if the lot itself refused the offer, so that another try would get the same answer.
bool IsFinal(const absl::Status& status) {
  return absl::IsInvalidArgument(status) && !understudy::ErrorKindOf(status).has_value();
}

}  // namespace

Bidder::Bidder(std::shared_ptr<const RunPlan> plan, understudy::Channel<TurnDone> done)
    : plan_(std::move(plan)), done_(done) {}

Task<> Bidder::TakeTurn(Turn taken) {
  const std::string& lot = plan_->offers[taken.offer].lot();
  Seat& seat = seats_[lot];
  seat.lot = lot;
  seat.offer = taken.offer;
  seat.tries = 0;
  auto trying = Try(seat);
  co_await trying;
}

Task<> Bidder::Try(Seat& seat) {
  if (!seat.offer.has_value() || seat.is_under_way) co_return;
  if (++seat.tries > kTriesMax) {
    Finish(seat, absl::DeadlineExceededError(absl::StrCat("not answered in ", kTriesMax, " tries")), OfferResult());
    co_return;
  }
  seat.is_under_way = true;
  auto finding = Find(seat);
  absl::Status found = co_await finding;
  if (!found.ok()) {
    seat.is_under_way = false;
    TryLater(seat.lot);
    co_return;
  }
  const AuctionRef lot = *seat.ref;
  auto asked = lot.make_offer().Ask(plan_->offers[*seat.offer], kOfferDeadline);
  absl::StatusOr<OfferResult> result = co_await asked;
  seat.is_under_way = false;
  if (result.ok()) {
    Finish(seat, absl::OkStatus(), *result);
  } else if (IsFinal(result.status())) {
    Finish(seat, result.status(), OfferResult());
  } else if (!seat.ref.has_value()) {  // the lot's Down came before this error
    TryNow(seat.lot);
  } else {
    // If the lot has ended, its Down comes soon and causes the next try. The pause is for a
    // lot that is alive and did not answer.
    TryLater(seat.lot);
  }
}

Task<absl::Status> Bidder::Find(Seat& seat) {
  if (seat.ref.has_value()) co_return absl::OkStatus();
  auto looking = context().Lookup<AuctionRef>(PublishedLot(seat.lot), kLookupDeadline);
  absl::StatusOr<AuctionRef> found = co_await looking;
  if (!found.ok()) co_return found.status();
  seat.ref = *found;
  seat.monitor = context().Monitor(*found, &Bidder::LotDown);
  WatchRequest watch;
  *watch.mutable_watcher() = understudy::ToProto(context().Self());
  found->watch().Tell(std::move(watch));
  if (seat.was_down) Note("found again", seat, "");
  seat.was_down = false;
  co_return absl::OkStatus();
}

Task<> Bidder::TryAgain(Again again) {
  auto trying = Try(seats_[again.lot]);
  co_await trying;
}

void Bidder::LotDown(const understudy::Down& down) {
  for (auto& [lot, seat] : seats_) {
    if (!seat.ref.has_value() || seat.ref->pid() != down.pid) continue;
    seat.ref.reset();
    seat.was_down = true;
    Note("down", seat, down.reason.ToString());
    TryNow(lot);
    return;
  }
}

void Bidder::TryNow(const std::string& lot) { context().Tell(again_, Again{lot}); }

void Bidder::TryLater(const std::string& lot) {
  const auto pause = kPause * (0.5 + context().Random().Fraction());
  absl::Status started = context().StartTimer(lot, pause, [this, lot] { TryNow(lot); });
  if (!started.ok()) Finish(seats_[lot], started, OfferResult());
}

void Bidder::Finish(Seat& seat, const absl::Status& status, const OfferResult& result) {
  (void)context().CancelTimer(seat.lot);
  done_.Tell({.offer = *seat.offer,
              .status = status,
              .verdict = result.verdict(),
              .repeated = result.repeated(),
              .tries = seat.tries,
              .prices_seen = std::exchange(prices_seen_, 0)});
  seat.offer.reset();
}

void Bidder::Note(absl::string_view what, const Seat& seat, absl::string_view why) {
  Happening happening;
  happening.set_unix_micros(absl::ToUnixMicros(context().WallNow()));
  happening.set_node("bidders");
  happening.set_what(std::string(what));
  happening.set_who(PublishedLot(seat.lot));
  happening.set_why(std::string(why));
  chronicle_->note().Tell(std::move(happening));
}

}  // namespace auction
