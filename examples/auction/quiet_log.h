// The log of the demo's processes: warnings and errors on standard error. The
// library's ordinary lines would hide what the demo has to show.
#ifndef UNDERSTUDY_EXAMPLES_AUCTION_QUIET_LOG_H_
#define UNDERSTUDY_EXAMPLES_AUCTION_QUIET_LOG_H_

#include "understudy/actors/log_sink.h"

namespace auction {

// Any thread. Lives for ever.
understudy::LogSink& QuietLog();

}  // namespace auction

#endif  // UNDERSTUDY_EXAMPLES_AUCTION_QUIET_LOG_H_
