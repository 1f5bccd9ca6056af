// Feed and FeedReader: actors of two nodes that write and read a stream of notes.
#ifndef UNDERSTUDY_TESTS_TRANSPORT_ITEM_STREAMS_FEED_H_
#define UNDERSTUDY_TESTS_TRANSPORT_ITEM_STREAMS_FEED_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/error.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/stream.h"
#include "understudy/actors/stream_writer.h"
#include "understudy/tests/transport/puppet.pb.h"

namespace understudy {

// Writes as many notes as the request's number says, each with its text, and ends with OK. Writes each again, until it
// is written within the time.
class Feed final : public Actor {
 public:
  struct Log {
    int64_t written = 0;
    int64_t expired = 0;  // Writes
    absl::Status last;    // of the last Write
  };
  Mailbox<"feed/read", Call<net_testing::Note, Stream<net_testing::Note>>> read{this};

  explicit Feed(std::shared_ptr<Log> log, absl::Duration within = absl::Hours(1))
      : log_(std::move(log)), within_(within) {}
  StartResult Start() override { return open_; }

 private:
  Task<> Read(const net_testing::Note& request, StreamWriter<net_testing::Note> writer) {
    for (int64_t i = 1; i <= request.number();) {
      net_testing::Note note;
      note.set_number(i);
      note.set_text(request.text());
      log_->last = co_await writer.Write(std::move(note), within_);
      if (IsExpired(log_->last)) {
        ++log_->expired;
        continue;
      }
      if (!log_->last.ok()) co_return;
      ++log_->written;
      ++i;
    }
    writer.Finish(absl::OkStatus());
  }

  const std::shared_ptr<Log> log_;
  const absl::Duration within_;
  Behavior open_{"open", On(read, &Feed::Read).Interleaved()};
};

// Reads one stream as it is told. Waits again for an item that has not come within the time.
class FeedReader final : public Actor {
 public:
  struct Open {
    Pid feed;
    net_testing::Note request;
  };
  struct Log {
    std::vector<int64_t> items;
    int64_t expired = 0;  // Nexts
    absl::optional<absl::Status> end;
  };
  Mailbox<"reader/open", Open> open{this};
  // Takes so many items; -1 for all.
  Mailbox<"reader/take", int64_t> take{this};
  Mailbox<"reader/close", bool> close{this};

  FeedReader(std::shared_ptr<Log> log, absl::Duration pause = absl::ZeroDuration(),
             absl::Duration within = absl::Hours(1))
      : log_(std::move(log)), pause_(pause), within_(within) {}
  StartResult Start() override { return reading_; }

 private:
  void Ask(Open what) {
    const Channel<Call<net_testing::Note, Stream<net_testing::Note>>> channel = Ref<Feed>(what.feed)[&Feed::read];
    stream_.emplace(channel.Ask(std::move(what.request)));
  }
  Task<> Take(int64_t items) {
    for (int64_t i = 0; i != items;) {
      absl::StatusOr<absl::optional<net_testing::Note>> item = co_await stream_->Next(within_);
      if (IsExpired(item.status())) {
        ++log_->expired;
        continue;
      }
      if (!item.ok() || !item->has_value()) {
        log_->end = item.status();
        co_return;
      }
      log_->items.push_back((*item)->number());
      ++i;
      if (pause_ == absl::ZeroDuration()) continue;
      auto sleep = context().Sleep(pause_);
      (void)co_await sleep;
    }
  }
  void Close(bool) { stream_.reset(); }

  const std::shared_ptr<Log> log_;
  const absl::Duration pause_;
  const absl::Duration within_;
  absl::optional<Stream<net_testing::Note>> stream_;
  Behavior reading_{"reading", On(open, &FeedReader::Ask), On(take, &FeedReader::Take), On(close, &FeedReader::Close)};
};

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_TRANSPORT_ITEM_STREAMS_FEED_H_
