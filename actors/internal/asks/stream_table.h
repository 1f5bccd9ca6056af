// StreamTable: the streams of one actor: those that it reads (IncomingStream) and those that it writes
// (OutgoingStream).
//
// A stream belongs to a call, whose answer or whose request comes in items. A stream of answers is read by the asker
// and written by the callee; an upload, whose items are the request, the other way round. AskTable has the ask: its
// answer is the end of a stream of answers, and is given by the same events as the answer to any call; it closes the
// call's upload too. This table has what comes besides: the items that wait, the ledger of the credit, and which await
// (Next, Write) is to be answered. Both awaits are entries of the AskTable without a callee.
//
// Plain state machines: they have no clock, send nothing and resume nothing. turn/actor_streams.h tells them what
// happened and does what they answer. For the owner's turn only.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_ASKS_STREAM_TABLE_H_
#define UNDERSTUDY_ACTORS_INTERNAL_ASKS_STREAM_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/optional.h"
#include "understudy/actors/internal/asks/stream_ledger.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"

namespace understudy::internal {

// The reader's end.
class IncomingStream {
 public:
  enum class Arrival {
    kWaits,         // it is kept until the program takes it
    kAnswersNext,   // it is the answer to the Next that waits; `item` was not moved from
    kIsTooLate,     // the stream has ended; `item` was not moved from
    kBeyondCredit,  // the writer had no credit for it; `item` was not moved from
  };
  // The block of a typed `item` has the size that its writer has counted; unparsed bytes count as they are.
  Arrival OnItem(Payload& item);
  // The ask was answered, or the writer of the upload has ended it, so no item follows. Next gives the waiting items
  // first, and then `end`. Later calls have no effect.
  void OnEnd(absl::Status end);

  // The program wants the next item. kWaits: none is there, and `next` waits for it from now on.
  enum class Step { kItem, kEnd, kWaits };
  Step Next(uint64_t next, Payload& item);
  // The Next that waits; 0 if none does.
  uint64_t next() const { return next_; }
  // The waiting Next is over, by its deadline or because the caller answers it with an item or the end.
  void StopWaiting() { next_ = 0; }

  // The number of items whose credit is to be returned to the writer now; may be 0.
  size_t TakeReturn() { return has_ended() ? 0 : ledger_.TakeReturn(); }
  bool has_ended() const { return end_.has_value(); }
  // Requires has_ended().
  const absl::Status& end() const { return *end_; }
  // The items that the program has not taken.
  std::vector<Payload> TakeItems() { return std::exchange(items_, {}); }

 private:
  StreamLedger ledger_;
  std::vector<Payload> items_;  // oldest first
  uint64_t next_ = 0;           // not 0 only if items_ is empty and the stream has not ended
  absl::optional<absl::Status> end_;
};

// The writer's end. One item at a time may be kept, because there was no credit for it.
class OutgoingStream {
 public:
  // For an upload: there is no credit until a handler reads it, which OnCredit tells.
  void AwaitReader() { has_reader_ = false; }

  enum class Step { kSend, kKeep, kClosed };
  // The program writes an item of `bytes`. kSend: the caller sends it; it counts. kKeep and kClosed: the caller gives
  // it to Keep.
  Step Write(size_t bytes);
  // Keeps an item that was not sent, for which the Write `wait` waits; 0 if none does. An item that was kept before is
  // returned.
  Payload Keep(Payload item, size_t bytes, uint64_t wait);
  // The reader has returned the credit of `items`, or says with 0 that it is there. Returns false if it had not given
  // as much.
  [[nodiscard]] bool OnCredit(uint64_t items) {
    has_reader_ = true;
    return ledger_.Return(items);
  }
  // If a Write waits and may go on, counts its item, returns it, and sets `wait` to that Write.
  absl::optional<Payload> TakeSendable(uint64_t& wait);
  // The stream can be written no more, and further Writes get `why`. Returns the Write that waits, to be answered so;
  // 0 if none does. The first call counts.
  uint64_t Close(const absl::Status& why);
  // The program has finished the upload, with `end`, before a handler reads it. Its writer is gone, and the reader is
  // to be told when it is there.
  void Finish(absl::Status end) { finished_ = std::move(end); }
  const absl::optional<absl::Status>& finished() const { return finished_; }
  bool has_reader() const { return has_reader_; }

  uint64_t wait() const { return wait_; }
  // The Write that waits is over, by its deadline. Its item stays kept.
  void StopWaiting() { wait_ = 0; }
  // The item of the last Write, unless it was sent.
  absl::optional<Payload> TakeKept();

  bool is_closed() const { return !why_.ok(); }
  const absl::Status& why() const { return why_; }

 private:
  StreamLedger ledger_;
  absl::optional<Payload> kept_;
  size_t kept_bytes_ = 0;
  uint64_t wait_ = 0;  // not 0 only if an item is kept and the stream is not closed
  bool has_reader_ = true;
  absl::Status why_;                       // OK while the stream may be written
  absl::optional<absl::Status> finished_;  // only of an upload, while has_reader_ is false
};

class StreamTable {
 public:
  // The call of a stream: its asker, and the asker's id of it. The asker is null if it is the actor of this table: an
  // actor may ask itself, and has then both ends of the call's streams.
  using Call = std::pair<Pid, uint64_t>;
  static Call Own(uint64_t ask) { return {Pid(), ask}; }

  // Null if the call has such a stream already: another node has used the number of a call again.
  IncomingStream* AddIncoming(Call call);
  OutgoingStream* AddOutgoing(Call call);
  // Null if there is none.
  IncomingStream* FindIncoming(Call call);
  OutgoingStream* FindOutgoing(Call call);
  // Requires that the stream is there. Returns the payloads that it still has.
  std::vector<Payload> RemoveIncoming(Call call);
  std::vector<Payload> RemoveOutgoing(Call call);
  // The uploads of others that this actor reads and that have not ended.
  std::vector<Call> OpenUploads() const;
  // At the actor's end: the payloads of all streams. Removes them.
  std::vector<Payload> TakeAll();

  size_t size() const { return incoming_.size() + outgoing_.size(); }

 private:
  std::map<Call, IncomingStream> incoming_;  // answers to own asks, and uploads of others
  std::map<Call, OutgoingStream> outgoing_;  // own uploads, and answers to others
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_ASKS_STREAM_TABLE_H_
