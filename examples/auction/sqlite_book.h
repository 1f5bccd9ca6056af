// SqliteBook: the ledger, as an actor over a LedgerStore.
//
// Records that wait together are written in one transaction: the first of them makes
// the actor send itself `flush`, which comes after the records that have arrived by
// then. While a commit waits for the disk, the next batch collects in the mailbox. A
// record is answered after its commit, so it is on disk then. Load sees all records
// that came before it.
//
// Failure: if trying again may help, the records of the batch are answered with the
// error. Any other error ends the actor, and the next life opens the file anew.
#ifndef UNDERSTUDY_EXAMPLES_AUCTION_SQLITE_BOOK_H_
#define UNDERSTUDY_EXAMPLES_AUCTION_SQLITE_BOOK_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/behavior.h"
#include "understudy/actors/mailbox.h"
#include "understudy/actors/replier.h"
#include "understudy/examples/auction/auction.actor.h"
#include "understudy/examples/auction/auction.pb.h"
#include "understudy/examples/auction/ledger_store.h"

namespace auction {

class SqliteBook final : public BookActor {
 public:
  // `path` is the database, which is created if it does not exist.
  explicit SqliteBook(std::string path) : path_(std::move(path)) {}

 private:
  struct FlushNow {};

  understudy::StartResult Start() override;
  absl::Status Record(RecordRequest request, understudy::Replier<RecordReply> replier);
  absl::StatusOr<LotState> Load(const LoadRequest& request);
  // Commits the pending records and answers them.
  absl::Status Flush();

  const std::string path_;
  std::unique_ptr<LedgerStore> store_;
  std::vector<RecordRequest> pending_;
  std::vector<understudy::Replier<RecordReply>> repliers_;  // one for each pending record

  understudy::Mailbox<"flush", FlushNow> flush_{this};
  understudy::Behavior serving_{"serving", On(record, &SqliteBook::Record), On(load, &SqliteBook::Load),
                                On(flush_, &SqliteBook::Flush)};
};

}  // namespace auction

#endif  // UNDERSTUDY_EXAMPLES_AUCTION_SQLITE_BOOK_H_
