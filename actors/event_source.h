// EventSource: where events from outside the process come from, polled by idle workers in place of sleeping.
//
// A transport installs one for the process, with InstallEventSource, for as long as the process lives. From then on a
// worker of a ThreadPool that finds nothing to do waits in Poll, and an actor that an event makes runnable runs on that
// same thread, without a hand-over.
//
// Requires: Poll's events are short, never wait and run no user code beyond callbacks that are documented so.
// Guarantees: at most one thread of the process is in Poll at a time, and what one call of Poll did happens before the
// next. Events are handled soon: a worker that has left Poll with something to run comes back when it has nothing to
// do; one that stays busy polls without waiting every ThreadPoolOptions::poll_every; when all stay in their handlers,
// the pool's watchdog polls, or wakes an idle worker to do so, within about two of its rounds (4 ms). Several pools:
// each may poll, and whichever has an idle worker first does; when its pool ends, another one is told. Without any pool
// a thread of the source serves it (StartThread). Threads: Poll on one thread at a time, as said; the rest on any.
#ifndef UNDERSTUDY_ACTORS_EVENT_SOURCE_H_
#define UNDERSTUDY_ACTORS_EVENT_SOURCE_H_

#include "absl/functional/any_invocable.h"

namespace understudy {

class EventSource {
 public:
  enum class Wait {
    kNo,     // handle an event that is there
    kUntil,  // wait for an event, or until Wake
  };

  virtual ~EventSource() = default;

  // Handles at most one event. Returns false if there was none. A wake-up counts as an event, so Poll returns after it.
  virtual bool Poll(Wait wait) = 0;

  // Makes a Poll that waits return soon; if none waits, the next one may return at once. Called while locks of the
  // kernel (the framework's code) are held, so it must not call the kernel.
  virtual void Wake() = 0;

  // Starts a thread that runs `body`, which never returns. Called at most once, when the process has no ThreadPool (any
  // more).
  virtual void StartThread(absl::AnyInvocable<void()> body) = 0;
};

// Installs the event source of the process. Call at most once. `source` must live as long as the process.
void InstallEventSource(EventSource& source);

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_EVENT_SOURCE_H_
