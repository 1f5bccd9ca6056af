// StopSignals: SIGTERM and SIGINT as a descriptor to wait for.
//
// While the object lives, the first of them makes the descriptor readable, and
// the second ends the process at once with 128 + its number. At most one object
// at a time (CHECKed). A program that must not lose one which comes before blocks
// both at the start of main: here they are unblocked, for this thread.
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
