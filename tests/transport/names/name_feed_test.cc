#include "understudy/transport/names/name_feed.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"
#include "understudy/proto/names.pb.h"
#include "understudy/transport/names/name_limits.h"
#include "understudy/transport/names/name_signatures.h"
#include "understudy/transport/protocol/local_types.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class NameFeedTest : public ::testing::Test {
 protected:
  void Claim(const std::string& name, uint32_t signatures = 0) {
    names_[name] = {.pid = Pid(1, 1, ++last_), .number = last_, .claimed = MonotonicTime(), .signatures = signatures};
    feed_.OnChanged(name, 0, /*is_owned=*/true);
  }
  void Release(const std::string& name) {
    const uint64_t number = names_[name].number;
    names_.erase(name);
    feed_.OnChanged(name, number, /*is_owned=*/false);
  }
  // All that is told now, as "+name", "-name", "set 1", "down"; and how much.
  std::vector<std::string> Told() {
    std::vector<std::string> told;
    while (const absl::optional<NameFeed::Part> part = feed_.Take(names_, signatures_, types_, steps_left_)) {
      if (part->held != nullptr) {
        told.push_back("down");
        continue;
      }
      ++parts_;
      const size_t bytes = part->changes.ByteSizeLong();
      EXPECT_LE(bytes, part->changes.changes_size() == 0 ? limits::kNamePartBytesMax : limits::kSlotBytesMax);
      for (const auto& set : part->changes.definitions()) told.push_back(absl::StrCat("set ", set.number()));
      for (const auto& change : part->changes.changes()) {
        if (change.has_claim()) told.push_back(absl::StrCat("+", change.claim().name()));
        if (change.has_release()) told.push_back(absl::StrCat("-", change.release().name()));
        if (change.has_offer()) told.push_back(absl::StrCat("offer ", change.offer().name()));
      }
    }
    return told;
  }
  void TakeParts() { EXPECT_TRUE(feed_.OnTaken(feed_.parts_untaken()).ok()); }
  // Claims names until the window is full, so that the next change must wait.
  void FillTheWindow() {
    for (int i = 0; i < 8000; ++i) Claim(absl::StrCat("a", 100000 + i));
    Told();
    ASSERT_EQ(feed_.parts_untaken(), limits::kNamePartsUntakenMax);
  }

  LocalTypes types_;
  int64_t steps_left_ = limits::kComparisonStepsMax;
  NameFeed feed_{MonotonicTime()};
  OwnNames names_;
  NameSignatures signatures_;
  uint64_t last_ = 0;
  int parts_ = 0;
};

TEST_F(NameFeedTest, ASnapshotTravelsInPartsOfWhichFewAreOnTheirWay) {
  constexpr int kNames = 30000;
  for (int i = 0; i < kNames; ++i) Claim(absl::StrCat(std::string(200, 'n'), 1000000 + i));
  std::vector<std::string> all;
  for (int rounds = 0; !feed_.is_all_told(); ++rounds) {
    ASSERT_LT(rounds, kNames);
    parts_ = 0;
    const std::vector<std::string> told = Told();
    EXPECT_LE(parts_, static_cast<int>(limits::kNamePartsUntakenMax));
    all.insert(all.end(), told.begin(), told.end());
    TakeParts();
  }
  EXPECT_EQ(all.size(), size_t{kNames});
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end()));
}

TEST_F(NameFeedTest, ANameThatTheSnapshotHasNotReachedIsToldAsItIsThen) {
  FillTheWindow();
  Claim("z");
  Release("z");
  Claim("y");
  EXPECT_EQ(feed_.size(), 0U);
  std::vector<std::string> last;
  while (!feed_.is_all_told()) {
    TakeParts();
    last = Told();
  }
  EXPECT_EQ(last.back(), "+y");
}

TEST_F(NameFeedTest, WhatChangesAgainBeforeItIsToldIsToldOnce) {
  Claim("lot");
  EXPECT_THAT(Told(), ElementsAre("+lot"));
  Release("lot");
  Claim("lot");
  Release("lot");
  Claim("lot");
  EXPECT_EQ(feed_.size(), 1U);
  EXPECT_THAT(Told(), ElementsAre("-lot", "+lot"));
  Claim("book");
  Release("book");
  EXPECT_THAT(Told(), IsEmpty());
}

TEST_F(NameFeedTest, SignalsThatWaitForReleasesAreBounded) {
  FillTheWindow();
  Release("a100000");
  const auto hold = [&](size_t bytes) { return feed_.Hold(std::make_shared<const Signal>(), bytes); };
  ASSERT_TRUE(hold(limits::kHeldSignalBytesMax - 100).ok());
  ASSERT_TRUE(hold(100).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(hold(1)));
  while (!feed_.is_all_told()) {
    TakeParts();
    (void)Told();
  }
  Release("a100001");
  EXPECT_TRUE(hold(limits::kHeldSignalBytesMax).ok()) << "what was told is held no more";
}

TEST_F(NameFeedTest, ASignalWaitsForTheReleasesBeforeIt) {
  FillTheWindow();
  EXPECT_FALSE(feed_.has_changes());
  Release("a100000");
  EXPECT_TRUE(feed_.has_changes());
  ASSERT_TRUE(feed_.Hold(std::make_shared<const Signal>(), 100).ok());
  EXPECT_THAT(Told(), IsEmpty());
  TakeParts();
  const std::vector<std::string> told = Told();
  ASSERT_GE(told.size(), 2U);
  EXPECT_EQ(told[0], "-a100000");
  EXPECT_EQ(told[1], "down");
}

TEST_F(NameFeedTest, WhatIsSaidOfANameComesAfterItsClaim) {
  FillTheWindow();
  Claim("z");
  feed_.Offer("z", names_["z"].number);
  TakeParts();
  const std::vector<std::string> told = Told();
  ASSERT_GE(told.size(), 2U);
  EXPECT_EQ(told[0], "+z");
  EXPECT_EQ(told[1], "offer z");
  Release("z");
  TakeParts();
  EXPECT_EQ(Told()[0], "-z");
}

TEST_F(NameFeedTest, ASetOfMailboxesIsDefinedOnceAndALargeOneTravelsAlone) {
  std::vector<proto::MailboxSignature> small(1);
  small[0].set_name("say");
  const uint32_t few = *signatures_.NumberOf(small, types_);
  EXPECT_EQ(*signatures_.NumberOf(small, types_), few);
  const uint32_t many =
      *signatures_.NumberOf(std::vector<proto::MailboxSignature>(64,
                                                                 [] {
                                                                   proto::MailboxSignature mailbox;
                                                                   mailbox.set_name(std::string(1024, 'm'));
                                                                   return mailbox;
                                                                 }()),
                            types_);
  Claim("a", few);
  Claim("b", few);
  Claim("c", many);
  Claim("d", many);
  EXPECT_THAT(Told(), ElementsAre("set 1", "+a", "+b", "set 2", "+c", "+d"));
  EXPECT_EQ(parts_, 3);
}

}  // namespace
}  // namespace understudy
