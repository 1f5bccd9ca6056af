// Depot and Courier: actors of two nodes, of which one reads an upload of notes and the other writes it.
#ifndef UNDERSTUDY_TESTS_TRANSPORT_ITEM_STREAMS_DEPOT_H_
#define UNDERSTUDY_TESTS_TRANSPORT_ITEM_STREAMS_DEPOT_H_

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
#include "understudy/actors/upload.h"
#include "understudy/tests/transport/puppet.pb.h"

namespace understudy {

// The timeout of a Write and a Next, far below that of their call. A Write or Next with a shorter timeout is repeated
// when it expires.
inline constexpr absl::Duration kPatience = absl::Hours(1);

// Reads notes to their end, at most as many as `take` permits, and answers with their number.
class Depot final : public Actor {
 public:
  struct Log {
    std::vector<int64_t> items;
    int64_t expired = 0;  // Nexts
    absl::optional<absl::Status> end;
  };
  Mailbox<"depot/write", Call<Stream<net_testing::Note>, net_testing::Note>> write{this};
  // Answers each note with its number's negative.
  Mailbox<"depot/chat", Call<Stream<net_testing::Note>, Stream<net_testing::Note>>> chat{this};
  // How many notes `write` may take from now on; -1 for all. At first none.
  Mailbox<"depot/take", int64_t> take{this};

  explicit Depot(std::shared_ptr<Log> log, absl::Duration pause = absl::ZeroDuration(),
                 absl::Duration within = kPatience)
      : log_(std::move(log)), pause_(pause), within_(within) {}
  StartResult Start() override { return open_; }

 private:
  Task<absl::StatusOr<net_testing::Note>> Write(Stream<net_testing::Note> notes) {
    for (;;) {
      while (may_take_ == 0) {
        auto sleep = context().Sleep(absl::Milliseconds(1));
        (void)co_await sleep;
      }
      absl::StatusOr<absl::optional<net_testing::Note>> note = co_await notes.Next(within_);
      if (IsExpired(note.status()) && within_ < kPatience) {
        ++log_->expired;
        continue;
      }
      if (!note.ok() || !note->has_value()) {
        log_->end = note.status();
        if (!note.ok()) co_return note.status();
        break;
      }
      log_->items.push_back((*note)->number());
      if (may_take_ > 0) --may_take_;
      if (pause_ == absl::ZeroDuration()) continue;
      auto sleep = context().Sleep(pause_);
      (void)co_await sleep;
    }
    net_testing::Note receipt;
    receipt.set_number(static_cast<int64_t>(log_->items.size()));
    co_return receipt;
  }
  Task<> Chat(Stream<net_testing::Note> notes, StreamWriter<net_testing::Note> writer) {
    for (;;) {
      absl::StatusOr<absl::optional<net_testing::Note>> note = co_await notes.Next(kPatience);
      if (!note.ok() || !note->has_value()) {
        writer.Finish(note.status());
        co_return;
      }
      net_testing::Note answer;
      answer.set_number(-(*note)->number());
      absl::Status written = co_await writer.Write(std::move(answer), kPatience);
      if (!written.ok()) co_return;
    }
  }
  void Take(int64_t items) { may_take_ = items; }

  const std::shared_ptr<Log> log_;
  const absl::Duration pause_;
  const absl::Duration within_;
  int64_t may_take_ = 0;
  Behavior open_{"open", On(write, &Depot::Write).Interleaved(), On(chat, &Depot::Chat).Interleaved(),
                 On(take, &Depot::Take)};
};

// Writes uploads as it is told.
class Courier final : public Actor {
 public:
  struct Send {
    Pid depot;
    int64_t items = 0;
    std::string text;
  };
  struct Log {
    int64_t written = 0;
    int64_t expired = 0;  // Writes of `send`
    absl::Status last;    // of the last Write
    absl::optional<absl::StatusOr<int64_t>> answer;
    std::vector<int64_t> heard;  // by `talk`
  };
  // Writes as many notes, each with that text, and finishes.
  Mailbox<"courier/send", Send> send{this};
  Mailbox<"courier/talk", Send> talk{this};
  Mailbox<"courier/cancel", bool> cancel{this};

  explicit Courier(std::shared_ptr<Log> log, absl::Duration within = kPatience)
      : log_(std::move(log)), within_(within) {}
  StartResult Start() override { return sending_; }

 private:
  static net_testing::Note NoteNumber(int64_t number, const std::string& text) {
    net_testing::Note note;
    note.set_number(number);
    note.set_text(text);
    return note;
  }
  Task<> Write(Send what) {
    auto [notes, receipt] = Ref<Depot>(what.depot)[&Depot::write].Open(absl::Hours(2));
    receipt_ = receipt;
    for (int64_t i = 1; i <= what.items;) {
      log_->last = co_await notes.Write(NoteNumber(i, what.text), within_);
      if (IsExpired(log_->last) && within_ < kPatience) {
        ++log_->expired;
        continue;
      }
      if (!log_->last.ok()) break;
      ++log_->written;
      ++i;
    }
    notes.Finish(absl::OkStatus());
    absl::StatusOr<net_testing::Note> answer = co_await receipt;
    if (answer.ok()) {
      log_->answer = answer->number();
    } else {
      log_->answer = answer.status();
    }
  }
  Task<> Talk(Send what) {
    auto [notes, answers] = Ref<Depot>(what.depot)[&Depot::chat].Open();
    for (int64_t i = 1; i <= what.items; ++i) {
      log_->last = co_await notes.Write(NoteNumber(i, what.text), kPatience);
      if (!log_->last.ok()) co_return;
      absl::StatusOr<absl::optional<net_testing::Note>> answer = co_await answers.Next(kPatience);
      if (answer.ok() && answer->has_value()) log_->heard.push_back((*answer)->number());
    }
    notes.Finish(absl::OkStatus());
    absl::StatusOr<absl::optional<net_testing::Note>> end = co_await answers.Next(kPatience);
    log_->last = end.status();
  }
  void Cancel(bool) { receipt_->Cancel(); }

  const std::shared_ptr<Log> log_;
  const absl::Duration within_;
  absl::optional<Pending<net_testing::Note>> receipt_;
  Behavior sending_{"sending", On(send, &Courier::Write).Interleaved(), On(talk, &Courier::Talk).Interleaved(),
                    On(cancel, &Courier::Cancel)};
};

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_TRANSPORT_ITEM_STREAMS_DEPOT_H_
