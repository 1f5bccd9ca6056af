// LedgerStore: the ledger's file, an SQLite database in WAL mode.
//
// Requires: one store per file at a time. Guarantees: when Commit returns OK,
// all its entries are on disk (synchronous=FULL), or none when it does not; an
// offer id is stored once, and a repeat is answered with what the ledger holds;
// a lot has at most one closing row, the latest. Threads: one at a time; calls
// block on the disk. Failure: every error of SQLite is a Status with the file
// and SQLite's words; Unavailable when trying again may help (busy, disk full).
//
//   auto store = LedgerStore::Open("/tmp/x/ledger.db");
//   auto recorded = (*store)->Commit(entries);   // one transaction
#ifndef UNDERSTUDY_EXAMPLES_AUCTION_LEDGER_STORE_H_
#define UNDERSTUDY_EXAMPLES_AUCTION_LEDGER_STORE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "understudy/examples/auction/auction.pb.h"

struct sqlite3;
struct sqlite3_stmt;

namespace auction {

class LedgerStore {
 public:
  // Opens the file, and makes it when it is new.
  static absl::StatusOr<std::unique_ptr<LedgerStore>> Open(const std::string& path);
  ~LedgerStore();
  LedgerStore(const LedgerStore&) = delete;
  LedgerStore& operator=(const LedgerStore&) = delete;

  // Writes all entries in one transaction. The answer to each, in order:
  // InvalidArgument for one that contradicts the ledger (the same offer id with
  // other content; an entry with neither offer nor closing); such an entry
  // alone is left out.
  absl::StatusOr<std::vector<absl::StatusOr<RecordReply>>> Commit(absl::Span<const RecordRequest> entries);

  // What a lot needs to go on. A lot that was never recorded has none of it.
  absl::StatusOr<LotState> Load(const std::string& lot);

  // Everything, in the order of writing: for the checks at the end of a run.
  absl::StatusOr<std::vector<RecordedOffer>> Offers();
  absl::StatusOr<std::vector<Closing>> Closings();

 private:
  class Query;

  LedgerStore(sqlite3* db, std::string path) : db_(db), path_(std::move(path)) {}
  absl::Status Prepare();
  absl::Status Execute(const char* sql);
  absl::Status Error(absl::string_view doing) const;
  absl::StatusOr<RecordReply> RecordOne(const RecordRequest& entry);
  absl::StatusOr<RecordReply> RecordOffer(const RecordedOffer& recorded);
  absl::Status RecordClosing(const Closing& closing);

  sqlite3* const db_;
  const std::string path_;
  // Statements, prepared once.
  sqlite3_stmt* insert_offer_ = nullptr;
  sqlite3_stmt* find_offer_ = nullptr;
  sqlite3_stmt* upsert_closing_ = nullptr;
};

}  // namespace auction

#endif  // UNDERSTUDY_EXAMPLES_AUCTION_LEDGER_STORE_H_
