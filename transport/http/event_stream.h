// EventStream: an answer that goes on: server-sent events (WHATWG HTML, 9.2) that a browser reads as they come.
//
//   auto events = std::make_shared<EventStream>(EventStream::Bounds{.events_max = 1000, .bytes_max = 1 << 20});
//   replier.Answer({.events = events});
//   …
//   events->Send("price", "{\"lot\":7,\"amount\":120}");
//
// Guarantees: events arrive in the order of Send. If the reader is slower than they come, the oldest of those that wait
// are lost, and in their place the reader gets the event "lost", whose data is their number. Send never waits.
// Threads: any. Lifetime: shared by the sender and the server; the server lets go of it when the connection ends.
#ifndef UNDERSTUDY_TRANSPORT_HTTP_EVENT_STREAM_H_
#define UNDERSTUDY_TRANSPORT_HTTP_EVENT_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace understudy::internal {

class EventStream {
 public:
  // Bounds on the events that wait for the reader.
  struct Bounds {
    size_t events_max = 0;
    size_t bytes_max = 0;
  };
  explicit EventStream(const Bounds& bounds) : bounds_(bounds) {}
  EventStream(const EventStream&) = delete;
  EventStream& operator=(const EventStream&) = delete;

  // `name` has no line break; `data` may have some. Without effect when the stream is not open.
  void Send(absl::string_view name, absl::string_view data);
  // Ends the answer after the events that wait.
  void End();
  // False after End, and when the reader has gone.
  bool is_open() const;

  // The rest is for HttpServer.

  // `wake` is called whenever there may be something to take, by the thread that sends.
  void Attach(std::function<void()> wake);
  // Takes at most `bytes_max` of the waiting bytes. Empty if none wait; nullopt if none will come.
  std::optional<std::string> Take(size_t bytes_max);
  // True if Take would return bytes or nullopt.
  bool HasWork() const;
  // Call when the reader has disconnected. Drops the events that wait.
  void Close();

 private:
  void DropOldest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Wake() const;

  const Bounds bounds_;
  mutable absl::Mutex mu_;
  std::function<void()> wake_ ABSL_GUARDED_BY(mu_);
  std::deque<std::string> waiting_ ABSL_GUARDED_BY(mu_);  // each a whole event, as it is sent
  size_t waiting_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  std::string current_ ABSL_GUARDED_BY(mu_);  // the event of which a part was taken: the rest
  uint64_t lost_ ABSL_GUARDED_BY(mu_) = 0;    // before waiting_.front(), not told yet
  bool is_open_ ABSL_GUARDED_BY(mu_) = true;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_HTTP_EVENT_STREAM_H_
