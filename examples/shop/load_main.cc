// load: customers of the shop, over plain gRPC. Each thread places, pays and ships one order after another.
//
// A call whose outcome is unknown is repeated. At the end the stock must agree with the answers: no item is lost, and
// none is sold twice. Exit status 1: an order never reached its end, or the stock is wrong.
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/status.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "understudy/examples/shop/shop.grpc.pb.h"
#include "understudy/examples/shop/shop.pb.h"

ABSL_FLAG(std::string, address, "", "where the shop listens");
ABSL_FLAG(std::string, name, "load", "begins the ids of the orders; another one for each run on the same journal");
ABSL_FLAG(int, threads, 4, "customers");
ABSL_FLAG(int, orders, 1000, "orders of each customer");
ABSL_FLAG(int, skus, 10, "as the shop has it");
ABSL_FLAG(int, items, 100'000, "as the shop has it; 0 for a stock that others have changed: it is not checked");

namespace shop {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

constexpr std::chrono::seconds kCallTimeout(10);
constexpr absl::Duration kPause = absl::Milliseconds(20);  // before a call is repeated
constexpr int kTriesMax = 3000;
constexpr int kProgressEvery = 50;

class Totals {
 public:
  void AddOrder() {
    absl::MutexLock lock(&mu_);
    if (++shipped_ % kProgressEvery == 0) std::cout << shipped_ << " shipped" << std::endl;
  }
  void AddCall(Milliseconds latency) {
    absl::MutexLock lock(&mu_);
    latencies_.push_back(latency.count());
  }
  void AddRepetition() {
    absl::MutexLock lock(&mu_);
    ++repeated_;
  }
  void AddFailure(const std::string& what) {
    absl::MutexLock lock(&mu_);
    ++failed_;
    std::cout << what << std::endl;
  }
  // Before a call is repeated: lets some time pass, unless a customer has failed.
  void Pause() {
    absl::MutexLock lock(&mu_);
    const auto has_failed = [this]() ABSL_SHARED_LOCKS_REQUIRED(mu_) { return failed_ > 0; };
    mu_.AwaitWithTimeout(absl::Condition(&has_failed), kPause);
  }
  int shipped() const {
    absl::MutexLock lock(&mu_);
    return shipped_;
  }
  // Prints the totals; returns whether nothing failed.
  bool Print(std::chrono::duration<double> took) {
    absl::MutexLock lock(&mu_);
    std::sort(latencies_.begin(), latencies_.end());
    const auto part = [this](double p) ABSL_SHARED_LOCKS_REQUIRED(mu_) {
      return latencies_.empty() ? 0 : latencies_[static_cast<size_t>(p * static_cast<double>(latencies_.size() - 1))];
    };
    std::cout << absl::StrFormat("%d orders, %d calls in %.2f s: %.0f calls a second, p50 %.2f ms, p99 %.2f ms\n",
                                 shipped_, latencies_.size(), took.count(),
                                 static_cast<double>(latencies_.size()) / took.count(), part(0.5), part(0.99))
              << repeated_ << " calls repeated, " << failed_ << " failed" << std::endl;
    return failed_ == 0;
  }

 private:
  mutable absl::Mutex mu_;
  int shipped_ ABSL_GUARDED_BY(mu_) = 0;
  int repeated_ ABSL_GUARDED_BY(mu_) = 0;
  int failed_ ABSL_GUARDED_BY(mu_) = 0;
  std::vector<double> latencies_ ABSL_GUARDED_BY(mu_);  // of answered calls, in milliseconds
};

// Returns whether a call that ended with `code` may or may not have been done.
bool IsUnknown(grpc::StatusCode code) {
  return code == grpc::StatusCode::UNAVAILABLE || code == grpc::StatusCode::ABORTED ||
         code == grpc::StatusCode::DEADLINE_EXCEEDED || code == grpc::StatusCode::RESOURCE_EXHAUSTED;
}

template <class Request, class Reply>
grpc::Status CallUntilKnown(Shop::Stub& stub,
                            grpc::Status (Shop::Stub::*rpc)(grpc::ClientContext*, const Request&, Reply*),
                            const Request& request, Reply* reply, Totals& totals) {
  grpc::Status status;
  for (int tries = 0; tries < kTriesMax; ++tries) {
    const Clock::time_point began = Clock::now();
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kCallTimeout);
    status = (stub.*rpc)(&context, request, reply);
    if (!IsUnknown(status.error_code())) {
      totals.AddCall(Clock::now() - began);
      break;
    }
    totals.AddRepetition();
    totals.Pause();
  }
  return status;
}

void BuyAll(Shop::Stub& stub, int customer, Totals& totals) {
  for (int i = 0; i < absl::GetFlag(FLAGS_orders); ++i) {
    PlaceRequest place;
    place.set_order(absl::StrCat(absl::GetFlag(FLAGS_name), "-", customer, "-", i));
    place.set_sku(absl::StrCat("sku-", (customer + i) % absl::GetFlag(FLAGS_skus)));
    place.set_items(1);
    OrderRequest order;
    order.set_order(place.order());
    OrderStatus reply;
    grpc::Status status = CallUntilKnown(stub, &Shop::Stub::Place, place, &reply, totals);
    if (status.ok()) status = CallUntilKnown(stub, &Shop::Stub::Pay, order, &reply, totals);
    if (status.ok()) status = CallUntilKnown(stub, &Shop::Stub::Ship, order, &reply, totals);
    if (status.ok()) {
      totals.AddOrder();
    } else {
      totals.AddFailure(absl::StrCat("order ", place.order(), ": ", status.error_message()));
    }
  }
}

// Waits until the shop has started: before that, the gateway says UNAVAILABLE.
bool AwaitShop(Shop::Stub& stub, Totals& totals) {
  for (int tries = 0; tries < kTriesMax; ++tries) {
    StockRequest request;
    request.set_sku("sku-0");
    StockStatus stock;
    if (CallUntilKnown(stub, &Shop::Stub::CountStock, request, &stock, totals).ok()) return true;
    totals.Pause();
  }
  std::cout << "the shop does not start" << std::endl;
  return false;
}

// Waits until the items know of every order that was shipped.
bool IsStockRight(Shop::Stub& stub, Totals& totals) {
  const int items = absl::GetFlag(FLAGS_items);
  if (items == 0) return true;
  int shipped = 0;
  for (int tries = 0; tries < kTriesMax && shipped != totals.shipped(); ++tries) {
    shipped = 0;
    for (int i = 0; i < absl::GetFlag(FLAGS_skus); ++i) {
      StockRequest request;
      request.set_sku(absl::StrCat("sku-", i));
      StockStatus stock;
      if (!CallUntilKnown(stub, &Shop::Stub::CountStock, request, &stock, totals).ok()) return false;
      if (stock.free() + stock.reserved() + stock.shipped() != items) return false;
      shipped += stock.shipped();
    }
    totals.Pause();
  }
  return shipped == totals.shipped();
}

int Main() {
  const std::unique_ptr<Shop::Stub> stub =
      Shop::NewStub(grpc::CreateChannel(absl::GetFlag(FLAGS_address), grpc::InsecureChannelCredentials()));
  Totals before, totals;
  if (!AwaitShop(*stub, before)) return 1;
  const Clock::time_point began = Clock::now();
  std::vector<std::thread> customers;
  for (int i = 0; i < absl::GetFlag(FLAGS_threads); ++i) {
    customers.emplace_back([&stub, i, &totals] { BuyAll(*stub, i, totals); });
  }
  for (std::thread& customer : customers) customer.join();
  const bool is_complete = totals.Print(Clock::now() - began);
  const bool is_right = IsStockRight(*stub, totals);
  std::cout << (is_right ? "the stock is right" : "the stock is wrong") << std::endl;
  return is_complete && is_right ? 0 : 1;
}

}  // namespace
}  // namespace shop

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  return shop::Main();
}
