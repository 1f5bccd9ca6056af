// FatalSignals: while an object of this class lives, the first fatal signal makes the process write one line to its
// standard error, which names the actor whose handler ran on the thread that got the signal:
//
//   E 2026-03-01T09:30:00.123456Z 5503/5510 <house-1.7.42>] SIGSEGV at address 0x10 in auction::Lot "lot-7",
//   mailbox make_offer handling a auction.Offer; build id 8a1c…
//
// (The line is not broken in two as it is here. It begins as the lines of LogSink::Stderr do.) The fatal signals are
// SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT. After the line is written, the signal goes to the handler that was
// installed before the first FatalSignals, or takes its default action, as if it had come only then: on the same
// thread, with the same siginfo_t and registers, and the same core dump.
//
// - The line is at most FixedText::kBytesMax bytes long and is written with one write(2), unless the system accepts
// only
//   a part of it at a time. The line is left out if standard error cannot be written for a second.
// - A thread that gets a fatal signal while another thread writes the line waits until it is written, at most two
//   seconds.
// - The line is written only once in the life of the process. Later signals go to the earlier handlers at once.
// - The part about the actor is read from the actor's memory. If that memory cannot be read, the line says so instead.
// - The destructor of the last FatalSignals installs the earlier handlers again, except for signals whose handler was
//   replaced by other code meanwhile. Such a handler may still call the handler of this class, which forwards the
//   signal.
//
// A stack overflow is only reported on threads with an alternate signal stack: those of class OsThread, which have a
// SignalStack (workers, actors' own threads, timers, watchdogs). Main, gRPC's threads, and those that a node or the
// program makes with std::thread have none.
// Any thread. The handlers are installed for the whole process, even if only one of its systems has a FatalSignals.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_FATAL_SIGNALS_H_
#define UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_FATAL_SIGNALS_H_

namespace understudy::internal {

class FatalSignals {
 public:
  FatalSignals();
  ~FatalSignals();
  FatalSignals(const FatalSignals&) = delete;
  FatalSignals& operator=(const FatalSignals&) = delete;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_FATAL_SIGNALS_H_
