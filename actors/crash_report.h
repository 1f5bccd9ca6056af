// CrashReport: what an actor was at when it ended abnormally by its own doing.
//
//   void Ended(const Down& down) {
//     if (const CrashReport* crash = down.reason.crash(); crash != nullptr) …
//   }
//
// It hangs on the exit reason (ExitReason::crash), within this system: it is
// neither compared nor sent to other nodes. The same is written to the log as
// one line. Fields as in OTP's crash reports (proc_lib), and the last messages.
// Plain values.
#ifndef UNDERSTUDY_ACTORS_CRASH_REPORT_H_
#define UNDERSTUDY_ACTORS_CRASH_REPORT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "understudy/actors/pid.h"

namespace understudy {

// A message that an actor took in hand.
struct MessageNote {
  std::string mailbox;  // its wire name
  std::string type;
  // As MessageBytes, else its wire size or sizeof. Of the only message of a
  // system that keeps none: what its handler has left of it, or sizeof.
  size_t bytes = 0;
  Pid from;  // null: a plain thread
  // Serialized, at most limits::kReportedContentsBytesMax; only of wire
  // messages that were kept, of mailboxes whose options say
  // ReportContents::kYes.
  std::string contents;

  // "a auction.Offer of 24 bytes in mailbox make_offer from <house.7.42>"
  std::string ToString() const;
};

struct CrashReport {
  Pid pid;
  std::string label;  // SpawnOptions::label, else its class
  // "mailbox make_offer handling a … from …", "its constructor", "Start", "its
  // process", "the handler of an event", "a guard, a predicate or a hook"; "no
  // handler" for a full mailbox that fails its actor, and an exit sent to itself.
  std::string doing;
  Pid parent;  // null when it had none
  // The last messages that it took in hand, the newest first: the one in hand,
  // if any, or as many as ActorSystemOptions::last_messages says.
  std::vector<MessageNote> messages;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_CRASH_REPORT_H_
