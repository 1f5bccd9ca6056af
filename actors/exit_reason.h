// ExitReason: why an actor ended. An immutable value with a cause chain.
//
// The kinds are a closed set. All but Normal and Shutdown are abnormal. A reason travels
// unchanged along links and monitors, across nodes too. An actor that ends because of
// another one's end may give that reason as the cause of its own:
//
//   ExitReason::RestartsExhausted("child 'ledger'").CausedBy(down.reason)
//
// A chain has at most limits::kExitCausesMax reasons and limits::kExitReasonBytesMax bytes.
// Beyond that the oldest causes, at the end of the chain, are removed, and causes_cut() is
// true. A text that alone is too long is cut, and ends with
// "… (cut: it had 1048576 bytes)". Copies share their chain. Threads: any.
#ifndef UNDERSTUDY_ACTORS_EXIT_REASON_H_
#define UNDERSTUDY_ACTORS_EXIT_REASON_H_

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace understudy {

struct CrashReport;

class ExitReason {
 public:
  // The numbers are also used on the wire.
  enum class Kind : uint8_t {
    kNormal = 1,             // the actor had finished its work
    kShutdown = 2,           // the actor was told to stop, and did
    kFailed = 3,             // Fail(status), or a start that failed
    kException = 4,          // an exception left a handler
    kKilled = 5,             // Kill
    kNoProcess = 6,          // there is no such actor
    kNoConnection = 7,       // the session with the actor's node ended
    kNotPermitted = 8,       // the actor's node does not permit the operation to this node
    kRestartsExhausted = 9,  // a supervisor gave up
    kNameConflict = 10,      // another owner of its name was first
    // The lease on its name in an external table of names, such as etcd, ran out (semantics 8.6). Reserved: there is no
    // such table yet, so the library never ends an actor with this reason.
    kNameLost = 11,
    kOverflow = 12,      // a mailbox with overflow kFailActor was full
    kStartTimeout = 13,  // the constructor and Start took longer than SpawnOptions::start_within
    kStuck = 14,         // a predecessor's handler did not return
    kOsExit = 15,        // a process child exited with a code
    kOsSignal = 16,      // a process child was ended by a signal
  };
  static constexpr int kKindMax = 16;

  // Normal.
  ExitReason() = default;

  static ExitReason Normal();
  static ExitReason Shutdown();
  // Requires !status.ok(); an OK status becomes Internal with a note.
  static ExitReason Failed(absl::Status status);
  // `type` is the type of the exception. `what` is its text: the text of a std::exception, an absl::Status or a string.
  static ExitReason Exception(absl::string_view type, absl::string_view what);
  static ExitReason Killed();
  // Killed, and fenced because its handler had not returned.
  static ExitReason KilledHandlerRunning();
  static ExitReason NoProcess();
  static ExitReason NoConnection(absl::string_view why = "");
  static ExitReason NotPermitted(absl::string_view why = "");
  static ExitReason RestartsExhausted(absl::string_view what);
  static ExitReason NameConflict(absl::string_view name);
  static ExitReason NameLost(absl::string_view name);
  static ExitReason Overflow(absl::string_view mailbox);
  static ExitReason StartTimeout();
  // StartTimeout, and fenced because its constructor or Start had not returned.
  static ExitReason StartTimeoutHandlerRunning();
  static ExitReason Stuck();
  // `note` says what else is known, such as the last lines that the process wrote.
  static ExitReason OsExit(int code, absl::string_view note = "");
  static ExitReason OsSignal(int number, absl::string_view note = "");

  // Returns this reason with `cause`, and its causes, appended to the end of the chain.
  [[nodiscard]] ExitReason CausedBy(const ExitReason& cause) const;

  Kind kind() const { return kind_; }
  bool is_normal() const { return kind_ == Kind::kNormal; }
  // Neither Normal nor Shutdown.
  bool is_abnormal() const { return kind_ != Kind::kNormal && kind_ != Kind::kShutdown; }
  // The status of Failed; OK for every other kind.
  absl::Status status() const;
  // Exception's type. Empty for every other kind.
  absl::string_view exception_type() const;
  // The text of Exception, or the name, mailbox or note of other kinds.
  absl::string_view detail() const;
  // The exit code of OsExit or the signal number of OsSignal, else 0.
  int os_value() const { return os_value_; }
  // True if the actor was killed, or had not started in time, and was fenced because its
  // handler had not returned.
  bool handler_running() const { return handler_running_; }

  // The crash report of the actor, if it ended abnormally of its own accord with this reason. Null
  // for other ends, and in exits and Downs from other nodes. Comparisons and bytes() ignore the
  // report. Valid as long as this object.
  const CrashReport* crash() const;
  // Returns this reason with that report.
  [[nodiscard]] ExitReason WithCrash(std::shared_ptr<const CrashReport> crash) const;

  // The next reason of the chain, or null at its end. Valid as long as this object.
  const ExitReason* cause() const;
  // True if older causes were removed from the chain.
  bool causes_cut() const;
  // Number of reasons in the chain, this one included.
  int depth() const;
  // The approximate size of the chain on the wire, in bytes.
  size_t bytes() const;

  // "Failed(NOT_FOUND: no table); because of Killed".
  std::string ToString() const;
  // "Failed(NOT_FOUND: no table)".
  std::string ToStringWithoutCauses() const;

  // True if the reasons of both chains are equal one by one, and causes_cut() is equal.
  friend bool operator==(const ExitReason& a, const ExitReason& b);
  friend std::ostream& operator<<(std::ostream& out, const ExitReason& reason) { return out << reason.ToString(); }

  // Makes a reason from parts that were read from the wire. Text longer than the bounds is cut,
  // with a mark. Prefer the named functions.
  struct Parts {
    Kind kind = Kind::kNormal;
    absl::Status status;
    std::string exception_type;
    std::string detail;
    int os_value = 0;
    bool handler_running = false;
    bool causes_cut = false;
  };
  static ExitReason FromParts(const Parts& parts);

 private:
  struct Rest;  // the fields that most reasons do not have
  ExitReason(Kind kind, absl::string_view detail);
  bool IsSameWithoutCauses(const ExitReason& other) const;
  static ExitReason FromPartsWithin(const Parts& parts, size_t text_bytes_max);
  ExitReason WithCause(const ExitReason& cause, int depth_left, size_t bytes_left) const;

  Kind kind_ = Kind::kNormal;
  bool handler_running_ = false;
  int os_value_ = 0;
  std::shared_ptr<const Rest> rest_;
};

// "Normal", "Failed", …
absl::string_view ExitKindName(ExitReason::Kind kind);

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_EXIT_REASON_H_
