// The SessionTimes of the nodes in trials.
#ifndef UNDERSTUDY_TESTS_TRANSPORT_TRIALS_TRIAL_TIMES_H_
#define UNDERSTUDY_TESTS_TRANSPORT_TRIALS_TRIAL_TIMES_H_

#include <algorithm>

#include "absl/time/time.h"
#include "understudy/transport/session_times.h"

namespace understudy::net_testing {

// Short enough to be waited for, with as many heartbeats to a silence as by default.
inline SessionTimes TrialTimes(absl::Duration silence, absl::Duration grace) {
  SessionTimes times;
  times.silence_timeout = silence;
  times.heartbeat_interval = std::min(silence / 4, absl::Seconds(1));
  times.grace_period = grace;
  times.backoff_max = absl::Milliseconds(200);
  return times;
}

}  // namespace understudy::net_testing

#endif  // UNDERSTUDY_TESTS_TRANSPORT_TRIALS_TRIAL_TIMES_H_
