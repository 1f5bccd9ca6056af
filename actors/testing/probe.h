// Probe<M>: a mailbox that a test owns and looks into.
//
//   Probe<Bid> bids(system);
//   system.Spawn<Auctioneer>(bids.channel());
//   bids.Expect(Field(&Bid::cents, 500));           // runs the system until idle, then takes the oldest
//   bids.ExpectNothing();
//
// For calls, Probe<Call<Q, R>> gives the request and a Replier for the answer:
//
//   Probe<Call<Query, Rows>> database(system);
//   database.Receive()->replier.Reply(Rows());
//
// A probe keeps the messages in the order of arrival. Its functions run the system
// until idle, but never let time pass. Threads: the test's thread. Lifetime: destroy the
// probe before the system, with which its actor ends.
#ifndef UNDERSTUDY_ACTORS_TESTING_PROBE_H_
#define UNDERSTUDY_ACTORS_TESTING_PROBE_H_

#include <deque>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/channel.h"
#include "understudy/actors/mailbox.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/ref.h"
#include "understudy/actors/replier.h"
#include "understudy/actors/test_system.h"

namespace understudy {

// A call that a probe has received.
template <class Q, class R>
struct Asked {
  Q request;
  Replier<R> replier;
};

namespace internal {

// The type of the items that a Probe<M> receives.
template <class M>
struct ProbeItem {
  using type = M;
};
template <class Q, class R>
struct ProbeItem<Call<Q, R>> {
  using type = Asked<Q, R>;
};

template <class M>
class ProbeActor final : public Actor {
 public:
  using Item = typename ProbeItem<M>::type;
  using Items = std::deque<Item>;

  Mailbox<"probe", M> probe;

  ProbeActor(std::shared_ptr<Items> items, MailboxOptions options) : probe(this, options), items_(std::move(items)) {}
  StartResult Start() override {
    if constexpr (MessageTraits<M>::kIsCall) {
      using Q = typename M::Request;
      using R = typename M::Reply;
      return Behavior("probing", On(probe, [items = items_](Q request, Replier<R> replier) {
                        items->push_back({std::move(request), std::move(replier)});
                      }));
    } else {
      return Behavior("probing", On(probe, [items = items_](M message) { items->push_back(std::move(message)); }));
    }
  }

 private:
  std::shared_ptr<Items> items_;
};

}  // namespace internal

template <class M>
class Probe {
 public:
  using Item = typename internal::ProbeItem<M>::type;

  explicit Probe(TestSystem& system, MailboxOptions options = {})
      : system_(system),
        items_(std::make_shared<std::deque<Item>>()),
        ref_(system.Spawn<internal::ProbeActor<M>>(items_, options)) {}
  // Calls that the test has not taken are answered Unanswered.
  ~Probe() { items_->clear(); }
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  // The channel to the probe, for the actors under test.
  Channel<M> channel() const { return ref_[&internal::ProbeActor<M>::probe]; }
  Pid pid() const { return ref_.pid(); }

  // Runs the system until idle, and takes the oldest message; nullopt if there is none.
  absl::optional<Item> Receive() {
    system_.RunUntilIdle();
    if (items_->empty()) return absl::nullopt;
    absl::optional<Item> oldest(std::move(items_->front()));
    items_->pop_front();
    return oldest;
  }
  // Runs the system until idle, and takes all messages.
  std::vector<Item> ReceiveAll() {
    std::vector<Item> all;
    while (absl::optional<Item> next = Receive()) all.push_back(*std::move(next));
    return all;
  }
  // Runs the system until idle, takes the oldest message, and expects that there is one
  // and that it matches `matcher`, which is a value or a GoogleMock matcher.
  template <class Matcher>
  void Expect(const Matcher& matcher) {
    const absl::optional<Item> oldest = Receive();
    if (!oldest) {
      ADD_FAILURE() << "the probe " << pid() << " has received nothing";
      return;
    }
    EXPECT_THAT(*oldest, testing::SafeMatcherCast<const Item&>(matcher));
  }
  // Runs the system until idle, and expects that there is no message to take.
  void ExpectNothing() {
    system_.RunUntilIdle();
    EXPECT_EQ(items_->size(), 0U) << "the probe " << pid() << " has received something";
  }

 private:
  TestSystem& system_;
  std::shared_ptr<std::deque<Item>> items_;
  Ref<internal::ProbeActor<M>> ref_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_TESTING_PROBE_H_
