// A process child that publishes a wallet.
#include <cstdio>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "understudy/actors/actor_spec.h"
#include "understudy/actors/actor_system.h"
#include "understudy/tests/transport/protocol/versions/purse.h"
#include "understudy/tests/transport/protocol/versions/wallet_version.h"
#include "understudy/transport/node.h"

namespace wallet {
namespace {

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
