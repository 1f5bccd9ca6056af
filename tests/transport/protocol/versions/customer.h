// Customer: an actor that uses a wallet in each way: it looks it up, tells, asks, and reads a stream.
#ifndef UNDERSTUDY_TESTS_TRANSPORT_PROTOCOL_VERSIONS_CUSTOMER_H_
#define UNDERSTUDY_TESTS_TRANSPORT_PROTOCOL_VERSIONS_CUSTOMER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/stream.h"
#include "understudy/tests/transport/protocol/versions/wallet_version.h"

namespace wallet {

// The results of a customer's calls.
struct Receipt {
  absl::Status end = absl::UnknownError("it has not ended");
  std::vector<int64_t> balances;  // of the reply, and of the items
};

class Customer final : public understudy::Actor {
 public:
  explicit Customer(Receipt* receipt) : receipt_(*receipt) {}

 private:
  understudy::StartResult Start() override { return Use(); }

  understudy::Task<> Use() {
    auto lookup = context().Lookup<WalletRef>(std::string(kName), absl::Seconds(5));
    absl::StatusOr<WalletRef> wallet = co_await lookup;
    receipt_.end = wallet.status();
    if (!wallet.ok()) co_return;
    PayRequest request;
    request.set_cents(250);
    FillWhatIsNew(request);
    wallet->promise().Tell(request);
    auto asked = wallet->pay().Ask(request, absl::Seconds(5));
    absl::StatusOr<PayReply> reply = co_await asked;
    receipt_.end = reply.status();
    if (!reply.ok()) co_return;
    receipt_.balances.push_back(reply->balance());
    HistoryRequest three;
    three.set_items(3);
    understudy::Stream<PayReply> history = wallet->history().Ask(three);
    for (;;) {
      absl::StatusOr<absl::optional<PayReply>> item = co_await history.Next(absl::Seconds(5));
      receipt_.end = item.status();
      if (!item.ok() || !item->has_value()) co_return;
      receipt_.balances.push_back((*item)->balance());
    }
  }

  Receipt& receipt_;
};

}  // namespace wallet

#endif  // UNDERSTUDY_TESTS_TRANSPORT_PROTOCOL_VERSIONS_CUSTOMER_H_
