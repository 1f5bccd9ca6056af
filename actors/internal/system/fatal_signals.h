// FatalSignals: while one lives, the first signal that would end the process leaves one line in its standard error,
// which says whose handler ran on the thread that got the signal:
//
//   E 2026-03-01T09:30:00.123456Z 5503/5510 <house-1.7.42>] SIGSEGV at address 0x10 in auction::Lot "lot-7",
//   mailbox make_offer handling a auction.Offer; build id 8a1c…
//
// (One line there, which begins as those of LogSink::Stderr.) The signals are SIGSEGV, SIGBUS, SIGFPE, SIGILL and
// SIGABRT. Then the signal goes to the handler that was there before the first FatalSignals, or takes its default
// action, as if it had come only then: on the same thread, with the same siginfo_t and registers, and the same core
// dump.
//
// - The line is at most FixedText::kBytesMax bytes in one write(2). When standard error takes nothing for a second, it
//   is left out.
// - A thread that gets such a signal while another one writes the line waits for that, at most two seconds.
// - It is only written once in the life of the process. Signals after it go to the earlier handlers at once.
// - What is said of the actor is read from its memory. If that cannot be read, the line says so, and goes on.
// - The last FatalSignals that ends installs the earlier handlers again, except where somebody else has installed one
//   meanwhile. Such a handler may still call the one here, which passes the signal on.
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
