// HandlerTimes: how long handlers run, by the actors' class and the mailbox, from samples (HandlerTimesOf in
// inspection.h).
//
// Each worker times one of 128 runs of handlers on average, and one of the first few after it slept, so rare handlers
// are seen too. A run ends when the handler returns or awaits; after an await, another run begins. Times are read from
// the clock; they are not processor time.
//
// Threads: plain values.
#ifndef UNDERSTUDY_ACTORS_HANDLER_TIMES_H_
#define UNDERSTUDY_ACTORS_HANDLER_TIMES_H_

#include <string>

#include "understudy/actors/time_sketch.h"  // IWYU pragma: export

namespace understudy {

struct HandlerTimes {
  std::string class_name;
  // The wire name. "(event)": handlers of events, such as timers and Down. "(other)", also as the class: handlers
  // beyond limits::kHandlerKindsMax.
  std::string mailbox;
  TimeSketch times;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_HANDLER_TIMES_H_
