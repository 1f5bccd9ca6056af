#include "understudy/examples/auction/english_auction.h"

#include <cstddef>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "understudy/actors/context.h"

namespace auction {
namespace {

using understudy::Behavior;
using understudy::StartResult;
using understudy::Task;

constexpr size_t kWatchersMax = 100;
// Long enough for the ledger's process to be restarted meanwhile.
constexpr absl::Duration kBookDeadline = absl::Seconds(5);
constexpr int kBookTries = 4;

absl::Status Annotated(absl::string_view doing, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(doing, ": ", status.message()));
}

}  // namespace

std::string PublishedLot(const std::string& lot) { return absl::StrCat("auction/", lot); }

EnglishAuction::EnglishAuction(understudy::Named<BookRef> book, LotSetup setup)
    : book_(std::move(book)),
      setup_(std::move(setup)),
      bidding_("bidding", On(make_offer, &EnglishAuction::Bid), On(inquire, &EnglishAuction::Report),
               On(watch, &EnglishAuction::AddWatcher).When(&EnglishAuction::HasRoom),
               At(setup_.closes_at, &EnglishAuction::CloseBidding)),
      closed_("closed", On(make_offer, &EnglishAuction::Bid), On(inquire, &EnglishAuction::Report), Drop(watch)) {}

Task<StartResult> EnglishAuction::Recover() {
  absl::Status failed;
  for (int i = 0; i < kBookTries; ++i) {
    auto looking = context().Lookup<BookRef>(book_.name(), kBookDeadline);
    absl::StatusOr<BookRef> book = co_await looking;
    if (!book.ok()) {
      failed = book.status();
      continue;
    }
    LoadRequest request;
    request.set_lot(setup_.lot);
    auto asked = book->load().Ask(std::move(request), kBookDeadline);
    absl::StatusOr<LotState> state = co_await asked;
    if (!state.ok()) {
      failed = state.status();
      continue;
    }
    best_ = state->best();
    offers_ = state->offers();
    is_closed_ = state->closed();
    for (const RecordedOffer& recorded : state->newest()) newest_[recorded.offer().bidder()] = recorded;
    co_return is_closed_ ? closed_ : bidding_;
  }
  co_return Annotated("loading from the book", failed);
}

Task<absl::StatusOr<RecordReply>> EnglishAuction::Record(RecordRequest request) {
  absl::Status failed;
  for (int i = 0; i < kBookTries; ++i) {
    auto looking = context().Lookup<BookRef>(book_.name(), kBookDeadline);
    absl::StatusOr<BookRef> book = co_await looking;
    if (!book.ok()) {
      failed = book.status();
      continue;
    }
    auto asked = book->record().Ask(request, kBookDeadline);
    absl::StatusOr<RecordReply> reply = co_await asked;
    if (reply.ok() || absl::IsInvalidArgument(reply.status())) co_return reply;
    failed = reply.status();
  }
  co_return Annotated("writing to the book", failed);
}

Task<absl::StatusOr<OfferResult>> EnglishAuction::Bid(Offer offer) {
  if (offer.lot() != setup_.lot || offer.cents() <= 0) {
    co_return absl::InvalidArgumentError(
        absl::StrCat("offer of ", offer.cents(), " cents for lot '", offer.lot(), "' came to lot '", setup_.lot, "'"));
  }
  const auto known = newest_.find(offer.bidder());
  if (known != newest_.end() && known->second.offer().offer_id() == offer.offer_id()) {
    OfferResult result = ResultOf(known->second);
    result.set_repeated(true);
    co_return result;
  }
  RecordRequest request;
  RecordedOffer& recorded = *request.mutable_recorded();
  *recorded.mutable_offer() = std::move(offer);
  recorded.set_verdict(Judge(setup_.terms, best_.cents(), recorded.offer()));
  const Offer best_before = best_;
  if (recorded.verdict() == ACCEPTED) best_ = recorded.offer();
  if (recorded.verdict() == ACCEPTED && is_closed_) *request.mutable_closing() = ClosingNow();

  auto recording = Record(request);
  absl::StatusOr<RecordReply> reply = co_await recording;
  if (!reply.ok()) {
    best_ = best_before;
    if (absl::IsInvalidArgument(reply.status())) co_return reply.status();
    co_return Fail(reply.status());  // the book may have recorded the offer: the next life will know when it loads
  }
  if (reply->repeated()) {  // the ledger has an older offer with this id that is not in newest_
    best_ = best_before;
    recorded.set_verdict(reply->verdict());
    OfferResult result = ResultOf(recorded);
    result.set_repeated(true);
    co_return result;
  }
  Remember(recorded);
  if (offers_ == setup_.crash_at_offer) {
    throw InjectedCrash(absl::StrCat("rehearsed, at offer ", offers_, " of ", setup_.lot));
  }
  if (recorded.verdict() == ACCEPTED) TellWatchers();
  co_return ResultOf(recorded);
}

AuctionStatus EnglishAuction::Report(const InquireRequest&) {
  AuctionStatus status;
  status.set_lot(setup_.lot);
  status.set_closed(is_closed_);
  status.set_best_cents(best_.cents());
  status.set_best_bidder(best_.bidder());
  status.set_offers(offers_);
  return status;
}

absl::Status EnglishAuction::AddWatcher(const WatchRequest& request) {
  absl::StatusOr<WatcherRef> watcher = WatcherRef::FromProto(request.watcher(), context().Self());
  if (!watcher.ok()) return watcher.status();
  watchers_.push_back(*watcher);
  return absl::OkStatus();
}

bool EnglishAuction::HasRoom() const { return watchers_.size() < kWatchersMax; }

Task<absl::StatusOr<Behavior>> EnglishAuction::CloseBidding() {
  RecordRequest request;
  *request.mutable_closing() = ClosingNow();
  auto recording = Record(std::move(request));
  absl::StatusOr<RecordReply> reply = co_await recording;
  if (!reply.ok()) co_return Fail(reply.status());
  is_closed_ = true;
  co_return closed_;
}

OfferResult EnglishAuction::ResultOf(const RecordedOffer& recorded) const {
  OfferResult result;
  result.set_offer_id(recorded.offer().offer_id());
  result.set_verdict(recorded.verdict());
  result.set_best_cents(best_.cents());
  return result;
}

void EnglishAuction::Remember(const RecordedOffer& recorded) {
  ++offers_;
  newest_[recorded.offer().bidder()] = recorded;
}

void EnglishAuction::TellWatchers() {
  PriceChange change;
  change.set_lot(setup_.lot);
  change.set_cents(best_.cents());
  change.set_bidder(best_.bidder());
  for (const WatcherRef& watcher : watchers_) watcher.price_changed().Tell(change);
}

Closing EnglishAuction::ClosingNow() const {
  Closing closing;
  closing.set_lot(setup_.lot);
  closing.set_winner(best_.bidder());
  closing.set_cents(best_.cents());
  closing.set_offer_id(best_.offer_id());
  return closing;
}

}  // namespace auction
