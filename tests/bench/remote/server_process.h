// ServerProcess: this program started once more, as a server.
#ifndef UNDERSTUDY_TESTS_BENCH_REMOTE_SERVER_PROCESS_H_
#define UNDERSTUDY_TESTS_BENCH_REMOTE_SERVER_PROCESS_H_

#include <string>
#include <vector>

#include "understudy/tests/bench/remote/remote_run.h"

namespace understudy::bench {

class ServerProcess {
 public:
  // Starts this program with these arguments. It does not wait for the server.
  explicit ServerProcess(std::vector<std::string> arguments);
  // Tells the server to end, and waits until it has.
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  // Waits until the server says where it listens. Once.
  RemoteServer AwaitReady();

 private:
  pid_t pid_ = 0;
  int stdin_ = -1;
  int stdout_ = -1;
};

}  // namespace understudy::bench

#endif  // UNDERSTUDY_TESTS_BENCH_REMOTE_SERVER_PROCESS_H_
