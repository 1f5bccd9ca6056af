// The supervision trees of the service's nodes.
//
// Any thread; each call gives a new builder.
#ifndef UNDERSTUDY_EXAMPLES_AUCTION_HOUSE_TREE_H_
#define UNDERSTUDY_EXAMPLES_AUCTION_HOUSE_TREE_H_

#include <functional>
#include <string>
#include <vector>

#include "understudy/actors/actor_system.h"
#include "understudy/examples/auction/auction.pb.h"
#include "understudy/examples/auction/english_auction.h"
#include "understudy/supervision/builders.h"

namespace auction {

// The name of the ledger's book.
inline constexpr char kBook[] = "book";

// A house: its lots, each published. A lot that fails is restarted alone; a
// house in which lots keep failing gives up, and its process with it.
understudy::SupervisorBuilder HouseTree(const std::string& node, const std::vector<LotSetup>& lots,
                                        std::function<NodeReport()> totals);

// The ledger: the book over the file at `path`.
understudy::SupervisorBuilder LedgerTree(const std::string& node, const std::string& path,
                                         std::function<NodeReport()> totals);

// The totals of that system's message ledger. `system` outlives the function.
std::function<NodeReport()> TotalsOf(understudy::ActorSystem& system);

}  // namespace auction

#endif  // UNDERSTUDY_EXAMPLES_AUCTION_HOUSE_TREE_H_
