// Upload<M, Answer>: the asker's side of a call whose request comes in items, to a mailbox that is declared as
// Call<Stream<M>, Reply>. It has the writer of the items, and the answer.
//
//   Mailbox<"Load", Call<Stream<Row>, Receipt>> load{this};                  // the callee's
//
//   Task<absl::StatusOr<Receipt>> Load(Stream<Row> rows) {                   // its handler: stream.h
//     for (;;) {
//       absl::StatusOr<absl::optional<Row>> row = co_await rows.Next(absl::Seconds(5));
//       if (!row.ok()) co_return row.status();                               // the asker gave up, ended, or is slow
//       if (!row->has_value()) break;                                        // the asker has finished
//       Add(**row);
//     }
//     co_return Receipt();
//   }
//
//   auto [rows, receipt] = table.load().Open(absl::Minutes(1));              // in an actor's turn
//   absl::Status written = co_await rows.Write(row, absl::Seconds(5));       // for each row: stream_writer.h
//   rows.Finish(absl::OkStatus());
//   absl::StatusOr<Receipt> got = co_await receipt;
//
// The request of an upload consists of the items that the asker writes after the call. Open sends the call at once, and
// the call waits in its mailbox without items. When a handler takes the call, it gets the Stream and the asker gets its
// first credit; so the first Write waits for the handler, and a mailbox never holds items. Order, credit and bounds of
// the items are as in a stream in the other direction (stream.h, stream_writer.h).
//
// A call may have both: Call<Stream<Question>, Stream<Answer>> has a handler that takes a Stream<Question> and a
// StreamWriter<Answer>, and Open() gives a StreamWriter<Question> and a Stream<Answer>.
//
// Ends: after Finish(OK) the handler's Next gives the end, behind the items; after Finish(error), the error. A writer
// that is destroyed unfinished gives Cancelled there, and the call goes on to its answer. If the asker cancels the
// call, ends, or reaches the call's deadline, Next gives Cancelled (with the asker's exit reason, see ExitReasonOf) or
// Expired, and if the session ends NoConnection. The answer ends the upload: from then on each Write gives the error of
// the answer, or Cancelled if the answer is a reply. A handler that destroys its Stream before it answers, as one
// that is no coroutine does when it returns, reads no more: Write gives Cancelled, also when an error is answered
// later, and the call goes on to its answer.
//
// Threads: an Upload and its parts belong to the actor that asked. They stay with it, as a Stream does.
#ifndef UNDERSTUDY_ACTORS_UPLOAD_H_
#define UNDERSTUDY_ACTORS_UPLOAD_H_

#include "understudy/actors/stream_writer.h"

namespace understudy {

// Made by Channel::Open. Answer is Pending<Reply> or Stream<Item>.
template <class M, class Answer>
struct [[nodiscard]] Upload {
  StreamWriter<M> items;
  Answer answer;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_UPLOAD_H_
