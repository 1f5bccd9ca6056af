#include "understudy/tests/bench/remote/server_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>
#include <vector>

#include "understudy/actors/check.h"
#include "understudy/tests/bench/remote/remote_run.h"

extern char** environ;

namespace understudy::bench {

ServerProcess::ServerProcess(std::vector<std::string> arguments) {
  std::array<int, 2> to;
  std::array<int, 2> from;
  UNDERSTUDY_CHECK(pipe2(to.data(), O_CLOEXEC) == 0 && pipe2(from.data(), O_CLOEXEC) == 0, "no pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
  arguments.insert(arguments.begin(), "remote_bench");
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  UNDERSTUDY_CHECK(posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, pointers.data(), environ) == 0,
                   "the server does not start");
  posix_spawn_file_actions_destroy(&actions);
  close(to[0]);
  close(from[1]);
  stdin_ = to[1];
  stdout_ = from[0];
}

ServerProcess::~ServerProcess() {
  close(stdin_);
  close(stdout_);
  waitpid(pid_, nullptr, 0);
}

RemoteServer ServerProcess::AwaitReady() {
  RemoteServer server = {.address = "", .pid = pid_};
  char byte = 0;
  while (read(stdout_, &byte, 1) == 1 && byte != '\n') server.address.push_back(byte);
  UNDERSTUDY_CHECK(!server.address.empty(), "the server did not say where it listens");
  return server;
}

}  // namespace understudy::bench
