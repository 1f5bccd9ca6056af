// First allowances, explored: one node sends small and large messages to three mailboxes of another node, which have no
// other room, so that only the allowances let a message through. Every order of sends, arrivals, handling and credit is
// explored.
//
// An accepted message has its credit at the receiver too. Messages that are under way or wait stay within the bounds of
// a mailbox and of the session (credit.h). A mailbox to which nothing has been sent takes a small message however large
// the messages to the others are, and a large one while no other is in use; where the terms say so, a mailbox takes a
// large message after small ones too. When no message is under way or waits any more, every account is as it was at
// first. All this holds under both terms for large messages. Each rule is left out once, and the model finds a failure.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/fault_point.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/room.h"
#include "understudy/transport/codec/credit.h"
#include "understudy/transport/core/credit_receiver.h"
#include "understudy/transport/core/credit_sender.h"

namespace understudy {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr size_t kBoxes = 3;
MailboxAddress BoxOf(size_t box) { return {Pid(1, 1, 1), static_cast<uint32_t>(box + 1)}; }

// The allowances of two mailboxes together are all that the session may have in use.
constexpr int64_t kAllowanceBytes = kSessionAllowanceMax.bytes / 2;
using Large = CreditTerms::LargeMessages;
constexpr CreditTerms TermsWith(Large large) {
  return {.first_allowance = {.messages = 2, .bytes = kAllowanceBytes}, .large_messages = large};
}
// A small message, one that is a whole allowance, and one of which as much again as half of the bound lies beyond it.
constexpr std::array<int64_t, 3> kSizes = {1, kAllowanceBytes, kAllowanceBytes + kSessionAllowanceMax.bytes / 2 + 1};

struct Message {
  size_t box;
  int64_t bytes;
};

struct State {
  State(const CreditTerms& sender_terms, const CreditTerms& receiver_terms)
      : sender(sender_terms), receiver(receiver_terms) {}

  CreditSender sender;
  CreditReceiver receiver;
  std::deque<Message> messages;                       // on their way
  std::deque<CreditChange> wants;                     // likewise
  std::deque<CreditChange> grants;                    // likewise, back
  std::array<std::deque<int64_t>, kBoxes> mailboxes;  // bytes of what waits
  std::array<std::deque<int64_t>, kBoxes> out;        // bytes of what was sent there, and has not come back
  int sends_left = 0;
  std::string failure;

  void Expect(bool holds, const char* what) {
    if (!holds && failure.empty()) failure = what;
  }
  std::string Key() const {
    std::string key = absl::StrCat(sends_left, "|", sender.ToString(), "|", receiver.ToString(), "|");
    for (const Message& message : messages) absl::StrAppend(&key, message.box, ":", message.bytes, ",");
    for (const auto* changes : {&wants, &grants}) {
      absl::StrAppend(&key, "|");
      for (const CreditChange& change : *changes) {
        absl::StrAppend(&key, change.mailbox, ":", change.allowance.messages, ":", change.allowance.bytes, ",");
      }
    }
    for (const auto& mailbox : mailboxes) {
      absl::StrAppend(&key, "|");
      for (const int64_t bytes : mailbox) absl::StrAppend(&key, bytes, ",");
    }
    return key;
  }
};

class Model {
 public:
  explicit Model(Large terms) : Model(terms, terms) {}
  Model(Large sender_terms, Large receiver_terms)
      : sender_terms_(TermsWith(sender_terms)), receiver_terms_(TermsWith(receiver_terms)) {}

  // The first failure, or nothing.
  std::string Explore(int sends) {
    std::vector<State> open;
    open.emplace_back(sender_terms_, receiver_terms_).sends_left = sends;
    while (!open.empty()) {
      const State state = std::move(open.back());
      open.pop_back();
      bool is_over = true;
      for (size_t step = 0; step < kSteps; ++step) {
        State next = state;
        if (!Take(next, step)) continue;
        is_over = false;
        CheckBounds(next);
        if (!next.failure.empty()) return next.failure;
        if (seen_.insert(next.Key()).second) open.push_back(std::move(next));
      }
      if (is_over && !AtEnd(state).empty()) return AtEnd(state);
    }
    return "";
  }
  size_t states() const { return seen_.size(); }

 private:
  static constexpr size_t kSends = kBoxes * kSizes.size();
  static constexpr size_t kSteps = kSends + kBoxes + 4;

  // False when it is not possible now.
  bool Take(State& state, size_t step) const {
    if (step < kSends) return Send(state, step / kSizes.size(), kSizes[step % kSizes.size()]);
    if (step < kSends + kBoxes) return Handle(state, step - kSends);
    switch (step - kSends - kBoxes) {
      case 0:
        return Arrive(state);
      case 1:
        return ArriveWant(state);
      case 2:
        return Reserve(state);
      default:
        return ArriveGrant(state);
    }
  }
  static bool Send(State& state, size_t box, int64_t bytes) {
    if (state.sends_left == 0) return false;
    --state.sends_left;
    const absl::optional<Admission> admission = state.sender.Find(BoxOf(box), bytes);
    if (admission.has_value()) {
      state.Expect(*admission == Admission::kAllowance, "no room was granted");
      state.sender.OnSent(BoxOf(box), bytes, *admission);
      state.messages.push_back({box, bytes});
      state.out[box].push_back(bytes);
    } else if (state.sender.Asks(BoxOf(box))) {
      state.wants.push_back({.mailbox = BoxOf(box).second, .granted = {.messages = 1, .bytes = bytes}});
    }
    return true;
  }
  bool Arrive(State& state) const {
    if (state.messages.empty()) return false;
    const Message message = state.messages.front();
    state.messages.pop_front();
    state.Expect(state.receiver.OnArrived(BoxOf(message.box), message.bytes, Admission::kAllowance, now_),
                 "a message that was accepted has credit");
    state.mailboxes[message.box].push_back(message.bytes);
    return true;
  }
  static bool Handle(State& state, size_t box) {
    if (state.mailboxes[box].empty()) return false;
    const int64_t bytes = state.mailboxes[box].front();
    state.mailboxes[box].pop_front();
    state.receiver.OnReleased(BoxOf(box), Admission::kAllowance, {.messages = 1, .bytes = bytes});
    return true;
  }
  bool ArriveWant(State& state) const {
    if (state.wants.empty()) return false;
    const CreditChange want = state.wants.front();
    state.wants.pop_front();
    state.Expect(state.receiver.OnWanted({Pid(1, 1, 1), want.mailbox}, want.granted.bytes, now_).ok(),
                 "what is wanted is possible");
    return true;
  }
  // No mailbox has room.
  static bool Reserve(State& state) {
    if (!state.receiver.is_due()) return false;
    for (const auto& [to, wish] : state.receiver.TakeDue()) {
      const absl::optional<CreditChange> told = state.receiver.OnReserved(to, {});
      if (told.has_value()) state.grants.push_back(*told);
    }
    return true;
  }
  static bool ArriveGrant(State& state) {
    if (state.grants.empty()) return false;
    const CreditChange grant = state.grants.front();
    state.grants.pop_front();
    state.Expect(state.sender.OnGrant(grant).ok(), "a grant is no nonsense");
    std::deque<int64_t>& out = state.out[grant.mailbox - 1];
    int64_t bytes = 0;
    for (int64_t i = 0; i < grant.allowance.messages && !out.empty(); ++i) {
      bytes += out.front();
      out.pop_front();
    }
    state.Expect(bytes == grant.allowance.bytes, "other bytes come back than were sent");
    return true;
  }

  void CheckBounds(State& state) const {
    const bool after_small = sender_terms_.large_messages == Large::kNeedBytes;
    int64_t within = 0;
    int64_t beyond = 0;
    int with_large = 0;
    for (const std::deque<int64_t>& out : state.out) {
      const int64_t bytes = BytesOf(out);
      state.Expect(static_cast<int64_t>(out.size()) <= sender_terms_.first_allowance.messages,
                   "a mailbox has too many messages");
      within += std::min(bytes, kAllowanceBytes);
      const int64_t large = std::max(int64_t{0}, bytes - kAllowanceBytes);
      beyond += large;
      if (large == 0) continue;
      ++with_large;
      if (after_small) {
        state.Expect(bytes - out.back() < kAllowanceBytes, "two messages exceed one allowance");
      } else {
        state.Expect(out.size() == 1, "beside a large message another is in use");
      }
    }
    state.Expect(within <= kSessionAllowanceMax.bytes, "the session's allowances are exceeded");
    state.Expect(with_large <= 1 || beyond <= kSessionAllowanceMax.bytes, "large messages add up");
    if (within == kSessionAllowanceMax.bytes) return;
    for (size_t box = 0; box < kBoxes; ++box) {
      const std::deque<int64_t>& out = state.out[box];
      const int64_t left = kAllowanceBytes - BytesOf(out);
      if (out.empty()) state.Expect(state.sender.Find(BoxOf(box), 1).has_value(), "a first contact is refused");
      const bool takes_large = out.empty() || (after_small && left > 0 && out.size() == 1);
      if (!takes_large || with_large > 0 || within + left > kSessionAllowanceMax.bytes) continue;
      state.Expect(state.sender.Find(BoxOf(box), kSizes.back()).has_value(), "the only large message is refused");
    }
  }
  static int64_t BytesOf(const std::deque<int64_t>& out) { return std::accumulate(out.begin(), out.end(), int64_t{0}); }

  // Nothing goes on by itself.
  static std::string AtEnd(const State& state) {
    if (state.sender.mailboxes() != 0 || !state.sender.allowance_in_use().is_zero()) {
      return "the sender's accounts are not as at first";
    }
    if (state.receiver.mailboxes() != 0 || !state.receiver.allowance_in_use().is_zero()) {
      return "the receiver's accounts are not as at first";
    }
    return "";
  }

  const CreditTerms sender_terms_;
  const CreditTerms receiver_terms_;
  const MonotonicTime now_;
  std::set<std::string> seen_;
};

TEST(AllowancesModelTest, WhatIsInUseIsBoundedAndAFirstContactIsNotRefused) {
  for (const Large terms : {Large::kNeedUntouched, Large::kNeedBytes}) {
    Model model(terms);
    EXPECT_THAT(model.Explore(/*sends=*/4), IsEmpty());
    printf("%zu states\n", model.states());
    EXPECT_GT(model.states(), 10'000U);
  }
}

TEST(AllowancesModelTest, EachRuleThatIsLeftOutIsFound) {
  for (const Large terms : {Large::kNeedUntouched, Large::kNeedBytes}) {
    const bool after_small = terms == Large::kNeedBytes;
    const auto failure = [&](const char* rule) {
      FaultPoint::Scope broken(rule);
      return Model(terms).Explore(/*sends=*/4);
    };
    EXPECT_THAT(failure("allowances_have_no_bound_in_all"), HasSubstr("the session's allowances are exceeded"));
    EXPECT_THAT(failure("allowances_of_large_messages_have_no_bound_in_all"), HasSubstr("large messages add up"));
    EXPECT_THAT(failure("allowances_cover_large_messages_without_bytes"),
                HasSubstr(after_small ? "two messages exceed one allowance" : "beside a large message"));
    if (after_small) {
      EXPECT_THAT(failure("allowances_cover_large_messages_only_when_untouched"),
                  HasSubstr("the only large message is refused"));
    }
    EXPECT_THAT(failure("allowances_count_large_messages_with_the_others"),
                HasSubstr("the only large message is refused"));
    EXPECT_THAT(failure("allowances_have_no_bound_in_messages"), HasSubstr("too many messages"));
  }
}

TEST(AllowancesModelTest, EndsThatDoNotAgreeOnTheTermsAreFound) {
  EXPECT_THAT(Model(Large::kNeedBytes, Large::kNeedUntouched).Explore(/*sends=*/4),
              HasSubstr("a message that was accepted has credit"));
}

}  // namespace
}  // namespace understudy
