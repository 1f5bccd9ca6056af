// MailboxMock<M>: a mailbox of a test's actor that answers as the test has said before, and fails the test when a
// message comes that the test did not say, or does not come that it expects. The mock that is generated for a service
// has one for each rpc (x.testing.h).
//
//   MockAuction lot(system);
//   lot.make_offer.Expect(EqualsOffer(500)).Answer(accepted);     // one call
//   lot.inquire.Allow().Answer(AuctionStatus());                  // any number of calls
//   lot.inquire.Allow(OfAnotherLot()).Answer(absl::NotFoundError("no such lot"));
//   lot.watch.Disallow();                                         // as without a word
//   system.Spawn<Bidder>(lot.Ref());
//
// A message goes to the oldest expectation that it matches and that has had no message yet; if there is none, to the
// newest of the Allow and Disallow that it matches. Every other message fails the test; if it is a call it is answered
// FailedPrecondition. A matcher is a value or a GoogleMock matcher of the message, or of a call's request. The request
// of an upload is a vector, its items, which the mock reads to their end before it handles the next message; an upload
// without an end counts as no message.
//
// Threads: the test's thread. Lifetime: destroy the mock before the system. Its destructor fails the test for each
// expectation without a message, and runs nothing: let the actors under test run before.
#ifndef UNDERSTUDY_ACTORS_TESTING_MAILBOX_MOCK_H_
#define UNDERSTUDY_ACTORS_TESTING_MAILBOX_MOCK_H_

#include <deque>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/message.h"
#include "understudy/actors/replier.h"
#include "understudy/actors/stream.h"
#include "understudy/actors/stream_writer.h"
#include "understudy/actors/task.h"
#include "understudy/actors/test_system.h"
#include "understudy/actors/testing/read_to_end.h"

namespace understudy {

namespace internal {

// The type of a mock's answer: the reply of a call, or all items of a stream.
template <class M>
struct MockReply {
  using type = std::conditional_t<MessageTraits<M>::kIsCall, typename MessageTraits<M>::Reply, int>;
};
template <class Q, class M>
struct MockReply<Call<Q, Stream<M>>> {
  using type = std::vector<M>;
};

template <class I, class R>
struct MockReply<Call<Stream<I>, Stream<R>>> {
  using type = std::vector<R>;
};

// The type that a mock's expectations see: the message, the request of a call, or all items of an upload.
template <class M>
struct MockRequest {
  using type = typename MessageTraits<M>::Request;
};
template <class I, class R>
struct MockRequest<Call<Stream<I>, R>> {
  using type = std::vector<I>;
};

}  // namespace internal

// A rule of a mock for some of its messages.
template <class M>
class MockRule {
  using Request = typename internal::MockRequest<M>::type;
  // For tells the functions about answers do not compile.
  using Reply = typename internal::MockReply<M>::type;

 public:
  enum class Kind { kExpect, kAllow, kDisallow };

  MockRule(Kind kind, ::testing::Matcher<const Request&> matcher) : kind_(kind), matcher_(std::move(matcher)) {}

  // The answer to each call: a reply or an error. Without a word it is a default-constructed reply. The reply of a
  // stream is a vector: its items, after which the stream ends with OK.
  void Answer(absl::StatusOr<Reply> answer)
    requires internal::MessageTraits<M>::kIsCall
  {
    AnswerBy([answer = std::move(answer)](const Request&) { return answer; });
  }
  // The answer to each call is what `answer` returns. It runs in the mock's turn.
  void AnswerBy(std::function<absl::StatusOr<Reply>(const Request&)> answer)
    requires internal::MessageTraits<M>::kIsCall
  {
    answer_ = std::move(answer);
  }
  // The calls are not answered while the mock lives; then they are answered Unanswered.
  void NeverAnswer()
    requires internal::MessageTraits<M>::kIsCall
  {
    answers_ = false;
  }

  Kind kind() const { return kind_; }
  bool Matches(const Request& request) const { return matcher_.Matches(request); }
  bool is_met() const { return is_met_; }
  void SetMet() { is_met_ = true; }
  bool answers() const { return answers_; }
  // Requires answers().
  absl::StatusOr<Reply> AnswerTo(const Request& request) const { return answer_(request); }
  // "is equal to 5"
  std::string Description() const {
    std::ostringstream text;
    matcher_.DescribeTo(&text);
    return text.str();
  }

 private:
  static absl::StatusOr<Reply> DefaultReply(const Request& /*request*/) {
    if constexpr (std::is_default_constructible_v<Reply>) {
      return Reply();
    } else {
      return absl::InternalError("the mock has no answer, and a reply has no default: use Answer");
    }
  }

  const Kind kind_;
  const ::testing::Matcher<const Request&> matcher_;
  bool is_met_ = false;
  bool answers_ = true;
  std::function<absl::StatusOr<Reply>(const Request&)> answer_ = DefaultReply;
};

namespace internal {

// The rules of one mock, and the calls that it does not answer.
template <class M>
struct MockScript {
  using Request = typename MockRequest<M>::type;

  // Returns the rule that `request` goes to. If there is none, or it is a Disallow, fails the test and returns an
  // error.
  absl::StatusOr<const MockRule<M>*> Take(const Request& request) {
    using Kind = typename MockRule<M>::Kind;
    for (MockRule<M>& rule : rules) {
      if (rule.kind() != Kind::kExpect || rule.is_met() || !rule.Matches(request)) continue;
      rule.SetMet();
      return &rule;
    }
    for (auto rule = rules.rbegin(); rule != rules.rend(); ++rule) {
      if (rule->kind() == Kind::kExpect || !rule->Matches(request)) continue;
      if (rule->kind() == Kind::kAllow) return &*rule;
      break;
    }
    ADD_FAILURE() << "the mock of " << name << " does not expect this message: " << ::testing::PrintToString(request);
    return absl::FailedPreconditionError(absl::StrCat("the mock of ", name, " does not expect this message"));
  }

  const std::string name;
  std::deque<MockRule<M>> rules = {};  // of which the test has references
  std::vector<std::shared_ptr<void>> unanswered = {};
};

// Handlers that do as the script says. They may outlive the mock.
template <class M>
struct FollowsScript {
  std::shared_ptr<MockScript<M>> script;

  absl::Status operator()(const M& message) const { return script->Take(message).status(); }
};

// Answers as `script` says. `request` lives until the Task ends.
template <class C, class M>
Task<> AnswerByScript(MockScript<C>& script, const typename MockRequest<C>::type& request, StreamWriter<M> writer) {
  const absl::StatusOr<const MockRule<C>*> rule = script.Take(request);
  if (!rule.ok()) {
    writer.Finish(rule.status());
    co_return;
  }
  if (!(*rule)->answers()) {
    script.unanswered.push_back(std::make_shared<StreamWriter<M>>(std::move(writer)));
    co_return;
  }
  absl::StatusOr<std::vector<M>> answer = (*rule)->AnswerTo(request);
  if (!answer.ok()) {
    writer.Finish(answer.status());
    co_return;
  }
  for (M& item : *answer) {
    absl::Status written = co_await writer.Write(std::move(item), absl::InfiniteDuration());
    if (!written.ok()) co_return;
  }
  writer.Finish(absl::OkStatus());
}
template <class C, class R>
void AnswerByScript(MockScript<C>& script, const typename MockRequest<C>::type& request, Replier<R> replier) {
  const absl::StatusOr<const MockRule<C>*> rule = script.Take(request);
  if (!rule.ok()) {
    replier.Reply(rule.status());
  } else if ((*rule)->answers()) {
    replier.Reply((*rule)->AnswerTo(request));
  } else {
    script.unanswered.push_back(std::make_shared<Replier<R>>(std::move(replier)));
  }
}

template <class Q, class M>
struct FollowsScript<Call<Q, Stream<M>>> {
  std::shared_ptr<MockScript<Call<Q, Stream<M>>>> script;

  // The mock handles nothing else while the asker does not take the items.
  Task<> operator()(const Q& request, StreamWriter<M> writer) const {
    return AnswerByScript(*script, request, std::move(writer));
  }
};
template <class Q, class R>
struct FollowsScript<Call<Q, R>> {
  std::shared_ptr<MockScript<Call<Q, R>>> script;

  void operator()(const Q& request, Replier<R> replier) const { AnswerByScript(*script, request, std::move(replier)); }
};
template <class I, class R>
struct FollowsScript<Call<Stream<I>, R>> {
  std::shared_ptr<MockScript<Call<Stream<I>, R>>> script;

  Task<> operator()(Stream<I> upload, Replier<R> replier) const {
    auto reading = ReadToEnd(std::move(upload));
    absl::StatusOr<std::vector<I>> request = co_await reading;
    if (request.ok()) AnswerByScript(*script, *request, std::move(replier));
  }
};
template <class I, class M>
struct FollowsScript<Call<Stream<I>, Stream<M>>> {
  std::shared_ptr<MockScript<Call<Stream<I>, Stream<M>>>> script;

  Task<> operator()(Stream<I> upload, StreamWriter<M> writer) const {
    auto reading = ReadToEnd(std::move(upload));
    absl::StatusOr<std::vector<I>> request = co_await reading;
    if (!request.ok()) co_return;
    auto answering = AnswerByScript(*script, *request, std::move(writer));
    co_await answering;
  }
};

}  // namespace internal

template <class M>
class MailboxMock {
 public:
  // The handler of the mailbox.
  using Handler = internal::FollowsScript<M>;
  using Request = typename internal::MockRequest<M>::type;
  using Matcher = ::testing::Matcher<const Request&>;

  // Failures of the test call it `name`.
  MailboxMock(TestSystem& /*system*/, std::string name)
      : handler_{std::make_shared<internal::MockScript<M>>(internal::MockScript<M>{std::move(name)})} {}
  ~MailboxMock() {
    Verify();
    handler_.script->unanswered.clear();
  }
  MailboxMock(const MailboxMock&) = delete;
  MailboxMock& operator=(const MailboxMock&) = delete;

  const Handler& handler() const { return handler_; }

  // Expects one message that matches.
  MockRule<M>& Expect(Matcher matcher = ::testing::_) { return Add(MockRule<M>::Kind::kExpect, std::move(matcher)); }
  // Allows any number of messages that match.
  MockRule<M>& Allow(Matcher matcher = ::testing::_) { return Add(MockRule<M>::Kind::kAllow, std::move(matcher)); }
  // A message that matches fails the test, unless it is expected.
  void Disallow(Matcher matcher = ::testing::_) { Add(MockRule<M>::Kind::kDisallow, std::move(matcher)); }

  // Fails the test for each expectation that has had no message, and forgets all expectations, Allow and Disallow.
  void Verify() {
    for (const MockRule<M>& rule : handler_.script->rules) {
      if (rule.kind() == MockRule<M>::Kind::kExpect && !rule.is_met()) {
        ADD_FAILURE() << "the mock of " << handler_.script->name << " expects a message that " << rule.Description()
                      << ", which has not come";
      }
    }
    handler_.script->rules.clear();
  }

 private:
  MockRule<M>& Add(typename MockRule<M>::Kind kind, Matcher matcher) {
    return handler_.script->rules.emplace_back(kind, std::move(matcher));
  }

  const Handler handler_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_TESTING_MAILBOX_MOCK_H_
