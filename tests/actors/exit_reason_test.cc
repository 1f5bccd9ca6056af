#include "understudy/actors/exit_reason.h"

#include <csignal>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/limits.h"

namespace understudy {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<ExitReason> OneOfEach() {
  return {ExitReason::Normal(),           ExitReason::Shutdown(),
          ExitReason::Killed(),           ExitReason::Failed(absl::NotFoundError("no table")),
          ExitReason::Exception("E", ""), ExitReason::NoProcess(),
          ExitReason::NoConnection(),     ExitReason::NotPermitted(),
          ExitReason::NameConflict("n"),  ExitReason::RestartsExhausted("child 'a'"),
          ExitReason::NameLost("n"),      ExitReason::Overflow("mailbox"),
          ExitReason::StartTimeout(),     ExitReason::Stuck(),
          ExitReason::OsExit(3),          ExitReason::OsSignal(SIGKILL)};
}

TEST(ExitReasonTest, AllButNormalAndShutdownAreAbnormal) {
  // semantics 0
  for (const ExitReason& reason : OneOfEach()) {
    const bool is_fine = reason.kind() == ExitReason::Kind::kNormal || reason.kind() == ExitReason::Kind::kShutdown;
    EXPECT_EQ(reason.is_abnormal(), !is_fine) << reason;
  }
  EXPECT_EQ(OneOfEach().size(), static_cast<size_t>(ExitReason::kKindMax));
  EXPECT_TRUE(ExitReason().is_normal());
}

TEST(ExitReasonTest, EqualWhenKindPartsAndCausesAre) {
  const std::vector<ExitReason> some = OneOfEach();
  const std::vector<ExitReason> others = OneOfEach();
  for (size_t i = 0; i < some.size(); ++i) {
    for (size_t j = 0; j < others.size(); ++j) EXPECT_EQ(some[i] == others[j], i == j) << some[i] << others[j];
  }
  EXPECT_FALSE(ExitReason::OsExit(1) == ExitReason::OsExit(2));
  EXPECT_FALSE(ExitReason::Killed() == ExitReason::KilledHandlerRunning());
  EXPECT_FALSE(ExitReason::Exception("A", "x") == ExitReason::Exception("B", "x"));
  const ExitReason caused = ExitReason::Killed().CausedBy(ExitReason::NoProcess());
  EXPECT_FALSE(caused == ExitReason::Killed());
  EXPECT_FALSE(caused == ExitReason::Killed().CausedBy(ExitReason::Stuck()));
  EXPECT_TRUE(caused == ExitReason::Killed().CausedBy(ExitReason::NoProcess()));
}

TEST(ExitReasonTest, PrintsItsPartsAndCauses) {
  EXPECT_EQ(ExitReason::Failed(absl::NotFoundError("no table")).ToString(), "Failed(NOT_FOUND: no table)");
  EXPECT_EQ(ExitReason::Exception("std::bad_alloc", "memory").ToString(), "Exception(std::bad_alloc: memory)");
  EXPECT_EQ(ExitReason::Exception("int", "").ToString(), "Exception(int)");
  EXPECT_EQ(ExitReason::OsExit(3).ToString(), "OsExit(3)");
  EXPECT_EQ(ExitReason::OsSignal(SIGKILL).ToString(), "OsSignal(9 SIGKILL)");
  EXPECT_EQ(ExitReason::Overflow("offers").ToString(), "Overflow(offers)");
  EXPECT_EQ(ExitReason::KilledHandlerRunning().ToString(), "Killed(handler running)");
  EXPECT_EQ(ExitReason::RestartsExhausted("lot").CausedBy(ExitReason::Killed()).ToString(),
            "RestartsExhausted(lot); because of Killed");
}

TEST(ExitReasonTest, FailedWithAnOkStatusIsStillAFailure) {
  EXPECT_FALSE(ExitReason::Failed(absl::OkStatus()).status().ok());
}

TEST(ExitReasonTest, ACauseGoesToTheEndOfTheChain) {
  const ExitReason reason = ExitReason::Stuck()
                                .CausedBy(ExitReason::OsExit(1).CausedBy(ExitReason::OsExit(2)))
                                .CausedBy(ExitReason::OsExit(3));
  EXPECT_EQ(reason.ToString(), "Stuck; because of OsExit(1); because of OsExit(2); because of OsExit(3)");
  EXPECT_EQ(reason.depth(), 4);
}

TEST(ExitReasonTest, AReasonCausedByItselfIsNoCycle) {
  ExitReason reason = ExitReason::Stuck();
  for (int i = 0; i < 100; ++i) reason = reason.CausedBy(reason);
  EXPECT_EQ(reason.depth(), limits::kExitCausesMax);
  EXPECT_TRUE(reason.causes_cut());
}

TEST(ExitReasonTest, AChainThatLostCausesDiffersFromOneThatNeverHadThem) {
  const ExitReason whole = ExitReason::OsExit(3);
  const ExitReason cut = ExitReason::FromParts({.kind = whole.kind(), .os_value = 3, .causes_cut = true});
  EXPECT_EQ(cut, ExitReason(cut));
  EXPECT_FALSE(cut == whole);
  EXPECT_FALSE(ExitReason::Stuck().CausedBy(cut) == ExitReason::Stuck().CausedBy(whole));
  // Only whether the chain lost causes counts, not which reason of the chain has the mark.
  EXPECT_EQ(cut.CausedBy(whole), whole.CausedBy(cut));
}

TEST(ExitReasonTest, AChainKeepsItsSixteenNewestCauses) {
  // semantics 5.10
  ExitReason chain = ExitReason::OsExit(0);
  for (int i = 1; i < limits::kExitCausesMax; ++i) chain = ExitReason::OsExit(i).CausedBy(chain);
  EXPECT_EQ(chain.depth(), limits::kExitCausesMax);
  EXPECT_FALSE(chain.causes_cut());
  EXPECT_THAT(chain.ToString(), HasSubstr("OsExit(0)"));

  chain = ExitReason::OsExit(limits::kExitCausesMax).CausedBy(chain);
  EXPECT_EQ(chain.depth(), limits::kExitCausesMax);
  EXPECT_TRUE(chain.causes_cut());
  EXPECT_THAT(chain.ToString(), HasSubstr("OsExit(16); because of OsExit(15)"));
  EXPECT_THAT(chain.ToString(), Not(HasSubstr("OsExit(0)")));
  EXPECT_THAT(chain.ToString(), HasSubstr("older causes cut"));
}

TEST(ExitReasonTest, AChainHasAtMostSixtyFourKibibytes) {
  // semantics 5.10
  ExitReason chain = ExitReason::Failed(absl::InternalError("first"));
  for (int i = 0; i < 12; ++i) {
    chain = ExitReason::Failed(absl::InternalError(std::string(10000, static_cast<char>('a' + i)))).CausedBy(chain);
  }
  EXPECT_LE(chain.bytes(), limits::kExitReasonBytesMax);
  EXPECT_GT(chain.depth(), 3);
  EXPECT_TRUE(chain.causes_cut());
  EXPECT_EQ(chain.status().message()[0], 'l');  // the newest is there
}

TEST(ExitReasonTest, ACauseThatDoesNotFitWholeIsCutToWhatFits) {
  const ExitReason large = ExitReason::Failed(absl::DataLossError(std::string(100000, 'x')));
  const ExitReason chain =
      ExitReason::Shutdown().CausedBy(ExitReason::Failed(absl::InternalError(std::string(1000, 'y'))).CausedBy(large));
  EXPECT_EQ(chain.depth(), 3);
  EXPECT_FALSE(chain.causes_cut());
  EXPECT_LE(chain.bytes(), limits::kExitReasonBytesMax);
  EXPECT_THAT(chain.ToString(), AllOf(HasSubstr("DATA_LOSS: xxx"), HasSubstr("bytes)")));
}

TEST(ExitReasonTest, OneReasonAloneIsBoundedToo) {
  absl::Status status = absl::InternalError(std::string(1 << 20, 'x'));
  for (int i = 0; i < 20; ++i) status.SetPayload(absl::StrCat("url/", i), absl::Cord(std::string(10000, 'y')));
  EXPECT_LE(ExitReason::Failed(status).bytes(), limits::kExitReasonBytesMax);
  EXPECT_LE(ExitReason::Exception(std::string(1 << 20, 'x'), std::string(1 << 20, 'y')).bytes(),
            limits::kExitReasonBytesMax);
}

TEST(ExitReasonTest, ATextOfNearlySixtyFourKibibytesIsKeptWhole) {
  // semantics 5.10
  const std::string text(limits::kExitReasonBytesMax - 100, 'x');
  EXPECT_EQ(ExitReason::Failed(absl::InternalError(text)).status().message(), text);
  EXPECT_EQ(ExitReason::Exception("E", text).detail(), text);
  EXPECT_EQ(ExitReason::NoConnection(text).detail(), text);
  EXPECT_EQ(ExitReason::OsExit(1, text).detail(), text);
}

TEST(ExitReasonTest, ATextThatIsCutSaysSoAndHowLongItWas) {
  const std::string text(1 << 20, 'x');
  for (const ExitReason& reason :
       {ExitReason::Failed(absl::InternalError(text)), ExitReason::Exception("E", text),
        ExitReason::Exception(text, text), ExitReason::NoConnection(text), ExitReason::OsExit(1, text)}) {
    EXPECT_LE(reason.bytes(), limits::kExitReasonBytesMax);
    EXPECT_GT(reason.bytes(), limits::kExitReasonBytesMax - 100);
    EXPECT_TRUE(absl::StrContains(reason.ToString(), "xxx… (cut: it had 1048576 bytes)"));
    // A reason that is built again from its parts, as on another node, is not cut again.
    EXPECT_EQ(reason, ExitReason::FromParts({reason.kind(), reason.status(), std::string(reason.exception_type()),
                                             std::string(reason.detail()), reason.os_value()}));
  }
}

TEST(ExitReasonTest, PayloadsThatDoNotFitAreMentionedInTheText) {
  absl::Status status = absl::InternalError("short");
  status.SetPayload("small", absl::Cord("payload"));
  EXPECT_EQ(ExitReason::Failed(status).status(), status);
  status.SetPayload("large", absl::Cord(std::string(1 << 20, 'y')));
  const ExitReason reason = ExitReason::Failed(status);
  EXPECT_EQ(reason.status().message(), "short (payloads cut: they had 1048581 bytes)");
  EXPECT_EQ(reason.status().GetPayload("small"), absl::Cord("payload")) << reason.status();
  EXPECT_FALSE(reason.status().GetPayload("large").has_value());
}

TEST(ExitReasonTest, CopiesShareTheirChainAndKeepIt) {
  const ExitReason* cause = nullptr;
  ExitReason copy;
  {
    const ExitReason reason = ExitReason::Stuck().CausedBy(ExitReason::OsExit(1));
    copy = reason;
    cause = reason.cause();
  }
  EXPECT_EQ(copy.cause(), cause);
  EXPECT_EQ(*copy.cause(), ExitReason::OsExit(1));
}

}  // namespace
}  // namespace understudy
