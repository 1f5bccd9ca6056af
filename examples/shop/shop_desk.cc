#include "understudy/examples/shop/shop_desk.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "understudy/actors/error.h"
#include "understudy/actors/named.h"
#include "understudy/examples/shop/inventory.h"

namespace shop {
namespace {

using understudy::Named;
using understudy::Task;

constexpr size_t kOrderIdBytesMax = 64;
constexpr int kTriesMax = 5;
constexpr absl::Duration kPause = absl::Milliseconds(5);  // between tries
constexpr absl::Duration kTimeout = absl::Seconds(5);     // longer than an order waits for its item

// An id is a name of an actor and of a file.
absl::Status CheckId(const std::string& order) {
  const bool is_valid =
      !order.empty() && order.size() <= kOrderIdBytesMax && std::all_of(order.begin(), order.end(), [](char c) {
        return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_';
      });
  if (is_valid) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("invalid order id: expected 1 to ", kOrderIdBytesMax, " letters, digits, '-' and '_'"));
}

// A customer of another node does not see the errors of actors that the desk asks: they would seem to be the desk's.
absl::Status ForCustomer(const absl::Status& status) {
  if (!understudy::ErrorKindOf(status).has_value()) return status;
  return absl::UnavailableError(absl::StrCat("call again: ", status.message()));
}

}  // namespace

ShopDesk::Answer ShopDesk::PlaceOrder(PlaceRequest request) {
  if (!catalogue_.contains(request.sku())) {
    co_return absl::NotFoundError(absl::StrCat("the shop does not sell '", request.sku(), "'"));
  }
  if (request.items() < 1) {
    co_return absl::InvalidArgumentError(absl::StrCat("cannot order ", request.items(), " items: expected at least 1"));
  }
  auto asking = AskOrder(std::move(request), &OrderRef::place);
  absl::StatusOr<OrderStatus> answer = co_await asking;
  co_return answer;
}

ShopDesk::Answer ShopDesk::PayOrder(OrderRequest request) { return AskOrder(std::move(request), &OrderRef::pay); }
ShopDesk::Answer ShopDesk::ShipOrder(OrderRequest request) { return AskOrder(std::move(request), &OrderRef::ship); }
ShopDesk::Answer ShopDesk::InquireOrder(OrderRequest request) {
  return AskOrder(std::move(request), &OrderRef::inquire);
}

Task<absl::StatusOr<StockStatus>> ShopDesk::Count(StockRequest request) {
  if (!catalogue_.contains(request.sku())) {
    co_return absl::NotFoundError(absl::StrCat("the shop does not sell '", request.sku(), "'"));
  }
  auto asked = Named<ItemRef>(ItemName(request.sku()))->count().Ask(request, kTimeout);
  absl::StatusOr<StockStatus> counted = co_await asked;
  if (!counted.ok()) co_return ForCustomer(counted.status());
  co_return counted;
}

template <class Request>
ShopDesk::Answer ShopDesk::AskOrder(Request request, Rpc<Request> rpc) {
  absl::Status last = CheckId(request.order());
  if (!last.ok()) co_return last;
  for (int tries = 0; tries < kTriesMax; ++tries) {
    auto opening = Open(request.order());
    absl::StatusOr<OrderRef> order = co_await opening;
    last = order.status();
    if (order.ok()) {
      auto asked = ((*order).*rpc)().Ask(request, kTimeout);
      absl::StatusOr<OrderStatus> answer = co_await asked;
      if (answer.ok() || !understudy::ErrorKindOf(answer.status()).has_value()) co_return answer;
      last = answer.status();
    }
    if (understudy::IsExpired(last)) break;  // the customer does not wait any longer
    auto pause = context().Sleep(kPause);
    absl::Status slept = co_await pause;
    if (!slept.ok()) break;
  }
  co_return ForCustomer(last);
}

Task<absl::StatusOr<OrderRef>> ShopDesk::Open(std::string order) {
  understudy::Keyed<OrderSetup> keyed{order, setup_};
  keyed.arguments.order = order;
  auto finding = Named<OrderPool::Ref>("orders")->find_or_start().Ask(keyed, kTimeout);
  absl::StatusOr<OrderPool::ChildRef> found = co_await finding;
  if (!found.ok()) co_return found.status();
  co_return OrderRef(found->pid());
}

}  // namespace shop
