// OsProcess: starts an operating-system process, tells of its end once, and
// ends it.
//
// The process runs in a process group of its own (so Ctrl-C reaches us first),
// with default signal handlers, nothing blocked, standard input from /dev/null,
// our standard output, our environment plus what the spec adds, and no open
// descriptor of ours but those the spec lists. The group ends with its first
// process: what that leaves behind in the group is killed.
//
// What it writes to its standard error goes to ours, and the last lines that it
// wrote just before its end into its exit reason. A line is lost when ours takes
// no more just then: we do not wait for it. From its end on, who still holds that standard error cannot
// write to it.
//
// Requires: SIGCHLD is not ignored, and nobody else waits for our children
// (checked, and CHECKed, at Start).
// Threads: any; one thread of the library watches all processes and runs the
// callbacks, which must not wait. Lifetime: the object is a handle; destroying
// it kills the group, and the callback still comes. Failure: Start answers a
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
  // Without the program's own name.
  std::vector<std::string> arguments;
  // Added to our environment, replacing variables of the same name.
  std::vector<std::pair<std::string, std::string>> environment;
  // Descriptors of ours that become 3, 4, … there, in this order. They stay
  // ours too.
  std::vector<int> descriptors;
  ProcessLimits limits;
};

// The path that `binary` means in a spec: itself, when it begins with /, ./ or
// ../. Any other is a path as Bazel writes it ("app/ledger_node"), and the first
// of these that is a file:
//   1. beside this program's own file;
//   2. in the runfiles $RUNFILES_DIR, then $TEST_SRCDIR, then those beside this
//      program, PROGRAM.runfiles; in each in the folder of $TEST_WORKSPACE, then
//      in every folder there, by name: a workspace each.
// NotFound says where it was looked for. Reads the environment, which nobody may
// change meanwhile.
[[nodiscard]] absl::StatusOr<std::string> FindBinary(absl::string_view binary);

// What a wait status is as an exit reason: exit code 0 is Normal, another code
// OsExit(code), a signal OsSignal(number), both with `note`.
[[nodiscard]] ExitReason ExitReasonOfWaitStatus(int wait_status, absl::string_view note = "");

class OsProcess {
 public:
  using OnEnd = absl::AnyInvocable<void(const ExitReason&) &&>;

  // Starts it. `on_end` is called exactly once if this is OK, perhaps before it
  // returns, and never otherwise. NotFound, PermissionDenied (not executable),
  // InvalidArgument (too many arguments, a NUL inside one), ResourceExhausted
  // (processes, descriptors), FailedPrecondition (a limit that cannot be set).
  //
  // The reason's note has, after "stderr: ", the last lines that it wrote to its
  // standard error within limits::kStderrTailWithin of its end; of a SIGKILL, which
  // it cannot have written about, none. Before them it says when the kernel has
  // killed it for want of memory, where the control group tells: a SIGKILL that is
  // not ours, while the group's count of such kills grew.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<OsProcess>> Start(const OsProcessSpec& spec, OnEnd on_end);

  ~OsProcess();
  OsProcess(const OsProcess&) = delete;
  OsProcess& operator=(const OsProcess&) = delete;

  // The operating system's number of the process, good until its end is told.
  int os_pid() const;
  // SIGTERM to the group. Does nothing after the end.
  void Terminate();
  // SIGKILL to the group. Does nothing after the end.
  void Kill();

 private:
  struct Watched;
  class Watcher;
  explicit OsProcess(std::shared_ptr<Watched> watched);

  const std::shared_ptr<Watched> watched_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_PROCESS_OS_PROCESS_H_
