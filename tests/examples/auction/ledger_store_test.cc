#include "understudy/examples/auction/ledger_store.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/examples/auction/auction.pb.h"

namespace auction {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string FreshPath() {
  static int count = 0;
  return absl::StrCat(::testing::TempDir(), "/ledger-", getpid(), "-", ++count, ".db");
}

std::unique_ptr<LedgerStore> OpenOrDie(const std::string& path) {
  absl::StatusOr<std::unique_ptr<LedgerStore>> store = LedgerStore::Open(path);
  EXPECT_TRUE(store.ok()) << store.status();
  return store.ok() ? *std::move(store) : nullptr;
}

RecordRequest OfferRecord(uint64_t id, const std::string& lot, const std::string& bidder, int64_t cents,
                          Verdict verdict = ACCEPTED) {
  RecordRequest request;
  RecordedOffer& recorded = *request.mutable_recorded();
  recorded.mutable_offer()->set_offer_id(id);
  recorded.mutable_offer()->set_lot(lot);
  recorded.mutable_offer()->set_bidder(bidder);
  recorded.mutable_offer()->set_cents(cents);
  recorded.mutable_offer()->set_time_ms(1);
  recorded.set_verdict(verdict);
  return request;
}

RecordRequest ClosingRecord(const std::string& lot, const std::string& winner, int64_t cents) {
  RecordRequest request;
  request.mutable_closing()->set_lot(lot);
  request.mutable_closing()->set_winner(winner);
  request.mutable_closing()->set_cents(cents);
  return request;
}

TEST(LedgerStoreTest, CommittedRecordsAreThereAfterReopening) {
  const std::string path = FreshPath();
  {
    auto store = OpenOrDie(path);
    auto replies = store->Commit({OfferRecord(1, "a", "anna", 100), OfferRecord(UINT64_MAX, "a", "bo", 50, TOO_LOW),
                                  ClosingRecord("a", "anna", 100)});
    ASSERT_TRUE(replies.ok()) << replies.status();
    EXPECT_EQ((*replies)[0]->verdict(), ACCEPTED);
    EXPECT_EQ((*replies)[1]->verdict(), TOO_LOW);
    EXPECT_FALSE((*replies)[1]->repeated());
  }
  auto store = OpenOrDie(path);
  ASSERT_THAT(*store->Offers(), SizeIs(2));
  EXPECT_EQ((*store->Offers())[1].offer().offer_id(), UINT64_MAX);
  EXPECT_THAT(*store->Closings(), SizeIs(1));
}

TEST(LedgerStoreTest, ALotLoadsItsBestOfferItsCountAndEachBiddersNewestOffer) {
  auto store = OpenOrDie(FreshPath());
  ASSERT_TRUE(store
                  ->Commit({OfferRecord(1, "a", "anna", 100), OfferRecord(2, "a", "bo", 120),
                            OfferRecord(3, "a", "anna", 110, TOO_LOW), OfferRecord(4, "b", "anna", 900)})
                  .ok());
  absl::StatusOr<LotState> state = store->Load("a");
  ASSERT_TRUE(state.ok());
  EXPECT_EQ(state->best().bidder(), "bo");
  EXPECT_EQ(state->best().cents(), 120);
  EXPECT_EQ(state->offers(), 3);
  EXPECT_FALSE(state->closed());
  ASSERT_THAT(state->newest(), SizeIs(2));
  EXPECT_EQ(state->newest(0).offer().offer_id(), 3u);
  EXPECT_EQ(state->newest(0).verdict(), TOO_LOW);
  EXPECT_EQ(state->newest(1).offer().offer_id(), 2u);
}

TEST(LedgerStoreTest, ALotWithoutRecordsLoadsEmpty) {
  absl::StatusOr<LotState> state = OpenOrDie(FreshPath())->Load("never");
  ASSERT_TRUE(state.ok());
  EXPECT_FALSE(state->has_best());
  EXPECT_EQ(state->offers(), 0);
}

TEST(LedgerStoreTest, ARepeatedOfferIsRecognisedAndKeepsItsFirstVerdict) {
  auto store = OpenOrDie(FreshPath());
  ASSERT_TRUE(store->Commit({OfferRecord(7, "a", "anna", 100)}).ok());
  auto again = store->Commit({OfferRecord(7, "a", "anna", 100, TOO_LOW), OfferRecord(8, "a", "bo", 110)});
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE((*again)[0]->repeated());
  EXPECT_EQ((*again)[0]->verdict(), ACCEPTED);
  EXPECT_FALSE((*again)[1]->repeated());
  EXPECT_THAT(*store->Offers(), SizeIs(2));
}

TEST(LedgerStoreTest, AnIdTakenByAnotherOfferIsRefusedAloneAndNamed) {
  auto store = OpenOrDie(FreshPath());
  auto replies = store->Commit(
      {OfferRecord(7, "a", "anna", 100), OfferRecord(7, "b", "bo", 5), RecordRequest(), OfferRecord(8, "b", "bo", 5)});
  ASSERT_TRUE(replies.ok());
  EXPECT_TRUE((*replies)[0].ok());
  EXPECT_TRUE(absl::IsInvalidArgument((*replies)[1].status()));
  EXPECT_THAT(std::string((*replies)[1].status().message()), HasSubstr("offer id 7"));
  EXPECT_TRUE(absl::IsInvalidArgument((*replies)[2].status()));
  EXPECT_TRUE((*replies)[3].ok());
  EXPECT_THAT(*store->Offers(), SizeIs(2));
}

TEST(LedgerStoreTest, ALotHasOneClosingRowTheLatest) {
  auto store = OpenOrDie(FreshPath());
  ASSERT_TRUE(store->Commit({ClosingRecord("a", "anna", 100), ClosingRecord("b", "", 0)}).ok());
  RecordRequest delayed = OfferRecord(9, "a", "bo", 150);
  *delayed.mutable_closing() = ClosingRecord("a", "bo", 150).closing();
  ASSERT_TRUE(store->Commit({delayed}).ok());
  EXPECT_TRUE(store->Load("a")->closed());
  absl::StatusOr<std::vector<Closing>> closings = store->Closings();
  ASSERT_THAT(*closings, SizeIs(2));
  EXPECT_EQ((*closings)[0].winner(), "bo");
  EXPECT_EQ((*closings)[0].cents(), 150);
}

TEST(LedgerStoreTest, TextWithNulAndQuotesIsStoredAsItIs) {
  auto store = OpenOrDie(FreshPath());
  const std::string odd("o'Hara\0\"; DROP TABLE offers; --", 30);
  ASSERT_TRUE(store->Commit({OfferRecord(1, odd, odd, 100)}).ok());
  EXPECT_EQ(store->Load(odd)->best().bidder(), odd);
}

// A process crashes between the write and the answer. The records that it committed before SIGKILL are in the ledger.
TEST(LedgerStoreTest, CommitsSurviveAKillAndAreRecognisedAfterIt) {
  const std::string path = FreshPath();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto store = LedgerStore::Open(path);
    if (store.ok()) (void)(*store)->Commit({OfferRecord(1, "a", "anna", 100), OfferRecord(2, "a", "bo", 110)});
    raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  auto store = OpenOrDie(path);
  EXPECT_EQ(store->Load("a")->best().bidder(), "bo");
  auto repeated = store->Commit({OfferRecord(2, "a", "bo", 110, TOO_LOW)});
  ASSERT_TRUE(repeated.ok());
  EXPECT_TRUE((*repeated)[0]->repeated());
  EXPECT_EQ((*repeated)[0]->verdict(), ACCEPTED);
}

TEST(LedgerStoreTest, AFileThatIsNoDatabaseIsAnErrorWithItsName) {
  const std::string path = FreshPath();
  std::ofstream(path) << std::string(4096, 'x');
  absl::StatusOr<std::unique_ptr<LedgerStore>> store = LedgerStore::Open(path);
  EXPECT_TRUE(absl::IsDataLoss(store.status())) << store.status();
  EXPECT_THAT(std::string(store.status().message()), HasSubstr(path));
}

TEST(LedgerStoreTest, AFolderThatIsNotThereIsAnError) {
  EXPECT_TRUE(absl::IsFailedPrecondition(LedgerStore::Open("/nonexistent/ledger.db").status()));
}

TEST(LedgerStoreTest, AnEmptyCommitIsNothing) {
  auto replies = OpenOrDie(FreshPath())->Commit({});
  ASSERT_TRUE(replies.ok());
  EXPECT_THAT(*replies, IsEmpty());
}

}  // namespace
}  // namespace auction
