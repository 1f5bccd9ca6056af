// DemoProcess: the demo as a child process of a test. Its environment has a token by which the test finds it and all
// processes that it starts.
//
// One thread. The destructor kills the processes that are left.
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

  // Waits until it has printed `text`; false after `patience`, or when it has
  // ended without.
  bool AwaitOutput(const std::string& text, absl::Duration patience);
  // Waits for its end and gives the wait status; -1 after `patience`.
  int AwaitEnd(absl::Duration patience);
  void Signal(int number);
  // Waits until no process has the token; false after `patience`.
  bool AwaitNoneLeft(absl::Duration patience);
  // The processes with the token, itself included.
  std::vector<pid_t> Processes() const;
  // One of them that runs `binary` with an argument that has `argument` in it; -1 if there is none.
  pid_t ProcessOf(const std::string& binary, const std::string& argument = "") const;

  // What it has printed so far, errors included.
  const std::string& output() const { return output_; }

 private:
  // Waits for output or the end, whichever is first, and takes it in. False
  // when `deadline` was first.
  bool AwaitEvent(absl::Time deadline);
  void ReadOutput();

  const std::string token_;
  pid_t pid_ = -1;
  int pid_fd_ = -1;     // readable when it has ended
  int output_fd_ = -1;  // -1 after its end
  bool ended_ = false;
  int wait_status_ = -1;
  std::string output_;
};

}  // namespace auction

#endif  // UNDERSTUDY_TESTS_EXAMPLES_AUCTION_DEMO_PROCESS_H_
