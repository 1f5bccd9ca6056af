// Purse: the actor that serves wallet.proto, in either version.
#ifndef UNDERSTUDY_TESTS_TRANSPORT_PROTOCOL_VERSIONS_PURSE_H_
#define UNDERSTUDY_TESTS_TRANSPORT_PROTOCOL_VERSIONS_PURSE_H_

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/stream_writer.h"
#include "understudy/tests/transport/protocol/versions/wallet_version.h"

namespace wallet {

class Purse final : public WalletActor, public AuditActor {
 private:
  understudy::StartResult Start() override { return open_; }

  PayReply Balance() const {
    PayReply reply;
    reply.set_balance(balance_);
    FillWhatIsNew(reply);
    return reply;
  }
  PayReply Pay(const PayRequest& request) {
    balance_ += request.cents();
    return Balance();
  }
  void Promise(const PayRequest& request) { balance_ += request.cents(); }
  understudy::Task<> History(HistoryRequest request, understudy::StreamWriter<PayReply> writer) {
    for (int i = 0; i < request.items(); ++i) {
      absl::Status written = co_await writer.Write(Balance(), absl::Minutes(1));
      if (!written.ok()) co_return;
    }
    writer.Finish(absl::OkStatus());
  }
  ReportReply Report(const ReportRequest&) { return {}; }

  int64_t balance_ = 0;
#ifndef WALLET_IS_OLD
  RefundMailbox refund{this};
#endif
  understudy::Behavior open_{"open",
#ifndef WALLET_IS_OLD
                             Refuse(refund, absl::UnimplementedError("all sales are final")),
#endif
                             On(pay, &Purse::Pay),
                             On(promise, &Purse::Promise),
                             On(history, &Purse::History).Interleaved(),
                             On(report, &Purse::Report)};
};

}  // namespace wallet

#endif  // UNDERSTUDY_TESTS_TRANSPORT_PROTOCOL_VERSIONS_PURSE_H_
