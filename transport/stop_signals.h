// StopSignals: SIGTERM and SIGINT as a descriptor to wait for.
//
// While the object lives, the first of these signals makes the descriptor readable, and
// a second one ends the process at once with exit status 128 + its number. At most one
// object at a time (CHECKed). A program that must not lose a signal that arrives before
// the object exists blocks both signals at the start of main; the constructor unblocks
// them for the calling thread.
// Threads: construct and destroy on the same thread. The destructor restores the earlier
// signal actions and that thread's mask.
#ifndef UNDERSTUDY_TRANSPORT_STOP_SIGNALS_H_
#define UNDERSTUDY_TRANSPORT_STOP_SIGNALS_H_

#include <csignal>

namespace understudy::internal {

class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  int descriptor() const { return event_; }

 private:
  const int event_;
  struct sigaction before_terminate_;
  struct sigaction before_interrupt_;
  sigset_t blocked_before_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_STOP_SIGNALS_H_
