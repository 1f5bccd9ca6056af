#include "understudy/examples/auction/ledger_store.h"

#include <sqlite3.h>

#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace auction {
namespace {

// synchronous=FULL: in WAL mode each commit waits for the disk.
constexpr char kSchema[] = R"sql(
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  CREATE TABLE IF NOT EXISTS offers(
    sequence INTEGER PRIMARY KEY,
    offer_id INTEGER NOT NULL UNIQUE,
    lot TEXT NOT NULL, bidder TEXT NOT NULL, cents INTEGER NOT NULL,
    time_ms INTEGER NOT NULL, verdict INTEGER NOT NULL);
  CREATE INDEX IF NOT EXISTS offers_of_lot ON offers(lot, bidder, sequence);
  CREATE TABLE IF NOT EXISTS closings(
    lot TEXT PRIMARY KEY, winner TEXT NOT NULL, cents INTEGER NOT NULL, offer_id INTEGER NOT NULL);
)sql";

constexpr char kInsertOffer[] =
    "INSERT INTO offers(offer_id, lot, bidder, cents, time_ms, verdict) VALUES(?1, ?2, ?3, ?4, ?5, ?6) "
    "ON CONFLICT(offer_id) DO NOTHING";
constexpr char kFindOffer[] = "SELECT offer_id, lot, bidder, cents, time_ms, verdict FROM offers WHERE offer_id = ?1";
constexpr char kUpsertClosing[] =
    "INSERT INTO closings(lot, winner, cents, offer_id) VALUES(?1, ?2, ?3, ?4) "
    "ON CONFLICT(lot) DO UPDATE SET winner = ?2, cents = ?3, offer_id = ?4";

constexpr int kBusyTimeoutMs = 5000;

// SQLite's integers are signed; ids use all 64 bits.
int64_t ToColumn(uint64_t id) { return std::bit_cast<int64_t>(id); }
uint64_t FromColumn(int64_t column) { return std::bit_cast<uint64_t>(column); }

}  // namespace

// Query: one use of a statement, which it binds, steps, and resets at the end. A
// prepared statement is borrowed; a statement given as SQL is prepared and owned.
class LedgerStore::Query {
 public:
  Query(LedgerStore& store, sqlite3_stmt* prepared) : store_(store), statement_(prepared) {}
  Query(LedgerStore& store, const char* sql) : store_(store), owned_(true) {
    sqlite3_prepare_v2(store.db_, sql, -1, &statement_, nullptr);
  }
  ~Query() {
    if (owned_) {
      sqlite3_finalize(statement_);
    } else {
      sqlite3_reset(statement_);
    }
  }
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;

  Query& Bind(int64_t value) {
    sqlite3_bind_int64(statement_, ++bound_, value);
    return *this;
  }
  // `value` must outlive the query.
  Query& Bind(const std::string& value) {
    sqlite3_bind_text(statement_, ++bound_, value.data(), static_cast<int>(value.size()), SQLITE_STATIC);
    return *this;
  }

  // Returns true if there is a row.
  absl::StatusOr<bool> Step(absl::string_view doing) {
    const int code = statement_ == nullptr ? SQLITE_ERROR : sqlite3_step(statement_);
    if (code == SQLITE_ROW) return true;
    if (code == SQLITE_DONE) return false;
    return store_.Error(doing);
  }
  int64_t Int(int column) const { return sqlite3_column_int64(statement_, column); }
  std::string Text(int column) const {
    const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    return text == nullptr ? "" : std::string(text, static_cast<size_t>(sqlite3_column_bytes(statement_, column)));
  }
  // For a row of offer_id, lot, bidder, cents, time_ms, verdict.
  RecordedOffer Offer() const {
    RecordedOffer recorded;
    recorded.mutable_offer()->set_offer_id(FromColumn(Int(0)));
    recorded.mutable_offer()->set_lot(Text(1));
    recorded.mutable_offer()->set_bidder(Text(2));
    recorded.mutable_offer()->set_cents(Int(3));
    recorded.mutable_offer()->set_time_ms(Int(4));
    recorded.set_verdict(static_cast<Verdict>(Int(5)));
    return recorded;
  }

 private:
  LedgerStore& store_;
  sqlite3_stmt* statement_ = nullptr;
  bool owned_ = false;
  int bound_ = 0;
};

absl::StatusOr<std::unique_ptr<LedgerStore>> LedgerStore::Open(const std::string& path) {
  sqlite3* db = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  std::unique_ptr<LedgerStore> store(new LedgerStore(db, path));
  if (code != SQLITE_OK) return store->Error("open");
  sqlite3_busy_timeout(db, kBusyTimeoutMs);
  absl::Status status = store->Prepare();
  if (!status.ok()) return status;
  return store;
}

LedgerStore::~LedgerStore() {
  sqlite3_finalize(insert_offer_);
  sqlite3_finalize(find_offer_);
  sqlite3_finalize(upsert_closing_);
  sqlite3_close(db_);
}

absl::Status LedgerStore::Prepare() {
  absl::Status status = Execute(kSchema);
  if (!status.ok()) return status;
  const std::pair<const char*, sqlite3_stmt**> statements[] = {
      {kInsertOffer, &insert_offer_}, {kFindOffer, &find_offer_}, {kUpsertClosing, &upsert_closing_}};
  for (const auto& [sql, statement] : statements) {
    if (sqlite3_prepare_v2(db_, sql, -1, statement, nullptr) != SQLITE_OK) return Error("prepare");
  }
  return absl::OkStatus();
}

absl::Status LedgerStore::Execute(const char* sql) {
  if (sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) return Error(sql);
  return absl::OkStatus();
}

absl::Status LedgerStore::Error(absl::string_view doing) const {
  const int code = db_ == nullptr ? SQLITE_NOMEM : sqlite3_errcode(db_);
  const std::string what = absl::StrCat(path_, ": ", doing, ": ", db_ == nullptr ? "no memory" : sqlite3_errmsg(db_));
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_NOMEM:
      return absl::UnavailableError(what);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return absl::DataLossError(what);
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_READONLY:
      return absl::FailedPreconditionError(what);
    default:
      return absl::InternalError(what);
  }
}

absl::StatusOr<RecordReply> LedgerStore::RecordOffer(const RecordedOffer& recorded) {
  const auction::Offer& offer = recorded.offer();
  RecordReply reply;
  reply.set_verdict(recorded.verdict());
  Query insert(*this, insert_offer_);
  insert.Bind(ToColumn(offer.offer_id())).Bind(offer.lot()).Bind(offer.bidder());
  insert.Bind(offer.cents()).Bind(offer.time_ms()).Bind(int64_t{recorded.verdict()});
  absl::StatusOr<bool> inserted = insert.Step("insert offer");
  if (!inserted.ok()) return inserted.status();
  if (sqlite3_changes(db_) == 1) return reply;

  Query find(*this, find_offer_);
  absl::StatusOr<bool> found = find.Bind(ToColumn(offer.offer_id())).Step("find offer");
  if (!found.ok()) return found.status();
  if (!*found) return absl::InternalError(absl::StrCat(path_, ": offer ", offer.offer_id(), " is neither old nor new"));
  const RecordedOffer known = find.Offer();
  if (known.offer().lot() != offer.lot() || known.offer().bidder() != offer.bidder() ||
      known.offer().cents() != offer.cents() || known.offer().time_ms() != offer.time_ms()) {
    return absl::InvalidArgumentError(absl::StrCat("offer id ", offer.offer_id(),
                                                   " is taken by another offer, for lot '", known.offer().lot(),
                                                   "' by '", known.offer().bidder(), "'"));
  }
  reply.set_verdict(known.verdict());
  reply.set_repeated(true);
  return reply;
}

absl::Status LedgerStore::RecordClosing(const Closing& closing) {
  Query upsert(*this, upsert_closing_);
  upsert.Bind(closing.lot()).Bind(closing.winner()).Bind(closing.cents()).Bind(ToColumn(closing.offer_id()));
  return upsert.Step("upsert closing").status();
}

absl::StatusOr<RecordReply> LedgerStore::RecordOne(const RecordRequest& entry) {
  if (!entry.has_recorded() && !entry.has_closing()) {
    return absl::InvalidArgumentError("the record has neither an offer nor a closing");
  }
  RecordReply reply;
  if (entry.has_recorded()) {
    absl::StatusOr<RecordReply> recorded = RecordOffer(entry.recorded());
    if (!recorded.ok()) return recorded.status();
    reply = *recorded;
  }
  // A repeated offer changes nothing: its closing was written together with it.
  if (entry.has_closing() && !reply.repeated()) {
    absl::Status closed = RecordClosing(entry.closing());
    if (!closed.ok()) return closed;
  }
  return reply;
}

absl::StatusOr<std::vector<absl::StatusOr<RecordReply>>> LedgerStore::Commit(absl::Span<const RecordRequest> entries) {
  absl::Status begun = Execute("BEGIN IMMEDIATE");
  if (!begun.ok()) return begun;
  std::vector<absl::StatusOr<RecordReply>> replies;
  replies.reserve(entries.size());
  for (const RecordRequest& entry : entries) {
    replies.push_back(RecordOne(entry));
    if (replies.back().ok() || absl::IsInvalidArgument(replies.back().status())) continue;
    (void)Execute("ROLLBACK");  // the first error is the one to report
    return replies.back().status();
  }
  absl::Status committed = Execute("COMMIT");
  if (!committed.ok()) {
    (void)Execute("ROLLBACK");
    return committed;
  }
  return replies;
}

absl::StatusOr<LotState> LedgerStore::Load(const std::string& lot) {
  LotState state;
  Query best(*this,
             "SELECT offer_id, lot, bidder, cents, time_ms, verdict FROM offers "
             "WHERE lot = ?1 AND verdict = ?2 ORDER BY cents DESC LIMIT 1");
  absl::StatusOr<bool> row = best.Bind(lot).Bind(int64_t{ACCEPTED}).Step("load best offer");
  if (!row.ok()) return row.status();
  if (*row) *state.mutable_best() = best.Offer().offer();

  Query newest(*this,
               "SELECT offer_id, lot, bidder, cents, time_ms, verdict, MAX(sequence), COUNT(*) FROM offers "
               "WHERE lot = ?1 GROUP BY bidder ORDER BY bidder");
  newest.Bind(lot);
  while (true) {
    row = newest.Step("load offers");
    if (!row.ok()) return row.status();
    if (!*row) break;
    *state.add_newest() = newest.Offer();
    state.set_offers(state.offers() + newest.Int(7));
  }

  Query closing(*this, "SELECT 1 FROM closings WHERE lot = ?1");
  row = closing.Bind(lot).Step("load closing");
  if (!row.ok()) return row.status();
  state.set_closed(*row);
  return state;
}

absl::StatusOr<std::vector<RecordedOffer>> LedgerStore::Offers() {
  std::vector<RecordedOffer> offers;
  Query query(*this, "SELECT offer_id, lot, bidder, cents, time_ms, verdict FROM offers ORDER BY sequence");
  while (true) {
    absl::StatusOr<bool> row = query.Step("read offers");
    if (!row.ok()) return row.status();
    if (!*row) return offers;
    offers.push_back(query.Offer());
  }
}

absl::StatusOr<std::vector<Closing>> LedgerStore::Closings() {
  std::vector<Closing> closings;
  Query query(*this, "SELECT lot, winner, cents, offer_id FROM closings ORDER BY lot");
  while (true) {
    absl::StatusOr<bool> row = query.Step("read closings");
    if (!row.ok()) return row.status();
    if (!*row) return closings;
    Closing& closing = closings.emplace_back();
    closing.set_lot(query.Text(0));
    closing.set_winner(query.Text(1));
    closing.set_cents(query.Int(2));
    closing.set_offer_id(FromColumn(query.Int(3)));
  }
}

}  // namespace auction
