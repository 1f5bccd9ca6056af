#include "understudy/transport/metrics/executor_metrics.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/time/time.h"

namespace understudy::internal {
namespace {

using enum MetricType;

std::vector<double> BoundsInSeconds() {
  std::vector<double> bounds;
  for (const int64_t nanos : kTimeSketchBoundsNanos) bounds.push_back(static_cast<double>(nanos) / 1e9);
  return bounds;
}

}  // namespace

void WriteSketch(Exposition& out, const TimeSketch& sketch, const MetricLabels& labels) {
  out.Histogram(BoundsInSeconds(), {sketch.buckets.begin(), sketch.buckets.end()}, absl::ToDoubleSeconds(sketch.sum),
                labels);
}

void WriteWorkers(Exposition& out, const std::vector<WorkerInfo>& workers) {
  int64_t parked = 0;
  int64_t busy = 0;
  int64_t stuck = 0;
  int64_t waiting = 0;
  absl::Duration longest;
  for (const WorkerInfo& worker : workers) {
    (worker.is_taken_over ? stuck : worker.is_parked ? parked : busy) += 1;
    waiting += worker.waiting_turns;
    longest = std::max(longest, worker.running);
  }
  out.Begin("understudy_workers", kGauge, "Workers of the executor by state; a stuck one has lost its queue.");
  out.Sample(busy, {{"state", "busy"}});
  out.Sample(parked, {{"state", "parked"}});
  out.Sample(stuck, {{"state", "stuck"}});
  out.One("understudy_run_queue_turns", kGauge, "Turns of actors that wait in the queues of the workers.", waiting);
  out.Begin("understudy_longest_running_handler_seconds", kGauge, "How long the slowest of the present handlers runs.");
  out.Sample(absl::ToDoubleSeconds(longest));
}

void WriteThreadPool(Exposition& out, const ThreadPoolStats& stats) {
  out.One("understudy_own_threads", kGauge, "Threads of actors that have a thread of their own.", stats.own_threads);
  out.One("understudy_steals_total", kCounter, "Times that a worker took turns from another one.", stats.steals);
  out.One("understudy_handlers_entered_total", kCounter, "Handlers, guards and other user code that workers began.",
          static_cast<int64_t>(stats.handlers_entered));
  out.One("understudy_worker_takeovers_total", kCounter, "Workers that lost their queue to others.", stats.takeovers);
  out.One("understudy_workers_refused_total", kCounter, "Workers that could not be added in place of stuck ones.",
          stats.workers_refused);
  out.Begin("understudy_timer_lateness_seconds", kHistogram, "How much later than their times timers were called.");
  WriteSketch(out, stats.timer_lateness, {});
  out.One("understudy_long_handlers_total", kCounter, "Log lines that named a handler that ran long.",
          stats.long_handlers);
}

}  // namespace understudy::internal
