// MailboxProbe<M>: what one mailbox of a test's actor receives, for the test to look into.
//
//   lot.make_offer.Expect(…);                              // runs the system until idle, then takes the oldest
//   lot.inquire.Receive()->replier.Reply(AuctionStatus());
//   lot.watch.ExpectNothing();
//
// Probe<M> (probe.h) has one, and so has each rpc of the probe that is generated for a service (x.testing.h).
//
// A probe keeps the messages in the order of arrival. The request of an upload is a vector, its items, which the probe
// reads to their end before it handles the next message; an upload without an end is not kept. Its functions run the
// system until idle, but never let time pass. Threads: the test's thread. Lifetime: destroy the
// probe before the system, with which its actor ends.
#ifndef UNDERSTUDY_ACTORS_TESTING_MAILBOX_PROBE_H_
#define UNDERSTUDY_ACTORS_TESTING_MAILBOX_PROBE_H_

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
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

// A call that a probe has received.
template <class Q, class R>
struct Asked {
  Q request;
  Replier<R> replier;
};

// A call of a stream that a probe has received. The test may finish the stream, but has no turn in which it could
// write; a mock writes items.
template <class Q, class M>
struct AskedStream {
  Q request;
  StreamWriter<M> writer;
};

namespace internal {

// Handlers that keep what a mailbox of M receives, as items of type Item. They may outlive the probe.
template <class M>
struct KeepsMessages {
  using Item = M;
  std::shared_ptr<std::deque<Item>> items;

  void operator()(M message) const { items->push_back(std::move(message)); }
};
template <class Q, class M>
struct KeepsMessages<Call<Q, Stream<M>>> {
  using Item = AskedStream<Q, M>;
  std::shared_ptr<std::deque<Item>> items;

  void operator()(Q request, StreamWriter<M> writer) const {
    items->push_back({std::move(request), std::move(writer)});
  }
};
template <class I, class R>
struct KeepsMessages<Call<Stream<I>, R>> {
  using Item = Asked<std::vector<I>, R>;
  std::shared_ptr<std::deque<Item>> items;

  Task<> operator()(Stream<I> upload, Replier<R> replier) const {
    auto reading = ReadToEnd(std::move(upload));
    absl::StatusOr<std::vector<I>> request = co_await reading;
    if (request.ok()) items->push_back({*std::move(request), std::move(replier)});
  }
};
template <class I, class M>
struct KeepsMessages<Call<Stream<I>, Stream<M>>> {
  using Item = AskedStream<std::vector<I>, M>;
  std::shared_ptr<std::deque<Item>> items;

  Task<> operator()(Stream<I> upload, StreamWriter<M> writer) const {
    auto reading = ReadToEnd(std::move(upload));
    absl::StatusOr<std::vector<I>> request = co_await reading;
    if (request.ok()) items->push_back({*std::move(request), std::move(writer)});
  }
};
template <class Q, class R>
struct KeepsMessages<Call<Q, R>> {
  using Item = Asked<Q, R>;
  std::shared_ptr<std::deque<Item>> items;

  void operator()(Q request, Replier<R> replier) const { items->push_back({std::move(request), std::move(replier)}); }
};

}  // namespace internal

template <class M>
class MailboxProbe {
 public:
  // The handler of the mailbox.
  using Handler = internal::KeepsMessages<M>;
  using Item = typename Handler::Item;

  // Failures of the test call it `name`.
  MailboxProbe(TestSystem& system, std::string name) : system_(system), name_(std::move(name)) {}
  // Calls that the test has not taken are answered Unanswered.
  ~MailboxProbe() { handler_.items->clear(); }
  MailboxProbe(const MailboxProbe&) = delete;
  MailboxProbe& operator=(const MailboxProbe&) = delete;

  const Handler& handler() const { return handler_; }

  // Runs the system until idle, and takes the oldest message; nullopt if there is none.
  absl::optional<Item> Receive() {
    system_.RunUntilIdle();
    std::deque<Item>& items = *handler_.items;
    if (items.empty()) return absl::nullopt;
    absl::optional<Item> oldest(std::move(items.front()));
    items.pop_front();
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
      ADD_FAILURE() << "the probe " << name_ << " has received nothing";
      return;
    }
    EXPECT_THAT(*oldest, ::testing::SafeMatcherCast<const Item&>(matcher))
        << "which the probe " << name_ << " received";
  }
  // Runs the system until idle, and expects that there is no message to take.
  void ExpectNothing() {
    system_.RunUntilIdle();
    EXPECT_EQ(handler_.items->size(), 0U) << "the probe " << name_ << " has received something";
  }

 protected:
  void set_name(std::string name) { name_ = std::move(name); }

 private:
  TestSystem& system_;
  std::string name_;
  const Handler handler_{std::make_shared<std::deque<Item>>()};
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_TESTING_MAILBOX_PROBE_H_
