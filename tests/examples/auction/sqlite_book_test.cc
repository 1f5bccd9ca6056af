#include "understudy/examples/auction/sqlite_book.h"

#include <sqlite3.h>

#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/error.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/test_system.h"
#include "understudy/examples/auction/auction.pb.h"
#include "understudy/examples/auction/auction.ref.h"
#include "understudy/examples/auction/ledger_store.h"
#include "understudy/examples/auction/temp_folder.h"

namespace auction {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

RecordRequest OfferRecord(uint64_t id, const std::string& lot) {
  RecordRequest request;
  request.mutable_recorded()->mutable_offer()->set_offer_id(id);
  request.mutable_recorded()->mutable_offer()->set_lot(lot);
  request.mutable_recorded()->mutable_offer()->set_bidder("anna");
  request.mutable_recorded()->mutable_offer()->set_cents(static_cast<int64_t>(id));
  request.mutable_recorded()->set_verdict(ACCEPTED);
  return request;
}

// Asks to record many offers at once, then asks to load the lot, and keeps the answers.
class Clerk final : public understudy::Actor {
 public:
  struct Log {
    int recorded = 0;
    int repeated = 0;
    int64_t loaded = -1;
  };
  Clerk(BookRef book, int records, Log* log) : book_(book), records_(records), log_(log) {}

 private:
  understudy::StartResult Start() override { return Work(); }
  understudy::Task<> Work() {
    std::vector<understudy::Pending<RecordReply>> asked;
    for (int i = 1; i <= records_; ++i) {
      asked.push_back(book_.record().Ask(OfferRecord(static_cast<uint64_t>(i), "lamp"), absl::Minutes(1)));
    }
    LoadRequest request;
    request.set_lot("lamp");
    auto loading = book_.load().Ask(request, absl::Minutes(1));
    absl::StatusOr<LotState> state = co_await loading;
    if (state.ok()) log_->loaded = state->offers();
    for (const auto& each : asked) {
      absl::StatusOr<RecordReply> reply = co_await each;
      log_->recorded += reply.ok() ? 1 : 0;
      log_->repeated += reply.ok() && reply->repeated() ? 1 : 0;
    }
  }

  const BookRef book_;
  const int records_;
  Log* const log_;
};

class SqliteBookTest : public ::testing::Test {
 protected:
  BookRef SpawnBook() { return system_.Spawn<SqliteBook>(path_); }

  TempFolder folder_ = *TempFolder::Make("book-test");
  const std::string path_ = folder_.File("ledger.db");
  understudy::TestSystem system_{1};
};

TEST_F(SqliteBookTest, ARecordIsOnDiskWhenItIsAnswered) {
  const BookRef book = SpawnBook();
  absl::StatusOr<RecordReply> reply = system_.Ask(book.record(), OfferRecord(1, "lamp"), absl::Seconds(5));
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_THAT(*(*LedgerStore::Open(path_))->Offers(), SizeIs(1));
}

TEST_F(SqliteBookTest, ManyRecordsAreAnsweredAndALoadSeesThoseBeforeIt) {
  const BookRef book = SpawnBook();
  Clerk::Log first;
  system_.Spawn<Clerk>(book, 900, &first);
  system_.RunUntilIdle();
  EXPECT_EQ(first.recorded, 900);
  EXPECT_EQ(first.repeated, 0);
  EXPECT_EQ(first.loaded, 900);
  Clerk::Log second;
  system_.Spawn<Clerk>(book, 900, &second);
  system_.RunUntilIdle();
  EXPECT_EQ(second.repeated, 900);
  EXPECT_EQ(second.loaded, 900);
}

TEST_F(SqliteBookTest, ARecordThatContradictsTheLedgerIsRefusedAlone) {
  const BookRef book = SpawnBook();
  ASSERT_TRUE(system_.Ask(book.record(), OfferRecord(1, "lamp"), absl::Seconds(5)).ok());
  absl::StatusOr<RecordReply> other = system_.Ask(book.record(), OfferRecord(1, "clock"), absl::Seconds(5));
  EXPECT_TRUE(absl::IsInvalidArgument(other.status())) << other.status();
  EXPECT_TRUE(system_.Ask(book.record(), OfferRecord(2, "clock"), absl::Seconds(5)).ok());
}

TEST_F(SqliteBookTest, ARecordThatCannotBeWrittenIsNotAcknowledgedAndTheBookFails) {
  const BookRef book = SpawnBook();
  ASSERT_TRUE(system_.Ask(book.record(), OfferRecord(1, "lamp"), absl::Seconds(5)).ok());
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db, "DROP TABLE offers", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(db);
  absl::StatusOr<RecordReply> reply = system_.Ask(book.record(), OfferRecord(2, "lamp"), absl::Seconds(5));
  EXPECT_FALSE(reply.ok());
  EXPECT_THAT(std::string(reply.status().message()), HasSubstr(path_));
  reply = system_.Ask(book.record(), OfferRecord(3, "lamp"), absl::Seconds(5));
  EXPECT_TRUE(understudy::IsNoProcess(reply.status())) << reply.status();
}

TEST_F(SqliteBookTest, AFileThatIsNoDatabaseFailsTheStartAndTheAskerHearsWhy) {
  std::ofstream(path_) << std::string(4096, 'x');
  absl::StatusOr<RecordReply> reply = system_.Ask(SpawnBook().record(), OfferRecord(1, "lamp"), absl::Seconds(5));
  const auto reason = understudy::ExitReasonOf(reply.status());
  ASSERT_TRUE(reason.has_value()) << reply.status();
  EXPECT_THAT(reason->ToString(), HasSubstr(path_));
}

}  // namespace
}  // namespace auction
