// The metrics of an executor: its workers, its timers, and the times of handlers. Functions without state; any thread.
#ifndef UNDERSTUDY_TRANSPORT_METRICS_EXECUTOR_METRICS_H_
#define UNDERSTUDY_TRANSPORT_METRICS_EXECUTOR_METRICS_H_

#include <vector>

#include "understudy/actors/executor.h"
#include "understudy/actors/thread_pool.h"
#include "understudy/actors/time_sketch.h"
#include "understudy/transport/metrics/exposition.h"

namespace understudy::internal {

// Continues a family that is a histogram.
void WriteSketch(Exposition& out, const TimeSketch& sketch, const MetricLabels& labels);

void WriteWorkers(Exposition& out, const std::vector<WorkerInfo>& workers);
// What only a ThreadPool tells.
void WriteThreadPool(Exposition& out, const ThreadPoolStats& stats);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_METRICS_EXECUTOR_METRICS_H_
