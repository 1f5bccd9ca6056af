// Readers and a writer, in three flavours: many may read at once, a writer is
// alone.
//
//   auto asked = lock[&ReadersWriter::read].Ask({}, absl::Seconds(5));
//   auto permit = co_await asked;                   // the answer is the permit
//   … read …
//   lock[&ReadersWriter::done_reading].Tell({});
//
// Each flavour is a behaviour. The behaviours share their handlers; they differ in
// when a mailbox is open, and at which rank:
// - by arrival: a writer that waits closes both mailboxes, which are then one
//   queue in the order of arrival. Neither readers nor writers starve.
// - readers first: `read` has the higher rank, and `write` is open while there is
//   no reader. Writers may starve.
// - writers first: `write` is always open, and a writer that waits closes
//   `read`. Readers may starve.
// An actor that may end while it has a permit should be monitored. That is left
// out here.
#ifndef UNDERSTUDY_EXAMPLES_PATTERNS_READERS_WRITER_H_
#define UNDERSTUDY_EXAMPLES_PATTERNS_READERS_WRITER_H_

#include <deque>
#include <limits>
#include <utility>

#include "understudy/actors/actor.h"
#include "understudy/actors/replier.h"

namespace understudy::patterns {

struct Access {};
struct Permit {};
struct Done {};

enum class Precedence { kArrival, kReaders, kWriters };

class ReadersWriter final : public Actor {
 public:
  Mailbox<"read", Call<Access, Permit>> read{this};
  Mailbox<"write", Call<Access, Permit>> write{this};
  Mailbox<"done_reading", Done> done_reading{this};
  Mailbox<"done_writing", Done> done_writing{this};

  explicit ReadersWriter(Precedence precedence) : precedence_(precedence) {}
  StartResult Start() override {
    switch (precedence_) {
      case Precedence::kArrival:
        return by_arrival_;
      case Precedence::kReaders:
        return readers_first_;
      case Precedence::kWriters:
        break;
    }
    return writers_first_;
  }

 private:
  bool IsFree() const { return readers_ == 0 && !is_writing_; }
  bool MayRead() const { return !is_writing_; }
  bool NoWriterWaits() const { return !is_writing_ && writers_.empty(); }

  Permit Read(const Access&) {
    ++readers_;
    return {};
  }
  // Answers the call when there is no reader and no other writer.
  void Write(const Access&, Replier<Permit> writer) {
    writers_.push_back(std::move(writer));
    AdmitWriter();
  }
  void DoneReading() {
    --readers_;
    AdmitWriter();
  }
  void DoneWriting() {
    is_writing_ = false;
    AdmitWriter();
  }
  void AdmitWriter() {
    if (writers_.empty() || !IsFree()) return;
    is_writing_ = true;
    writers_.front().Reply(Permit());
    writers_.pop_front();
  }

  static constexpr int kAlways = std::numeric_limits<int>::max();

  const Precedence precedence_;
  int readers_ = 0;
  bool is_writing_ = false;
  std::deque<Replier<Permit>> writers_;
  Behavior by_arrival_{"by arrival", On(read, &ReadersWriter::Read).When(&ReadersWriter::NoWriterWaits),
                       On(write, &ReadersWriter::Write).When(&ReadersWriter::NoWriterWaits),
                       On(done_reading, &ReadersWriter::DoneReading), On(done_writing, &ReadersWriter::DoneWriting)};
  Behavior readers_first_{"readers first",
                          On(read, &ReadersWriter::Read).When(&ReadersWriter::MayRead).Rank(1).Quota(kAlways),
                          On(write, &ReadersWriter::Write).When(&ReadersWriter::IsFree),
                          On(done_reading, &ReadersWriter::DoneReading).Rank(1).Quota(kAlways),
                          On(done_writing, &ReadersWriter::DoneWriting).Rank(1).Quota(kAlways)};
  Behavior writers_first_{"writers first", On(read, &ReadersWriter::Read).When(&ReadersWriter::NoWriterWaits),
                          On(write, &ReadersWriter::Write).Rank(1).Quota(kAlways),
                          On(done_reading, &ReadersWriter::DoneReading).Rank(1).Quota(kAlways),
                          On(done_writing, &ReadersWriter::DoneWriting).Rank(1).Quota(kAlways)};
};

}  // namespace understudy::patterns

#endif  // UNDERSTUDY_EXAMPLES_PATTERNS_READERS_WRITER_H_
