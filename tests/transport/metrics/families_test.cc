// Each number that a node or an executor tells is found on the page under its own name.
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/error.h"
#include "understudy/actors/executor.h"
#include "understudy/actors/thread_pool.h"
#include "understudy/tests/transport/metrics/strict_exposition.h"
#include "understudy/transport/metrics/executor_metrics.h"
#include "understudy/transport/metrics/exposition.h"
#include "understudy/transport/metrics/node_metrics.h"
#include "understudy/transport/metrics/peer_counts.h"
#include "understudy/transport/node_status.h"

namespace understudy::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

// The series of the page that are not 0.
std::vector<std::pair<std::string, double>> Told(const Exposition& page) {
  const absl::StatusOr<Series> series = ParseExposition(page.text());
  EXPECT_TRUE(series.ok()) << series.status();
  std::vector<std::pair<std::string, double>> told;
  if (!series.ok()) return told;
  for (const auto& [name, value] : *series) {
    if (value != 0) told.emplace_back(name, value);
  }
  return told;
}

TEST(FamiliesTest, OfANode) {
  NodeCounters counters;
  counters.refused_tells = 2;
  counters.forbidden = 3;
  counters.late = 4;
  counters.streams_refused = 5;
  counters.forged = 6;
  counters.streams_refused_by_cause = {{"no_hello", 7}};
  counters.dials_refused_by_cause = {{"full", 8}};
  counters.sessions_begun = 9;
  counters.sessions_ended_by_cause = {{"left", 10}};
  counters.user_calls_dropped = 11;
  counters.peer_events_dropped = 12;
  Exposition page;
  WriteNodeCounters(page, absl::Milliseconds(1500), counters);
  EXPECT_THAT(Told(page),
              ElementsAre(Pair("understudy_handshakes_refused_total{by=\"peer\",cause=\"full\"}", 8),
                          Pair("understudy_handshakes_refused_total{by=\"this_node\",cause=\"no_hello\"}", 7),
                          Pair("understudy_heartbeats_overdue_seconds", 1.5),
                          Pair("understudy_node_callbacks_dropped_total{callback=\"log_and_dead_letters\"}", 11),
                          Pair("understudy_node_callbacks_dropped_total{callback=\"on_peer\"}", 12),
                          Pair("understudy_node_refusals_total{cause=\"forged_pid\"}", 6),
                          Pair("understudy_node_refusals_total{cause=\"late\"}", 4),
                          Pair("understudy_node_refusals_total{cause=\"no_grant\"}", 3),
                          Pair("understudy_node_refusals_total{cause=\"stream\"}", 5),
                          Pair("understudy_node_refusals_total{cause=\"tell_refused_by_peer\"}", 2),
                          Pair("understudy_sessions_begun_total", 9),
                          Pair("understudy_sessions_ended_total{cause=\"left\"}", 10)));
}

TEST(FamiliesTest, OfThePeersOfANode) {
  PeerStatus garden;
  garden.node = "garden";
  garden.is_live = true;
  garden.is_up = true;
  garden.ledger = {.accepted = 20, .acknowledged = 10, .refused_by_peer = 3, .unconfirmed = 7};
  garden.bytes_waiting = 11;
  garden.credit_held.messages = 12;
  garden.credit_given.messages = 13;
  garden.refused_by_peer = {{ErrorKind::kFull, 14}};
  garden.without_credit = 15;
  garden.forbidden = 16;
  PeerStatus suspect;
  suspect.node = "suspect";
  suspect.is_live = true;
  PeerStatus down;
  down.node = "down";
  PeerCounts counts;
  Exposition page;
  WritePeers(page, {garden, suspect, down}, counts);
  EXPECT_THAT(Told(page),
              ElementsAre(Pair("understudy_peer_credit_given_messages{peer=\"garden\"}", 13),
                          Pair("understudy_peer_credit_held_messages{peer=\"garden\"}", 12),
                          Pair("understudy_peer_envelopes_accepted_total{peer=\"garden\"}", 20),
                          Pair("understudy_peer_envelopes_total{peer=\"garden\",outcome=\"acknowledged\"}", 10),
                          Pair("understudy_peer_envelopes_total{peer=\"garden\",outcome=\"refused_by_peer\"}", 3),
                          Pair("understudy_peer_envelopes_total{peer=\"garden\",outcome=\"unconfirmed\"}", 7),
                          Pair("understudy_peer_forbidden_signals_total{peer=\"garden\"}", 16),
                          Pair("understudy_peer_refused_messages_total{peer=\"garden\",cause=\"Full\"}", 14),
                          Pair("understudy_peer_sends_without_credit_total{peer=\"garden\"}", 15),
                          Pair("understudy_peer_unacknowledged_bytes{peer=\"garden\"}", 11),
                          Pair("understudy_peer_up{peer=\"garden\"}", 1), Pair("understudy_peers{state=\"down\"}", 1),
                          Pair("understudy_peers{state=\"suspect\"}", 1), Pair("understudy_peers{state=\"up\"}", 1)));
}

TEST(FamiliesTest, OfTheWorkersOfAnExecutor) {
  std::vector<WorkerInfo> workers(3);
  workers[0] = {.running = absl::Seconds(2), .is_taken_over = true};
  workers[1] = {.running = absl::Seconds(1), .waiting_turns = 4};
  workers[2] = {.is_parked = true, .waiting_turns = 1};
  Exposition page;
  WriteWorkers(page, workers);
  EXPECT_THAT(
      Told(page),
      ElementsAre(Pair("understudy_longest_running_handler_seconds", 2), Pair("understudy_run_queue_turns", 5),
                  Pair("understudy_workers{state=\"busy\"}", 1), Pair("understudy_workers{state=\"parked\"}", 1),
                  Pair("understudy_workers{state=\"stuck\"}", 1)));
}

TEST(FamiliesTest, OfAThreadPool) {
  ThreadPoolStats stats;
  stats.own_threads = 2;
  stats.takeovers = 3;
  stats.workers_refused = 4;
  stats.long_handlers = 5;
  stats.timer_lateness.sum = absl::Milliseconds(500);
  stats.steals = 6;
  stats.handlers_entered = 7;
  Exposition page;
  WriteThreadPool(page, stats);
  EXPECT_THAT(Told(page),
              ElementsAre(Pair("understudy_handlers_entered_total", 7), Pair("understudy_long_handlers_total", 5),
                          Pair("understudy_own_threads", 2), Pair("understudy_steals_total", 6),
                          Pair("understudy_timer_lateness_seconds_sum", 0.5),
                          Pair("understudy_worker_takeovers_total", 3), Pair("understudy_workers_refused_total", 4)));
}

}  // namespace
}  // namespace understudy::internal
