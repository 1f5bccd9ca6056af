// Sink: an actor whose mailboxes take uploads, as a test says.
#ifndef UNDERSTUDY_TESTS_ACTORS_STREAMS_SINK_H_
#define UNDERSTUDY_TESTS_ACTORS_STREAMS_SINK_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/error.h"
#include "understudy/actors/replier.h"
#include "understudy/actors/stream.h"
#include "understudy/actors/stream_writer.h"

namespace understudy {

class Sink final : public Actor {
 public:
  using Items = Stream<std::string>;
  using Writer = StreamWriter<std::string>;
  using Uploads = Call<Stream<std::string>, int>;
  using Body = std::function<Task<absl::StatusOr<int>>(Sink&, Items)>;

  Mailbox<"write", Uploads> write{this};
  // The handler keeps the items and the Replier. The next three mailboxes then tell the actor to drop the items, to
  // answer, or to take all items and expect that their end is Cancelled.
  Mailbox<"keep", Uploads> keep{this};
  Mailbox<"drop", bool> drop{this};
  Mailbox<"answer", int> answer{this};
  Mailbox<"drain", Call<bool, int>> drain{this};
  // The handler keeps its items for a minute, and then fails with DataLoss.
  Mailbox<"spoil", Uploads> spoil{this};
  // The handler answers each item with "re: " and the item.
  Mailbox<"chat", Call<Stream<std::string>, Stream<std::string>>> chat{this};
  Mailbox<"open", bool> open{this};
  Mailbox<"once", std::function<void()>> once{this};

  enum class Begins { kOpen, kClosed };

  // `body` handles each call of `write`; the calls are interleaved. If the sink begins closed, `open` opens it.
  explicit Sink(Body body, Begins begins = Begins::kOpen) : body_(std::move(body)), begins_(begins) {}
  StartResult Start() override { return begins_ == Begins::kOpen ? open_ : closed_; }

  using Actor::context;
  using Actor::Fail;
  std::vector<Items> kept;
  std::vector<Replier<int>> repliers;

 private:
  Task<absl::StatusOr<int>> Write(Items items) {
    auto running = body_(*this, std::move(items));
    absl::StatusOr<int> result = co_await running;
    co_return result;
  }
  void Keep(Items items, Replier<int> replier) {
    kept.push_back(std::move(items));
    repliers.push_back(std::move(replier));
  }
  Task<absl::StatusOr<int>> Spoil(Items) {
    auto sleep = context().Sleep(absl::Minutes(1));
    (void)co_await sleep;
    co_return absl::DataLossError("disk");
  }
  void Drop(bool) { kept.clear(); }
  void Answer(int number) { repliers.back().Reply(number); }
  Task<absl::StatusOr<int>> Drain(bool) {
    for (int count = 0;; ++count) {
      absl::StatusOr<absl::optional<std::string>> item = co_await kept.back().Next(absl::Hours(1));
      if (item.ok() && item->has_value()) continue;
      EXPECT_TRUE(understudy::IsCancelled(item.status())) << item.status();
      co_return count;
    }
  }
  Task<> Chat(Items items, Writer writer) {
    for (;;) {
      absl::StatusOr<absl::optional<std::string>> item = co_await items.Next(absl::Hours(1));
      if (!item.ok() || !item->has_value()) {
        writer.Finish(item.status());
        co_return;
      }
      absl::Status written = co_await writer.Write("re: " + **item, absl::Hours(1));
      if (!written.ok()) co_return;
    }
  }
  void Open(bool) { Become(open_); }

  const Body body_;
  const Begins begins_;
  Behavior open_{"open",
                 On(write, &Sink::Write).Interleaved(),
                 On(keep, &Sink::Keep),
                 On(spoil, &Sink::Spoil),
                 On(drop, &Sink::Drop),
                 On(answer, &Sink::Answer),
                 On(drain, &Sink::Drain),
                 On(chat, &Sink::Chat).Interleaved(),
                 On(open, &Sink::Open),
                 On(once, [](const std::function<void()>& step) { step(); })};
  Behavior closed_{"closed", On(open, &Sink::Open)};
};

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_ACTORS_STREAMS_SINK_H_
