// DemoProcess: the demo as a child process of a test. The environment of the demo has a token, by which the test finds
// the demo and all processes that it starts.
//
// Threads: one thread. The destructor kills the processes that are left.
#ifndef UNDERSTUDY_TESTS_EXAMPLES_AUCTION_DEMO_PROCESS_H_
#define UNDERSTUDY_TESTS_EXAMPLES_AUCTION_DEMO_PROCESS_H_

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"

namespace auction {

class DemoProcess {
 public:
  // Starts the demo; its TMPDIR is `folder`, which must exist and be short.
  DemoProcess(std::vector<std::string> arguments, std::string folder);
  ~DemoProcess();
  DemoProcess(const DemoProcess&) = delete;
  DemoProcess& operator=(const DemoProcess&) = delete;

  // Waits until the demo has printed `text`. Returns false after `patience`, or if the demo has ended without printing
  // it.
  bool AwaitOutput(const std::string& text, absl::Duration patience);
  // Waits for the end of the demo and returns its wait status; -1 after `patience`.
  int AwaitEnd(absl::Duration patience);
  void Signal(int number);
  // Waits until no process has the token. Returns false after `patience`.
  bool AwaitNoneLeft(absl::Duration patience);
  // The processes with the token, including the demo itself.
  std::vector<pid_t> Processes() const;
  // Returns the pid of a process with the token that runs `binary` and has `argument` in its command line; -1 if there
  // is none.
  pid_t ProcessOf(const std::string& binary, const std::string& argument = "") const;

  // The output of the demo so far, errors included.
  const std::string& output() const { return output_; }

 private:
  // Waits for output or the end of the demo, whichever comes first, and records it. Returns false if `deadline` came
  // first.
  bool AwaitEvent(absl::Time deadline);
  void ReadOutput();

  const std::string token_;
  pid_t pid_ = -1;
  int pid_fd_ = -1;     // readable when the demo has ended
  int output_fd_ = -1;  // -1 after the end of the output
  bool ended_ = false;
  int wait_status_ = -1;
  std::string output_;
};

}  // namespace auction

#endif  // UNDERSTUDY_TESTS_EXAMPLES_AUCTION_DEMO_PROCESS_H_
