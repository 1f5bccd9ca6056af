// OsProcess: starts an operating-system process, reports its end once, and can end
// it.
//
// The new process runs in its own process group (so that Ctrl-C reaches only this
// process), with default signal handlers, no blocked signals, standard input from
// /dev/null, this process's standard output, this process's environment plus the
// variables of the spec, and no inherited descriptors except those that the spec lists.
// When the first process of the group ends, the rest of the group is killed.
//
// The new process's standard error is forwarded to this process's standard error, and the last lines
// written just before its end become part of its exit reason. The forwarding never
// blocks: text is lost while this process's standard error takes no more. After the
// process ends its stderr pipe is closed; descendants that still hold it get EPIPE.
// If a debugger traces the process, its end is told when the debugger has let it go.
//
// Requires: SIGCHLD is not ignored (CHECKed by Start), and no other code of this program
// waits for the process (CHECKed at its end).
// Threads: any; one thread of the library watches all processes and runs the
// callbacks, which must not wait. Lifetime: the object is a handle; destroying
// it kills the group, and the callback still comes. Failure: Start returns a
// status that names the binary.
//
//   auto process = OsProcess::Start({.binary = "/bin/sleep", .arguments = {"9"}},
//                                   [](const ExitReason& why) { … });
//   if (!process.ok()) return process.status();
//   (*process)->Terminate();   // the callback gets OsSignal(15)
#ifndef UNDERSTUDY_TRANSPORT_PROCESS_OS_PROCESS_H_
#define UNDERSTUDY_TRANSPORT_PROCESS_OS_PROCESS_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/process_limits.h"

namespace understudy {

struct OsProcessSpec {
  // See FindBinary.
  std::string binary;
  // The arguments, without the program's own name.
  std::vector<std::string> arguments;
  // Added to this process's environment, replacing variables of the same name.
  std::vector<std::pair<std::string, std::string>> environment;
  // Descriptors of this process that the new process gets as 3, 4, …, in this order. They
  // stay open in this process.
  std::vector<int> descriptors;
  ProcessLimits limits;
};

// Returns the path of the binary that a spec names `binary`. A name that begins with /, ./
// or ../ is that path. Any other name is a path as Bazel writes it ("app/ledger_node"); the
// result is the first of these that is a file:
//   1. `binary` beside this program's own file;
//   2. `binary` in the runfiles $RUNFILES_DIR, then $TEST_SRCDIR, then PROGRAM.runfiles
//      beside this program. In each of them the folder of $TEST_WORKSPACE is searched
//      first, then the folders of all workspaces in the order of their names.
// InvalidArgument: `binary` is empty or contains a NUL. NotFound lists the places searched.
// Reads the environment, which other threads must not change meanwhile.
[[nodiscard]] absl::StatusOr<std::string> FindBinary(absl::string_view binary);

// Converts a wait status to an exit reason: exit code 0 gives Normal, another code
// OsExit(code), a signal OsSignal(number), the latter two with `note`.
[[nodiscard]] ExitReason ExitReasonOfWaitStatus(int wait_status, absl::string_view note = "");

class OsProcess {
 public:
  using OnEnd = absl::AnyInvocable<void(const ExitReason&) &&>;

  // Starts a process. If the result is OK, `on_end` is called exactly once, perhaps before
  // Start returns; otherwise it is never called. NotFound, PermissionDenied (not
  // executable), InvalidArgument (too many arguments, a NUL inside one), ResourceExhausted
  // (processes, descriptors), FailedPrecondition (a limit that cannot be set).
  //
  // The note of the exit reason has, after "stderr: ", the last lines that the process
  // wrote to its standard error within limits::kStderrTailWithin of its end. After a
  // SIGKILL there are no such lines, because the process could not write about it. The
  // exception is a kill by the kernel because memory ran out, which the note says first.
  // It is assumed if this process did not send the SIGKILL and the control group's count
  // of such kills grew.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<OsProcess>> Start(const OsProcessSpec& spec, OnEnd on_end);

  ~OsProcess();
  OsProcess(const OsProcess&) = delete;
  OsProcess& operator=(const OsProcess&) = delete;

  // The process id of the operating system, valid until `on_end` is called.
  int os_pid() const;
  // Sends SIGTERM to the group. Does nothing after the process has ended.
  void Terminate();
  // Sends SIGKILL to the group. Does nothing after the process has ended.
  void Kill();

 private:
  struct Watched;
  class Watcher;
  explicit OsProcess(std::shared_ptr<Watched> watched);

  const std::shared_ptr<Watched> watched_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_PROCESS_OS_PROCESS_H_
