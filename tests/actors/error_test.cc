#include "understudy/actors/error.h"

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/limits.h"

namespace understudy {
namespace {

using ::testing::StartsWith;

struct ErrorRow {
  ErrorKind kind;
  const char* name;
  absl::StatusCode code;
  bool (*is_kind)(const absl::Status&);
};

// semantics 0, the table of errors
constexpr ErrorRow kErrors[] = {
    {ErrorKind::kFull, "Full", absl::StatusCode::kResourceExhausted, &IsFull},
    {ErrorKind::kNoMailbox, "NoMailbox", absl::StatusCode::kUnimplemented, &IsNoMailbox},
    {ErrorKind::kNoProcess, "NoProcess", absl::StatusCode::kNotFound, &IsNoProcess},
    {ErrorKind::kNoName, "NoName", absl::StatusCode::kNotFound, &IsNoName},
    {ErrorKind::kStopping, "Stopping", absl::StatusCode::kUnavailable, &IsStopping},
    {ErrorKind::kCalleeExited, "CalleeExited", absl::StatusCode::kAborted, &IsCalleeExited},
    {ErrorKind::kUnanswered, "Unanswered", absl::StatusCode::kInternal, &IsUnanswered},
    {ErrorKind::kNoConnection, "NoConnection", absl::StatusCode::kUnavailable, &IsNoConnection},
    {ErrorKind::kNotPermitted, "NotPermitted", absl::StatusCode::kPermissionDenied, &IsNotPermitted},
    {ErrorKind::kExpired, "Expired", absl::StatusCode::kDeadlineExceeded, &IsExpired},
    {ErrorKind::kCancelled, "Cancelled", absl::StatusCode::kCancelled, &understudy::IsCancelled},
    {ErrorKind::kRestarting, "Restarting", absl::StatusCode::kUnavailable, &understudy::IsRestarting},
};

TEST(ErrorTest, EachKindHasItsCodeItsTextAndOnePredicate) {
  for (const ErrorRow& row : kErrors) {
    const absl::Status status = MakeError(row.kind, "the mailbox is closed");
    EXPECT_EQ(status.code(), row.code);
    EXPECT_EQ(status.message(), std::string(row.name) + ": the mailbox is closed");
    EXPECT_EQ(ErrorKindOf(status), row.kind);
    EXPECT_EQ(ErrorKindName(row.kind), row.name);
    for (const ErrorRow& other : kErrors) {
      EXPECT_EQ(other.is_kind(status), other.kind == row.kind) << row.name << " as " << other.name;
    }
  }
}

TEST(ErrorTest, AUsersStatusOfTheSameCodeIsNoneOfThem) {
  for (const ErrorRow& row : kErrors) {
    const absl::Status status(row.code, "mine");
    EXPECT_FALSE(row.is_kind(status)) << row.name;
    EXPECT_FALSE(row.is_kind(absl::OkStatus())) << row.name;
    EXPECT_EQ(ErrorKindOf(status), absl::nullopt);
  }
}

TEST(ErrorTest, CalleeExitedCarriesTheWholeChain) {
  const ExitReason reason = ExitReason::RestartsExhausted("child 'db'")
                                .CausedBy(ExitReason::Exception("std::bad_alloc", "memory"))
                                .CausedBy(ExitReason::Failed(absl::DataLossError("page 7")))
                                .CausedBy(ExitReason::OsSignal(9))
                                .CausedBy(ExitReason::KilledHandlerRunning());
  const absl::Status status = CalleeExitedError("<house.1.2>", reason);
  EXPECT_TRUE(IsCalleeExited(status));
  EXPECT_THAT(std::string(status.message()),
              StartsWith("CalleeExited: <house.1.2> ended before it answered: RestartsExhausted(child 'db')"));
  ASSERT_TRUE(ExitReasonOf(status).has_value());
  EXPECT_EQ(*ExitReasonOf(status), reason);
}

TEST(ErrorTest, CalleeExitedKeepsWhatAStatusCarries) {
  absl::Status full = MakeError(ErrorKind::kFull, "the disk");
  full.SetPayload("example.com/detail", absl::Cord(std::string(3000, '\0')));
  const ExitReason reason = ExitReason::Failed(full).CausedBy(ExitReason::Failed(absl::DataLossError("page 7")));
  const absl::optional<ExitReason> back = ExitReasonOf(CalleeExitedError("x", reason));
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(*back, reason);
  EXPECT_EQ(back->status(), full);
  EXPECT_TRUE(IsFull(back->status()));
  EXPECT_FALSE(IsFull(back->cause()->status()));
}

TEST(ErrorTest, ACutChainIsStillMarkedAfterItsTravel) {
  ExitReason chain;
  for (int i = 0; i < 40; ++i) chain = ExitReason::OsExit(i).CausedBy(chain);
  const absl::optional<ExitReason> back = ExitReasonOf(CalleeExitedError("x", chain));
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(*back, chain);
  EXPECT_TRUE(back->causes_cut());
}

TEST(ErrorTest, AChainThatWasCutBeforeItGotAnotherCauseIsStillMarkedAfterItsTravel) {
  const ExitReason chain =
      ExitReason::FromParts({.kind = ExitReason::Kind::kStuck, .causes_cut = true}).CausedBy(ExitReason::OsExit(1));
  ASSERT_TRUE(chain.causes_cut());
  EXPECT_EQ(ExitReasonOf(CalleeExitedError("x", chain)), chain);
}

TEST(ErrorTest, CalleeExitedCarriesABoundedNumberOfAStatussPayloads) {
  constexpr int kPayloadsMax = limits::kStatusPayloadsMax;
  for (const int payloads : {kPayloadsMax, kPayloadsMax + 1, 1000}) {
    absl::Status status = MakeError(ErrorKind::kFull, "no room");
    for (int i = 1; i < payloads; ++i) status.SetPayload(absl::StrCat(i), absl::Cord());
    const ExitReason reason = ExitReason::Failed(status);
    const absl::optional<ExitReason> back = ExitReasonOf(CalleeExitedError("x", reason));
    ASSERT_TRUE(back.has_value());
    EXPECT_EQ(*back == reason, payloads == kPayloadsMax);
    EXPECT_TRUE(IsFull(back->status()));
    int kept = 0;
    back->status().ForEachPayload([&](absl::string_view, const absl::Cord&) { ++kept; });
    EXPECT_EQ(kept, kPayloadsMax);
  }
}

TEST(ErrorTest, AReasonWithTooManyPayloadsIsNotRead) {
  const auto read = [](uint32_t payloads) {
    std::string bytes;
    const auto put = [&](uint32_t value) { bytes.append(reinterpret_cast<const char*>(&value), sizeof(value)); };
    // A Failed with ABORTED, without flags and texts.
    for (const uint32_t value : {3U, 0U, 0U, 10U, 0U, 0U, 0U, payloads}) put(value);
    for (uint32_t i = 0; i < payloads; ++i) {
      put(1);
      bytes.push_back(static_cast<char>(i));
      put(0);
    }
    absl::Status status = CalleeExitedError("x", ExitReason::Killed());
    status.SetPayload("understudy.dev/exit-reason", absl::Cord(bytes));
    return ExitReasonOf(status);
  };
  ASSERT_TRUE(read(16).has_value());
  EXPECT_TRUE(absl::IsAborted(read(16)->status()));
  EXPECT_FALSE(read(17).has_value());
}

TEST(ErrorTest, OnlyCalleeExitedHasAReason) {
  EXPECT_EQ(ExitReasonOf(MakeError(ErrorKind::kFull, "x")), absl::nullopt);
  EXPECT_EQ(ExitReasonOf(absl::OkStatus()), absl::nullopt);
}

TEST(ErrorTest, AReasonThatDoesNotDecodeIsNone) {
  // Payloads may come from a peer. Every prefix, and every changed byte, is safe.
  const ExitReason first = ExitReason::Failed(MakeError(ErrorKind::kFull, "disk"));
  const absl::Status good = CalleeExitedError("x", first.CausedBy(ExitReason::OsExit(7)));
  constexpr absl::string_view kUrl = "understudy.dev/exit-reason";
  const std::string bytes(*good.GetPayload(kUrl));
  for (size_t size = 0; size < bytes.size(); ++size) {
    absl::Status cut = good;
    cut.SetPayload(kUrl, absl::Cord(bytes.substr(0, size)));
    const absl::optional<ExitReason> reason = ExitReasonOf(cut);
    // A prefix that ends between two reasons is a shorter chain.
    if (reason.has_value()) {
      EXPECT_EQ(*reason, first) << size;
    }
  }
  for (size_t i = 0; i < bytes.size(); ++i) {
    absl::Status changed = good;
    std::string hostile = bytes;
    hostile[i] = '\xff';
    changed.SetPayload(kUrl, absl::Cord(hostile));
    (void)ExitReasonOf(changed);
  }
}

TEST(ErrorTest, AKindThatDoesNotExistIsNone) {
  absl::Status status = absl::InternalError("x");
  for (const char* kind : {"0", "13", "-1", "x", "", "11 "}) {
    status.SetPayload("understudy.dev/error-kind", absl::Cord(kind));
    EXPECT_EQ(ErrorKindOf(status), absl::nullopt) << kind;
  }
}

}  // namespace
}  // namespace understudy
