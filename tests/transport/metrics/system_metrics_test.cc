// What a system counts itself is found on its page.
#include "understudy/transport/metrics/system_metrics.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/channel.h"
#include "understudy/actors/ref.h"
#include "understudy/actors/replier.h"
#include "understudy/actors/test_system.h"
#include "understudy/tests/transport/metrics/strict_exposition.h"
#include "understudy/transport/metrics/exposition.h"

namespace understudy::internal {
namespace {

using Number = Call<int, int>;
using Kept = std::vector<Replier<int>>;

// Asks `next` what it is asked itself.
class Relay final : public Actor {
 public:
  Mailbox<"ask", Number> ask{this};
  Mailbox<"next", Channel<Number>> next{this};
  StartResult Start() override { return relaying_; }

 private:
  Task<absl::StatusOr<int>> Pass(int number) {
    auto asked = next_->Ask(number, absl::Seconds(10));
    absl::StatusOr<int> answer = co_await asked;
    co_return answer;
  }
  absl::optional<Channel<Number>> next_;
  Behavior relaying_{"relaying", On(ask, &Relay::Pass),
                     On(next, [this](Channel<Number> channel) { next_ = std::move(channel); })};
};

// Keeps the calls, for the test to answer.
class Keeper final : public Actor {
 public:
  explicit Keeper(std::shared_ptr<Kept> kept) : kept_(std::move(kept)) {}
  Mailbox<"ask", Number> ask{this};
  StartResult Start() override { return keeping_; }

 private:
  const std::shared_ptr<Kept> kept_;
  Behavior keeping_{"keeping", On(ask, [this](int, Replier<int> replier) { kept_->push_back(std::move(replier)); })};
};

class SystemMetricsTest : public ::testing::Test {
 protected:
  void Lead(const Ref<Relay>& from, const Channel<Number>& to) {
    from[&Relay::next].Tell(to);
    system_.RunUntilIdle();
  }
  double Told(const std::string& name) {
    Exposition page;
    metrics_.Write(page, /*is_ready=*/true);
    const absl::StatusOr<Series> series = ParseExposition(page.text());
    EXPECT_TRUE(series.ok()) << series.status();
    return series.ok() && series->contains(name) ? series->at(name) : -1;
  }

  TestSystem system_;
  SystemMetrics metrics_{system_, nullptr};
};

TEST_F(SystemMetricsTest, ACircleOfCallsIsCounted) {
  const Ref<Relay> a = system_.Spawn<Relay>();
  const Ref<Relay> b = system_.Spawn<Relay>();
  Lead(a, b[&Relay::ask]);
  Lead(b, a[&Relay::ask]);
  EXPECT_EQ(Told("understudy_call_cycles_total"), 0);
  EXPECT_FALSE(system_.Ask(a[&Relay::ask], 1, absl::Seconds(30)).ok());
  EXPECT_EQ(Told("understudy_call_cycles_total"), 1);
}

TEST_F(SystemMetricsTest, AReplyWhoseAskerHasEndedIsCounted) {
  const auto kept = std::make_shared<Kept>();
  const Ref<Keeper> keeper = system_.Spawn<Keeper>(kept);
  const Ref<Relay> asker = system_.Spawn<Relay>();
  Lead(asker, keeper[&Keeper::ask]);
  EXPECT_FALSE(system_.Ask(asker[&Relay::ask], 1, absl::Seconds(1)).ok());
  ASSERT_EQ(kept->size(), 1U);
  system_.Kill(asker.pid());
  system_.RunUntilIdle();
  const double before = Told("understudy_late_replies_total");
  kept->back().Reply(1);
  system_.RunUntilIdle();
  EXPECT_EQ(Told("understudy_late_replies_total"), before + 1);
}

}  // namespace
}  // namespace understudy::internal
