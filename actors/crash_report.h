// CrashReport: what an actor was doing when it ended abnormally of its own accord, rather
// than because of an exit or kill from elsewhere.
//
//   void Ended(const Down& down) {
//     if (const CrashReport* crash = down.reason.crash(); crash != nullptr) …
//   }
//
// The exit reason carries the report (ExitReason::crash) within this system. Exits and Downs
// to other nodes do not have it; supervision reports (transport/supervision_report.h) do.
// Comparisons of exit reasons ignore the report. The log has the same facts in one line, and
// ActorSystem::SubscribeCrashes calls a listener for each report. The fields are those of OTP's crash reports
// (proc_lib), and the last messages. Threads: plain values.
#ifndef UNDERSTUDY_ACTORS_CRASH_REPORT_H_
#define UNDERSTUDY_ACTORS_CRASH_REPORT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "understudy/actors/clock.h"
#include "understudy/actors/pid.h"

namespace understudy {

// A message that an actor has begun to handle.
struct MessageNote {
  std::string mailbox;  // its wire name
  std::string type;
  // The message's size: its wire size, or else by MessageBytes or sizeof. If the system keeps
  // no last messages, the size of the current message is taken when the actor fails: for a wire
  // message it is the size of what the handler has left of it by then, for others sizeof. For an
  // earlier message it is then the size that its mailbox counted or, if the mailbox is not bounded
  // in bytes, sizeof; 0 for a wire message, whose size is not known.
  size_t bytes = 0;
  Pid from;  // null: a plain thread
  // The serialized message, cut to limits::kReportedContentsBytesMax bytes. Empty unless the
  // system keeps last messages, this is a wire message, and the mailbox's options say
  // ReportContents::kYes.
  std::string contents;
  // The latest time that the worker knew when the handler began, so never later than its beginning. A worker learns the
  // time when it wakes up, sorts an actor's mail, or times a handler, which is one run in 128. The zero time: unknown.
  MonotonicTime time;

  // "a auction.Offer of 24 bytes in mailbox make_offer from <house.7.42>"
  std::string ToString() const;
};

struct CrashReport {
  Pid pid;
  std::string label;  // SpawnOptions::label or, if that is empty, the name of the class
  // What the actor was doing: "mailbox make_offer handling a … from …", "its constructor",
  // "Start", "its process", "the handler of an event" or "a guard, a predicate or a hook"; or
  // "no handler" if a full mailbox failed the actor, or it had sent an exit to itself.
  std::string doing;
  Pid parent;            // null if it had none
  std::string trace_id;  // of the handler that failed (trace.h); empty if it belonged to no trace
  // The last messages that the actor began to handle, the newest first, at most ActorSystemOptions::last_messages. If
  // that option is 0: the current message, if any, and the actor's earlier messages that are among the last 64 messages
  // of the worker on which the actor failed; at most limits::kBlackBoxMessagesMax together.
  std::vector<MessageNote> messages;
  MonotonicTime time;  // at which the actor failed
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_CRASH_REPORT_H_
