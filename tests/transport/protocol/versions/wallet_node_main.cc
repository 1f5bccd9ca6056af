// A process child that publishes a wallet.
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_spec.h"
#include "understudy/actors/actor_system.h"
#include "understudy/tests/transport/protocol/versions/wallet_version.h"
#include "understudy/transport/node.h"

namespace wallet {
namespace {

class Purse final : public WalletActor, public AuditActor {
 private:
  understudy::StartResult Start() override { return open_; }
  PayReply Pay(const PayRequest& request) {
    PayReply reply;
    reply.set_balance(balance_ += request.cents());
    FillWhatIsNew(reply);
    return reply;
  }
  ReportReply Report(const ReportRequest&) { return {}; }

  int64_t balance_ = 0;
  understudy::Behavior open_{"open", On(pay, &Purse::Pay), On(report, &Purse::Report)};
};

int Run() {
  understudy::ActorSystem system({.name = understudy::Node::GivenName("nobody")});
  absl::StatusOr<std::unique_ptr<understudy::Node>> node = understudy::Node::FromParent(system);
  if (!node.ok()) {
    fprintf(stderr, "%s\n", node.status().ToString().c_str());
    return 70;
  }
  auto purse = understudy::MakeActorSpec<Purse>();
  purse.options.published_as = std::string(kName);
  return (*node)->RunTree(purse);
}

}  // namespace
}  // namespace wallet

int main() { return wallet::Run(); }
