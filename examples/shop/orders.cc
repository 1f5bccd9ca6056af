#include "understudy/examples/shop/orders.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "understudy/actors/error.h"
#include "understudy/actors/fault_point.h"
#include "understudy/examples/shop/inventory.h"

namespace shop {
namespace {

using understudy::Behavior;
using understudy::Task;

// How long an item may take to answer.
constexpr absl::Duration kItemTimeout = absl::Seconds(2);
// The pause before an item that has not confirmed the end of an order is asked again.
constexpr absl::Duration kSettleEvery = absl::Milliseconds(200);
// The actor of an order that was never placed, or has reached its end, ends after this time without a request. The next
// request starts it again from the journal.
constexpr absl::Duration kForgottenAfter = absl::Seconds(5);

// A bug that the tests must find: "the ask failed, so nothing was reserved".
understudy::FaultPoint kTrustsLostAnswers("shop_trusts_lost_answers");

absl::Status NoOrder() { return absl::NotFoundError("there is no such order"); }

}  // namespace

std::string OrderName(const std::string& order) { return absl::StrCat("order/", order); }

absl::StatusOr<std::vector<std::string>> OpenOrders(const Journal& journal) {
  absl::StatusOr<std::vector<std::string>> orders = journal.Keys();
  if (!orders.ok()) return orders.status();
  std::vector<std::string> open;
  for (const std::string& order : *orders) {
    absl::StatusOr<std::vector<OrderRecord>> records = ReadMessages<OrderRecord>(journal, order);
    if (!records.ok()) return records.status();
    if (!records->empty() && !records->back().is_settled()) open.push_back(order);
  }
  return open;
}

CustomerOrder::CustomerOrder(OrderSetup setup)
    : setup_(std::move(setup)),
      absent_("absent", On(place, &CustomerOrder::Begin), Refuse(pay, NoOrder()), Refuse(ship, NoOrder()),
              Refuse(inquire, NoOrder()), Idle(kForgottenAfter, &CustomerOrder::Leave)),
      pending_("pending", On(place, &CustomerOrder::Begin), On(pay, &CustomerOrder::PayPending),
               On(ship, &CustomerOrder::ShipAgain), On(inquire, &CustomerOrder::Tell),
               After(setup_.pay_within, &CustomerOrder::Cancel)),
      paid_("paid", On(place, &CustomerOrder::PlaceAgain), On(pay, &CustomerOrder::PayAgain),
            On(ship, &CustomerOrder::ShipPaid), On(inquire, &CustomerOrder::Tell)),
      ending_("ending", On(place, &CustomerOrder::PlaceAgain), On(pay, &CustomerOrder::PayAgain),
              On(ship, &CustomerOrder::ShipAgain), On(inquire, &CustomerOrder::Tell),
              Every(kSettleEvery, &CustomerOrder::Settle)),
      ended_("ended", On(place, &CustomerOrder::PlaceAgain), On(pay, &CustomerOrder::PayAgain),
             On(ship, &CustomerOrder::ShipAgain), On(inquire, &CustomerOrder::Tell),
             Idle(kForgottenAfter, &CustomerOrder::Leave)) {}

understudy::StartResult CustomerOrder::Start() {
  absl::StatusOr<std::vector<OrderRecord>> records = ReadMessages<OrderRecord>(*setup_.journal, setup_.order);
  if (!records.ok()) return records.status();
  if (!records->empty()) record_ = records->back();
  return BehaviorNow();
}

Task<absl::StatusOr<OrderStatus>> CustomerOrder::Begin(PlaceRequest request) {
  if (record_.status().state() == OrderStatus::UNKNOWN) {
    OrderRecord record;
    record.mutable_status()->set_order(request.order());
    record.mutable_status()->set_sku(request.sku());
    record.mutable_status()->set_items(request.items());
    record.mutable_status()->set_state(OrderStatus::PENDING);
    if (absl::Status saved = Save(record); !saved.ok()) co_return saved;
  }
  absl::StatusOr<OrderStatus> same = PlaceAgain(request);
  if (!same.ok() || record_.is_reserved()) co_return same;

  ReserveRequest reserve;
  reserve.set_order(request.order());
  reserve.set_items(request.items());
  auto asked = Item()->reserve().Ask(reserve, kItemTimeout);
  absl::StatusOr<StockStatus> reserved = co_await asked;
  if (!reserved.ok()) {
    if (understudy::ErrorKindOf(reserved.status()).has_value()) {  // nobody knows: the customer may place it again
      co_return absl::UnavailableError(absl::StrCat("the stock did not answer: ", reserved.status().message()));
    }
    if (absl::IsFailedPrecondition(reserved.status())) {
      if (absl::Status saved = SaveState(OrderStatus::CANCELLED); !saved.ok()) co_return saved;
    }
    co_return reserved.status();
  }
  OrderRecord record = record_;
  record.set_is_reserved(true);
  if (absl::Status saved = Save(record); !saved.ok()) co_return saved;
  co_return record_.status();
}

absl::StatusOr<OrderStatus> CustomerOrder::PayPending(const OrderRequest& /*request*/) {
  if (!record_.is_reserved()) return absl::FailedPreconditionError("its items are not reserved yet: place it again");
  if (absl::Status saved = SaveState(OrderStatus::PAID); !saved.ok()) return saved;
  return record_.status();
}

absl::StatusOr<OrderStatus> CustomerOrder::ShipPaid(const OrderRequest& /*request*/) {
  if (absl::Status saved = SaveState(OrderStatus::SHIPPED); !saved.ok()) return saved;
  return record_.status();
}

absl::Status CustomerOrder::Cancel() {
  absl::Status saved = SaveState(OrderStatus::CANCELLED);
  return saved.ok() ? saved : Fail(saved);  // starts again, with a new time to pay
}

Task<> CustomerOrder::Settle() {
  OrderRequest request;
  request.set_order(setup_.order);
  const bool is_shipped = record_.status().state() == OrderStatus::SHIPPED;
  if (is_shipped || record_.is_reserved() || !kTrustsLostAnswers.armed()) {
    auto asked = (is_shipped ? Item()->ship() : Item()->release()).Ask(request, kItemTimeout);
    absl::StatusOr<StockStatus> told = co_await asked;
    if (!told.ok()) co_return;  // the next time
  }
  OrderRecord record = record_;
  record.set_is_settled(true);
  (void)Save(record);  // if it fails, the next time
}

absl::StatusOr<OrderStatus> CustomerOrder::PlaceAgain(const PlaceRequest& request) {
  const OrderStatus& status = record_.status();
  if (request.sku() != status.sku() || request.items() != status.items()) {
    return absl::AlreadyExistsError(
        absl::StrCat("order ", setup_.order, " is one of ", status.items(), " items of ", status.sku()));
  }
  if (status.state() == OrderStatus::CANCELLED) return absl::FailedPreconditionError("the order is cancelled");
  return status;
}

absl::StatusOr<OrderStatus> CustomerOrder::PayAgain(const OrderRequest& /*request*/) {
  if (record_.status().state() == OrderStatus::CANCELLED) {
    return absl::FailedPreconditionError("the order is cancelled");
  }
  return record_.status();
}

absl::StatusOr<OrderStatus> CustomerOrder::ShipAgain(const OrderRequest& /*request*/) {
  if (record_.status().state() != OrderStatus::SHIPPED) return absl::FailedPreconditionError("the order is not paid");
  return record_.status();
}

absl::Status CustomerOrder::Save(const OrderRecord& record) {
  absl::Status written = setup_.journal->Append(setup_.order, record.SerializeAsString());
  if (!written.ok()) return written;
  record_ = record;
  Become(BehaviorNow());
  return absl::OkStatus();
}

absl::Status CustomerOrder::SaveState(OrderStatus::State state) {
  OrderRecord record = record_;
  record.mutable_status()->set_state(state);
  return Save(record);
}

const Behavior& CustomerOrder::BehaviorNow() const {
  switch (record_.status().state()) {
    case OrderStatus::PENDING:
      return pending_;
    case OrderStatus::PAID:
      return paid_;
    case OrderStatus::SHIPPED:
    case OrderStatus::CANCELLED:
      return record_.is_settled() ? ended_ : ending_;
    default:
      return absent_;
  }
}

understudy::Named<ItemRef> CustomerOrder::Item() const {
  return understudy::Named<ItemRef>(ItemName(record_.status().sku()));
}

}  // namespace shop
