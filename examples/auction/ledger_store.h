// LedgerStore: the ledger's file, an SQLite database in WAL mode.
//
// Requires: one store per file at a time. Guarantees: if Commit returns OK, all its
// entries are on disk (synchronous=FULL), otherwise none is; an offer id is stored
// once, and a repeated offer is answered with the recorded verdict; a lot has at most
// one closing row, the latest. Threads: one at a time; calls block on the disk.
// Failure: every error of SQLite is a Status with the file and SQLite's message;
// Unavailable if trying again may help (busy, disk full).
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
  // Opens the file, which is created if it does not exist.
  static absl::StatusOr<std::unique_ptr<LedgerStore>> Open(const std::string& path);
  ~LedgerStore();
  LedgerStore(const LedgerStore&) = delete;
  LedgerStore& operator=(const LedgerStore&) = delete;

  // Writes all entries in one transaction. Returns the answer to each, in order. An
  // entry that contradicts the ledger (the same offer id with other contents) or has
  // neither an offer nor a closing is answered with InvalidArgument and left out; the
  // other entries are written.
  absl::StatusOr<std::vector<absl::StatusOr<RecordReply>>> Commit(absl::Span<const RecordRequest> entries);

  // Returns the state of a lot. The state of a lot without records is empty.
  absl::StatusOr<LotState> Load(const std::string& lot);

  // All offers in the order of writing, and all closings in the order of lots, for the
  // checks at the end of a run.
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
