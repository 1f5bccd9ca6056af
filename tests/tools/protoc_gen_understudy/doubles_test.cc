// The probes and mocks that are generated for counter.proto, as a test of an actor that uses a counter uses them.
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest-spi.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/error.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/tests/tools/protoc_gen_understudy/counter.ref.h"
#include "understudy/tests/tools/protoc_gen_understudy/counter.testing.h"

namespace counter {
namespace {

using testing::Property;
using understudy::Behavior;
using understudy::StartResult;

TotalReply TotalOf(int64_t total) {
  TotalReply reply;
  reply.set_total(total);
  return reply;
}

// Adds twice the requested number to a counter, and replies with the counter's total after that.
class Doubler final : public CounterActor {
 public:
  explicit Doubler(CounterRef counter) : counter_(counter) {}

 private:
  StartResult Start() override { return doubling_; }

  void Add(AddRequest request) {
    request.set_number(2 * request.number());
    counter_.add().Tell(std::move(request));
  }
  understudy::Task<absl::StatusOr<TotalReply>> Total(TotalRequest request) {
    auto asked = counter_.total().Ask(request, absl::Seconds(1));
    absl::StatusOr<TotalReply> total = co_await asked;
    co_return total;
  }

  const CounterRef counter_;
  Behavior doubling_{"doubling", On(add, &Doubler::Add), On(total, &Doubler::Total),
                     Refuse(flush, absl::UnimplementedError("it keeps nothing")), Drop(watch)};
};

AddRequest Number(int64_t number) {
  AddRequest request;
  request.set_number(number);
  return request;
}

class DoublesTest : public understudy::ActorTest {};

TEST_F(DoublesTest, AProbeShowsWhatEachRpcReceives) {
  CounterProbe counter(system());
  const CounterRef doubler = system().Spawn<Doubler>(counter.Ref());
  doubler.add().Tell(Number(3));
  counter.add.Expect(Property(&AddRequest::number, 6));
  counter.add.ExpectNothing();

  absl::optional<absl::StatusOr<TotalReply>> answer;
  system().Ask(doubler.total(), TotalRequest(), absl::Seconds(5),
               [&](absl::StatusOr<TotalReply> total) { answer = std::move(total); });
  auto asked = counter.total.Receive();
  ASSERT_TRUE(asked.has_value());
  asked->replier.Reply(TotalOf(6));
  system().RunUntilIdle();
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ((*answer)->total(), 6);
}

TEST_F(DoublesTest, AMockAnswersAsTheTestSays) {
  MockCounter counter(system());
  const CounterRef doubler = system().Spawn<Doubler>(counter.Ref());
  counter.add.Expect(Property(&AddRequest::number, 8));
  counter.total.Expect().Answer(TotalOf(8));
  counter.total.Expect().Answer(absl::DataLossError("torn"));
  counter.total.Allow().NeverAnswer();
  doubler.add().Tell(Number(4));
  EXPECT_EQ(Ask(doubler.total(), TotalRequest())->total(), 8);
  EXPECT_EQ(Ask(doubler.total(), TotalRequest()).status(), absl::DataLossError("torn"));
  EXPECT_TRUE(understudy::IsExpired(Ask(doubler.total(), TotalRequest(), absl::Seconds(5)).status()));
}

TEST_F(DoublesTest, AMockFailsTheTestForAnRpcThatIsNotExpected) {
  MockCounter counter(system());
  const CounterRef doubler = system().Spawn<Doubler>(counter.Ref());
  counter.add.Disallow();
  doubler.add().Tell(Number(1));
  EXPECT_NONFATAL_FAILURE(system().RunUntilIdle(), "the mock of counter.Counter/Add does not expect this message");
  counter.total.Expect();
  EXPECT_NONFATAL_FAILURE(counter.total.Verify(), "the mock of counter.Counter/Total expects a message that");
}

TEST_F(DoublesTest, TheyServeOptionalRpcsAndHaveNames) {
  MockCounter counter(system(), {.registered_as = "counter"});
  counter.reset.Expect().Answer(TotalOf(1));
  const absl::StatusOr<CounterRef> found = system().Lookup<CounterRef>("counter", absl::Seconds(1));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(*found, counter.Ref());
  EXPECT_EQ(Ask(found->reset(), ResetRequest())->total(), 1);
}

TEST_F(DoublesTest, RpcsMayBeNamedAsParametersOfTheirMock) {
  MockSwitch mock(system());
  mock.close.Expect().Answer(TotalOf(1));
  mock.on_close.Expect().Answer(TotalOf(2));
  mock.options.Expect().Answer(TotalOf(3));
  mock.system.Expect().Answer(TotalOf(4));
  const SwitchRef ref = mock.Ref();
  EXPECT_EQ(Ask(ref.close(), FlushRequest())->total(), 1);
  EXPECT_EQ(Ask(ref.on_close(), FlushRequest())->total(), 2);
  EXPECT_EQ(Ask(ref.options(), FlushRequest())->total(), 3);
  EXPECT_EQ(Ask(ref.system(), FlushRequest())->total(), 4);
}

}  // namespace
}  // namespace counter
