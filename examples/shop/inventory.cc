#include "understudy/examples/shop/inventory.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace shop {
namespace {

// A bound on memory: about 100 MB for each kind of items.
constexpr size_t kReservationsMax = 1'000'000;

}  // namespace

std::string ItemName(const std::string& sku) { return absl::StrCat("inventory/", sku); }

understudy::StartResult StockItem::Start() {
  absl::StatusOr<std::vector<Reservation>> records = ReadMessages<Reservation>(*setup_.journal, setup_.sku);
  if (!records.ok()) return records.status();
  for (const Reservation& record : *records) Apply(record);
  return open_;
}

absl::StatusOr<StockStatus> StockItem::Reserve(const ReserveRequest& request) {
  const auto known = reservations_.find(request.order());
  if (known != reservations_.end()) {
    if (known->second.state() == Reservation::RESERVED) return StatusNow();
    return absl::FailedPreconditionError(absl::StrCat("order ", request.order(), " has had its items of ", setup_.sku));
  }
  if (request.items() < 1) {
    return absl::InvalidArgumentError(absl::StrCat("cannot reserve ", request.items(), " items: expected at least 1"));
  }
  if (request.items() > free_) {
    return absl::FailedPreconditionError(absl::StrCat("only ", free_, " items of ", setup_.sku, " are free"));
  }
  Reservation reservation;
  reservation.set_order(request.order());
  reservation.set_items(request.items());
  reservation.set_state(Reservation::RESERVED);
  return Record(reservation);
}

absl::StatusOr<StockStatus> StockItem::Release(const OrderRequest& request) {
  Reservation reservation;  // also of an order that has reserved nothing: its Reserve may be under way
  const auto known = reservations_.find(request.order());
  if (known != reservations_.end()) {
    if (known->second.state() != Reservation::RESERVED) return StatusNow();
    reservation = known->second;
  }
  reservation.set_order(request.order());
  reservation.set_state(Reservation::RELEASED);
  return Record(reservation);
}

absl::StatusOr<StockStatus> StockItem::Ship(const OrderRequest& request) {
  const auto known = reservations_.find(request.order());
  if (known == reservations_.end() || known->second.state() == Reservation::RELEASED) {
    return absl::FailedPreconditionError(absl::StrCat("order ", request.order(), " has no items of ", setup_.sku));
  }
  if (known->second.state() == Reservation::SHIPPED) return StatusNow();
  Reservation reservation = known->second;
  reservation.set_state(Reservation::SHIPPED);
  return Record(reservation);
}

absl::StatusOr<StockStatus> StockItem::Record(const Reservation& reservation) {
  if (reservations_.size() >= kReservationsMax && !reservations_.contains(reservation.order())) {
    return absl::ResourceExhaustedError(absl::StrCat(setup_.sku, " has had ", kReservationsMax, " orders"));
  }
  absl::Status written = setup_.journal->Append(setup_.sku, reservation.SerializeAsString());
  if (!written.ok()) return written;
  Apply(reservation);
  return StatusNow();
}

void StockItem::Apply(const Reservation& reservation) {
  const auto count = [this](const Reservation& counted, int32_t sign) {
    if (counted.state() == Reservation::RELEASED) return;
    free_ -= sign * counted.items();
    (counted.state() == Reservation::RESERVED ? reserved_ : shipped_) += sign * counted.items();
  };
  Reservation& present = reservations_[reservation.order()];
  count(present, -1);
  present = reservation;
  count(present, 1);
}

StockStatus StockItem::StatusNow() const {
  StockStatus status;
  status.set_sku(setup_.sku);
  status.set_free(free_);
  status.set_reserved(reserved_);
  status.set_shipped(shipped_);
  return status;
}

}  // namespace shop
