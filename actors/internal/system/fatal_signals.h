// FatalSignals: while one lives, the first signal that would end the process leaves one line in its standard error,
// which says whose handler ran on the thread that got the signal:
//
//   E 2026-03-01T09:30:00.123456Z 5503/5510 <house-1.7.42>] SIGSEGV at address 0x10 in auction::Lot "lot-7",
//   mailbox make_offer handling a auction.Offer; build id 8a1c…
//
// (It is a single line, which begins as the lines of LogSink::Stderr do.) The signals are SIGSEGV, SIGBUS, SIGFPE,
// SIGILL and SIGABRT. After the line is written, the signal goes to the handler that was installed before the first
// FatalSignals, or takes its default action, as if it had come only then: on the same thread, with the same siginfo_t
// and registers, and the same core dump.
//
// - The line is at most FixedText::kBytesMax bytes in one write(2). It is left out if standard error cannot be written
//   for a second.
// - A thread that gets such a signal while another one writes the line waits for that, at most two seconds.
// - The line is only written once in the life of the process. Later signals go to the earlier handlers at once.
// - The part about the actor is read from the actor's memory. If that memory cannot be read, the line says so instead.
// - The destructor of the last FatalSignals installs the earlier handlers again, except for signals whose handler was
//   replaced by other code meanwhile. Such a handler may still call the one of this class, which forwards the signal.
//
// A stack overflow is only reported on threads with an alternate signal stack: those of class OsThread, which have a
// SignalStack (workers, actors' own threads, timers, watchdogs). Main, gRPC's threads, and those that a node or the
// program makes with std::thread have none.
// Any thread. What is installed is for the process, whichever system asked for it.
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
