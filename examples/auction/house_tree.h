// The supervision trees of the service's nodes.
//
// Any thread. Each call returns a new builder.
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

// The tree of a house: its lots, each published. A lot that fails is restarted alone.
// If lots keep failing the tree gives up, and the process ends.
understudy::SupervisorBuilder HouseTree(const std::string& node, const std::vector<LotSetup>& lots,
                                        std::function<NodeReport()> totals);

// The tree of the ledger: the book with the database at `path`.
understudy::SupervisorBuilder LedgerTree(const std::string& node, const std::string& path,
                                         std::function<NodeReport()> totals);

// Returns a function that reports the totals of the system's message ledger. `system`
// must outlive the function.
std::function<NodeReport()> TotalsOf(understudy::ActorSystem& system);

}  // namespace auction

#endif  // UNDERSTUDY_EXAMPLES_AUCTION_HOUSE_TREE_H_
