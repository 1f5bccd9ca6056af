// Credit, explored: two nodes send to one mailbox of capacity 1 or 2, beside a sender of the mailbox's own node. Every
// order of sends, arrivals, reservations, handling and taking back is explored. Credit and messages travel in separate
// orders, since senders share a session. Broken streams are left out: a session is reliable. One sender of a node may
// wait for room, in a line of its own, and may give up at any time.
//
// An accepted message always finds its room, and when all is over nothing is reserved and every account is as it was at
// first. Each rule is broken once, and the model finds it.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
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
using ::testing::Not;

constexpr MailboxAddress kBox{Pid(1, 1, 1), 7};
constexpr CreditSender::Waiter kWaiter{Pid(2, 1, 1), 1};
constexpr size_t kNodes = 2;
// Small, so that every way to use them up is tried.
constexpr CreditTerms kTerms{.first_allowance = {.messages = 4, .bytes = 64 << 10}, .first_window_messages = 8};

enum class Bug {
  kNone,
  kGrantsWhatIsNotReserved,
  kCountsAReservedMessageAgain,
  kKeepsWhatWasReturned,
  kSendsWhatItReturned,
  kGivesNoAllowanceBack,
  kHandlesWithoutTelling,
  kKeepsAGrantThatWasGivenUp,
  kGrantsAfterItGaveUp,
};

struct Node {
  CreditSender sender{kTerms};
  CreditReceiver receiver{kTerms};
  std::deque<Admission> messages;    // on their way
  std::deque<CreditChange> answers;  // to the mailbox's node
  std::deque<CreditChange> changes;  // from it
  int64_t reserved = 0;
  int sends_left = 0;
  int looks_left = 0;
  int waits_left = 0;                // a sender may yet come to wait
  bool is_waiting = false;           // it is told when it has room
  absl::optional<uint64_t> in_line;  // its number, at the mailbox's node
};

struct State {
  int64_t capacity = 1;
  int64_t counted = 0;  // by the gate
  // Which node's, or kNodes for its own, and what covers it.
  std::deque<std::pair<size_t, Admission>> mailbox;
  std::array<Node, kNodes> nodes;
  int own_sends_left = 0;
  int64_t accepted = 0;
  int64_t handled = 0;
  std::string failure;

  void Expect(bool holds, const char* what) {
    if (!holds && failure.empty()) failure = what;
  }
  std::string Key() const;
};

std::string State::Key() const {
  std::string key = absl::StrCat(counted, "/", own_sends_left, "/", accepted, "/", handled, "/");
  for (const auto& [node, admission] : mailbox) absl::StrAppend(&key, node, static_cast<int>(admission), ",");
  for (const Node& node : nodes) {
    absl::StrAppend(&key, "|", node.sender.ToString(), "|", node.receiver.ToString(), "|", node.reserved, "|",
                    node.sends_left, "|", node.looks_left, "|", node.waits_left, node.is_waiting,
                    node.in_line.value_or(0), "|");
    for (const Admission admission : node.messages) absl::StrAppend(&key, static_cast<int>(admission));
    for (const auto* queue : {&node.answers, &node.changes}) {
      absl::StrAppend(&key, "|");
      for (const CreditChange& change : *queue) {
        absl::StrAppend(&key, static_cast<int>(change.kind), ":", change.granted.messages, ":",
                        change.allowance.messages, ":", change.want, ",");
      }
    }
  }
  return key;
}

class Model {
 public:
  explicit Model(Bug bug) : bug_(bug) {}

  // The first failure, or nothing.
  std::string Explore(State first) {
    std::vector<State> open;
    open.push_back(std::move(first));
    while (!open.empty()) {
      const State state = std::move(open.back());
      open.pop_back();
      bool is_over = true;
      for (int step = 0; step < kSteps; ++step) {
        State next = state;
        if (!Take(next, step)) continue;
        is_over = false;
        if (!next.failure.empty()) return next.failure;
        if (seen_.insert(next.Key()).second) open.push_back(std::move(next));
      }
      if (!is_over) continue;
      const std::string failure = AtEnd(state);
      if (!failure.empty()) return failure;
    }
    return "";
  }
  size_t states() const { return seen_.size(); }

 private:
  static constexpr int kStepsOfNode = 9;
  static constexpr int kSteps = kStepsOfNode * static_cast<int>(kNodes) + 2;

  // False when it is not possible now.
  bool Take(State& state, int step) {
    if (step == kSteps - 1) return Handle(state);
    if (step == kSteps - 2) return SendOwn(state);
    Node& node = state.nodes[static_cast<size_t>(step / kStepsOfNode)];
    switch (step % kStepsOfNode) {
      case 0:
        return Send(state, node);
      case 1:
        return ArriveMessage(state, static_cast<size_t>(step / kStepsOfNode));
      case 2:
        return ArriveAnswer(state, node);
      case 3:
        return ArriveChange(state, node);
      case 4:
        return Reserve(state, node);
      case 5:
        return Look(node);
      case 6:
        return Wait(state, node);
      case 7:
        return Serve(state, node);
      default:
        return GiveUp(node);
    }
  }

  static bool Send(State& state, Node& node) {
    if (node.sends_left == 0) return false;
    --node.sends_left;
    const absl::optional<Admission> admission = node.sender.Find(kBox, 1);
    if (admission.has_value()) {
      node.sender.OnSent(kBox, 1, *admission);
      node.messages.push_back(*admission);
      ++state.accepted;
    } else if (node.sender.Asks(kBox)) {
      node.answers.push_back({.kind = CreditChange::Kind::kWant, .granted = {.messages = 1, .bytes = 1}});
    }
    return true;
  }
  static bool Wait(State& state, Node& node) {
    if (node.waits_left == 0) return false;
    --node.waits_left;
    const absl::optional<Admission> admission = node.sender.Find(kBox, 1);
    if (admission.has_value()) {
      node.sender.OnSent(kBox, 1, *admission);
      node.messages.push_back(*admission);
      ++state.accepted;
    } else {
      node.answers.push_back(*node.sender.Wants(kBox, 1, kWaiter));
      node.is_waiting = true;
    }
    return true;
  }
  static bool GiveUp(Node& node) {
    if (!node.is_waiting) return false;
    node.is_waiting = false;
    node.answers.push_back(*node.sender.GiveUp(kWaiter));
    return true;
  }
  // The mailbox serves the node's sender that is next in its line.
  bool Serve(State& state, Node& node) {
    if (!node.in_line.has_value() || state.counted >= state.capacity) return false;
    ++state.counted;
    ++node.reserved;
    const absl::optional<CreditChange> told = node.receiver.OnTurn(*node.in_line, absl::OkStatus(), now_);
    node.in_line.reset();
    state.Expect(told.has_value(), "one in the line has not given up");
    if (told.has_value()) node.changes.push_back(*told);
    return true;
  }
  void OnWantAnswered(State& state, Node& node, const CreditChange& answer) {
    const auto answered = node.sender.OnWantAnswered(answer);
    state.Expect(answered.ok(), "each want is answered once, with what it asked for");
    if (!answered.ok()) return;
    if (answered->told.has_value() && bug_ != Bug::kKeepsAGrantThatWasGivenUp) node.answers.push_back(*answered->told);
    if (!answered->waiter.has_value()) return;
    node.is_waiting = false;
    if (answer.kind == CreditChange::Kind::kRefuse) return;
    node.sender.OnSentInRoom(kWaiter);
    node.messages.push_back(Admission::kReserved);
    ++state.accepted;
  }
  bool ArriveMessage(State& state, size_t of) {
    Node& node = state.nodes[of];
    if (node.messages.empty()) return false;
    const Admission admission = node.messages.front();
    node.messages.pop_front();
    state.Expect(node.receiver.OnArrived(kBox, 1, admission, now_), "a message that was accepted has credit");
    if (admission == Admission::kReserved) {
      state.Expect(--node.reserved >= 0, "a message that was accepted finds its room");
      if (bug_ == Bug::kCountsAReservedMessageAgain) ++state.counted;
    }
    state.mailbox.emplace_back(of, admission);
    return true;
  }
  bool ArriveAnswer(State& state, Node& node) {
    if (node.answers.empty()) return false;
    CreditChange change = node.answers.front();
    node.answers.pop_front();
    change.to = kBox.first;
    change.mailbox = kBox.second;
    if (change.want != 0) {
      if (change.kind == CreditChange::Kind::kWant) {
        state.Expect(node.receiver.OnWaits(change).ok(), "a number is used once");
        for (const CreditReceiver::Waiting& entering : node.receiver.TakeEntering()) node.in_line = entering.want;
      } else if (node.receiver.OnGaveUp(change).has_value()) {
        if (bug_ != Bug::kGrantsAfterItGaveUp) node.in_line.reset();
        change.kind = CreditChange::Kind::kRefuse;
        node.changes.push_back(change);
      }
      return true;
    }
    if (change.kind == CreditChange::Kind::kWant) {
      state.Expect(node.receiver.OnWanted(kBox, change.granted.bytes, now_).ok(), "what is wanted is possible");
      return true;
    }
    state.Expect(node.receiver.OnReturned(change).ok(), "what is returned was granted");
    node.reserved -= change.granted.messages;
    if (bug_ != Bug::kKeepsWhatWasReturned) state.counted -= change.granted.messages;
    return true;
  }
  bool ArriveChange(State& state, Node& node) {
    if (node.changes.empty()) return false;
    CreditChange change = node.changes.front();
    node.changes.pop_front();
    if (change.want != 0) {
      OnWantAnswered(state, node, change);
      return true;
    }
    if (change.kind == CreditChange::Kind::kGrant) {
      if (bug_ == Bug::kGivesNoAllowanceBack) change.allowance = {};
      state.Expect(node.sender.OnGrant(change).ok(), "a grant is no nonsense");
      return true;
    }
    const CreditSender before = node.sender;
    change.granted = node.sender.OnTakeBack(change);
    if (bug_ == Bug::kSendsWhatItReturned) node.sender = before;
    change.kind = CreditChange::Kind::kReturn;
    node.answers.push_back(change);
    return true;
  }
  bool Reserve(State& state, Node& node) {
    if (!node.receiver.is_due()) return false;
    const bool is_awaited = std::any_of(state.nodes.begin(), state.nodes.end(),
                                        [](const Node& waiting) { return waiting.in_line.has_value(); });
    for (const auto& [to, wish] : node.receiver.TakeDue()) {
      if (is_awaited) {
        const absl::optional<CreditChange> told = node.receiver.OnReserved(to, {.is_awaited = true});
        if (!told.has_value()) continue;
        state.Expect(told->granted.is_zero() && told->allowance.is_zero(), "while one waits nothing is given out");
        node.changes.push_back(*told);
        continue;
      }
      RoomAmount got{.messages = std::min(wish.messages, state.capacity - state.counted), .bytes = wish.bytes};
      if (got.messages == 0) got.bytes = 0;
      state.counted += got.messages;
      node.reserved += got.messages;
      if (bug_ == Bug::kGrantsWhatIsNotReserved && wish.messages > 0) got = wish;
      const absl::optional<CreditChange> told = node.receiver.OnReserved(to, {.amount = got});
      if (told.has_value()) node.changes.push_back(*told);
    }
    return true;
  }
  bool Look(Node& node) const {
    if (node.looks_left == 0 || !node.receiver.needs_look()) return false;
    --node.looks_left;
    for (const CreditChange& change : node.receiver.Look(now_ + kCreditIdle)) node.changes.push_back(change);
    return true;
  }
  static bool SendOwn(State& state) {
    if (state.own_sends_left == 0) return false;
    --state.own_sends_left;
    if (state.counted < state.capacity) {
      ++state.counted;
      state.mailbox.emplace_back(kNodes, Admission::kReserved);
      return true;
    }
    for (Node& node : state.nodes) {
      const absl::optional<CreditChange> told = node.receiver.AskBack(kBox);
      if (told.has_value()) node.changes.push_back(*told);
    }
    return true;
  }
  bool Handle(State& state) const {
    if (state.mailbox.empty()) return false;
    const auto [of, admission] = state.mailbox.front();
    state.mailbox.pop_front();
    if (admission == Admission::kReserved) --state.counted;
    if (of == kNodes) return true;
    ++state.handled;
    if (bug_ != Bug::kHandlesWithoutTelling)
      state.nodes[of].receiver.OnReleased(kBox, admission, {.messages = 1, .bytes = 1});
    return true;
  }

  // Nothing goes on by itself. Then what lies unused is looked for until all is back.
  std::string AtEnd(State state) {
    // Allowances that were withheld are given back, and windows that come with them are asked back when they are idle.
    for (Node& node : state.nodes) node.looks_left = 2;
    for (bool goes_on = true; goes_on && state.failure.empty();) {
      goes_on = false;
      for (int step = 0; step < kSteps; ++step) goes_on = Take(state, step) || goes_on;
    }
    state.Expect(state.handled == state.accepted, "what was accepted is handled");
    state.Expect(state.counted == 0, "nothing is reserved when all is over");
    for (const Node& node : state.nodes) {
      state.Expect(node.reserved == 0, "nothing is reserved for a node when all is over");
      state.Expect(node.sender.mailboxes() == 0, "the sender's account is as at first");
      state.Expect(node.receiver.mailboxes() == 0, "the receiver's account is as at first");
    }
    return state.failure;
  }

  const Bug bug_;
  const MonotonicTime now_;
  std::set<std::string> seen_;
};

State Start(int64_t capacity) {
  State state;
  state.capacity = capacity;
  state.nodes[0].sends_left = 3;
  state.nodes[1].sends_left = 1;
  state.nodes[0].looks_left = 1;
  state.own_sends_left = 1;
  return state;
}

TEST(CreditModelTest, WhatIsAcceptedFindsItsRoomAndInTheEndNothingIsReserved) {
  for (const int64_t capacity : {1, 2}) {
    Model model(Bug::kNone);
    EXPECT_THAT(model.Explore(Start(capacity)), IsEmpty()) << "capacity " << capacity;
    EXPECT_GT(model.states(), 10'000U);
  }
}

// Few other messages are sent, because this start explores the ways in which a wait can go.
State StartWaiting(int64_t capacity) {
  State state;
  state.capacity = capacity;
  constexpr CreditTerms kFew{.first_allowance = {.messages = 2, .bytes = 64 << 10}, .first_window_messages = 8};
  state.nodes[0].sender = CreditSender(kFew);
  state.nodes[0].receiver = CreditReceiver(kFew);
  state.nodes[0].sends_left = static_cast<int>(kFew.first_allowance.messages);
  state.nodes[0].waits_left = 1;
  state.nodes[0].looks_left = 1;
  state.own_sends_left = 1;
  return state;
}

TEST(CreditModelTest, OneThatWaitsIsServedOrGivesUpAndInTheEndNothingIsReserved) {
  for (const int64_t capacity : {1, 2}) {
    Model model(Bug::kNone);
    EXPECT_THAT(model.Explore(StartWaiting(capacity)), IsEmpty()) << "capacity " << capacity;
    EXPECT_GT(model.states(), 1000U);
  }
}

TEST(CreditModelTest, EachRuleOfWaitingThatIsBrokenIsFound) {
  const auto failure = [](Bug bug) { return Model(bug).Explore(StartWaiting(2)); };
  EXPECT_THAT(failure(Bug::kKeepsAGrantThatWasGivenUp), HasSubstr("reserved"));
  EXPECT_THAT(failure(Bug::kGrantsAfterItGaveUp), HasSubstr("has not given up"));
}

// While a sender waits for room, no allowance is given back to either node, so that no other sender overtakes it.
// Afterwards all withheld allowances are given back.
State StartWithholding() {
  State state;
  state.capacity = 1;
  constexpr CreditTerms kOne{.first_allowance = {.messages = 1, .bytes = 64 << 10}, .first_window_messages = 8};
  for (Node& node : state.nodes) {
    node.sender = CreditSender(kOne);
    node.receiver = CreditReceiver(kOne);
    node.sends_left = 1;
  }
  state.nodes[0].waits_left = 1;
  state.own_sends_left = 1;
  return state;
}

TEST(CreditModelTest, WhatIsWithheldWhileOneWaitsIsGivenBackAfterwards) {
  Model model(Bug::kNone);
  EXPECT_THAT(model.Explore(StartWithholding()), IsEmpty());
  EXPECT_GT(model.states(), 1000U);
}

TEST(CreditModelTest, EachRuleOfWithholdingThatIsBrokenIsFound) {
  const auto failure = [](const char* rule) {
    FaultPoint::Scope broken(rule);
    return Model(Bug::kNone).Explore(StartWithholding());
  };
  EXPECT_THAT(failure("credit_is_given_out_beside_the_line"), HasSubstr("while one waits nothing is given out"));
  EXPECT_THAT(failure("credit_that_was_withheld_is_forgotten"), HasSubstr("as at first"));
}

TEST(CreditModelTest, EachRuleThatIsBrokenIsFound) {
  const auto failure = [](Bug bug) { return Model(bug).Explore(Start(2)); };
  EXPECT_THAT(failure(Bug::kGrantsWhatIsNotReserved), Not(IsEmpty()));
  EXPECT_THAT(failure(Bug::kCountsAReservedMessageAgain), HasSubstr("nothing is reserved"));
  EXPECT_THAT(failure(Bug::kKeepsWhatWasReturned), HasSubstr("nothing is reserved"));
  EXPECT_THAT(failure(Bug::kSendsWhatItReturned), Not(IsEmpty()));
  EXPECT_THAT(failure(Bug::kGivesNoAllowanceBack), HasSubstr("as at first"));
  EXPECT_THAT(failure(Bug::kHandlesWithoutTelling), HasSubstr("as at first"));
}

}  // namespace
}  // namespace understudy
