// Interrupt: runs a function when the user (or the system) ends the process with SIGINT, SIGTERM, SIGHUP or SIGQUIT, or
// when who reads its output has gone (SIGPIPE), on a thread where anything may be called.
//
//   Interrupt interrupt([&](int signal) { …; _exit(128 + signal); });
//
// Construct it before any other thread: it blocks the signals for all of them, but SIGPIPE, which is sent to the thread
// that writes and so has a handler. Destroying it waits for a function that runs; after it signals stay blocked.
// At most one in a process.
#ifndef UNDERSTUDY_EXAMPLES_AUCTION_INTERRUPT_H_
#define UNDERSTUDY_EXAMPLES_AUCTION_INTERRUPT_H_

#include <functional>
#include <thread>

namespace auction {

class Interrupt {
 public:
  explicit Interrupt(std::function<void(int signal)> handler);
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

 private:
  int stop_fd_;
  std::thread thread_;
};

}  // namespace auction

#endif  // UNDERSTUDY_EXAMPLES_AUCTION_INTERRUPT_H_
