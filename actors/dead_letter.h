// DeadLetter: a message that reached no handler. dead_letters.h tells listeners and the log of them.
#ifndef UNDERSTUDY_ACTORS_DEAD_LETTER_H_
#define UNDERSTUDY_ACTORS_DEAD_LETTER_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "understudy/actors/pid.h"

namespace understudy {

// A message that reached no handler: accepted and then left behind, or told and
// refused.
struct DeadLetter {
  absl::Status why;
  Pid from;  // null: a plain thread
  Pid to;
  std::string mailbox;
  std::string type;   // empty: not known
  int64_t bytes = 0;  // of its payload, where another node refused it

  std::string ToString() const;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_DEAD_LETTER_H_
