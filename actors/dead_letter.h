// DeadLetter: a message that reached no handler: it was accepted and left behind, or told and refused. A message that
// Send or Ask refuses makes none, because its sender is told.
//
//   system.SubscribeDeadLetters([](const DeadLetter& letter) { std::cerr << letter.ToString() << "\n"; });
//
// The letter says what is known of the message and does not contain it. dead_letters.h says who is told of it, on which
// thread, and how often it is logged.
//
// Threads: a plain value.
#ifndef UNDERSTUDY_ACTORS_DEAD_LETTER_H_
#define UNDERSTUDY_ACTORS_DEAD_LETTER_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "understudy/actors/pid.h"

namespace understudy {

struct DeadLetter {
  absl::Status why;     // error.h has its kinds
  Pid from;             // null: a plain thread
  Pid to;               // the actor that it was sent to
  std::string mailbox;  // the wire name
  std::string type;     // of the message; empty: not known
  int64_t bytes = 0;    // of its payload, if another node refused it; else 0

  // One line, as the log has it.
  std::string ToString() const;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_DEAD_LETTER_H_
