// Interrupt: runs a function when the process gets SIGINT, SIGTERM, SIGHUP or SIGQUIT, or when the reader of its output
// has gone (SIGPIPE). The function runs on a thread of its own, not in a signal handler, so it may call anything.
//
//   Interrupt interrupt([&](int signal) { …; _exit(128 + signal); });
//
// Construct it before any other thread, because all threads must inherit its signal mask: it blocks all of these
// signals except SIGPIPE, which the kernel sends to the thread that writes, and for which it installs a handler. The
// destructor waits for a function that runs, and leaves the signals blocked. At most one object in a process.
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
