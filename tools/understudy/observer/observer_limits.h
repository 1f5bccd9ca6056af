// Bounds of the observer page's server.
#ifndef UNDERSTUDY_TOOLS_UNDERSTUDY_OBSERVER_OBSERVER_LIMITS_H_
#define UNDERSTUDY_TOOLS_UNDERSTUDY_OBSERVER_OBSERVER_LIMITS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"

namespace understudy::limits {

// Nodes on one page: each costs three threads here.
inline constexpr size_t kObservedNodesMax = 16;
// How often a node is asked while a page is open. A person could not follow faster changes.
inline constexpr absl::Duration kObserverAsksEvery = absl::Seconds(1);
// How often entries that a node's streams brought go to the pages, together.
inline constexpr absl::Duration kObserverTellsEvery = absl::Milliseconds(200);
// How long a node may take for one answer. One that takes longer is shown as not answering.
inline constexpr std::chrono::seconds kObserverAnswersWithin{5};
// Events, and as many dead letters, that are kept for a page that is opened later: as many as the node keeps, and their
// bytes as JSON.
inline constexpr size_t kObserverEntriesMax = 1000;
inline constexpr size_t kObserverEntriesBytesMax = size_t{1} << 20;
// Actors of one answer of TopActors and of a search.
inline constexpr uint32_t kObserverActorsMax = 100;
// Requests of pages that wait for one node.
inline constexpr size_t kObserverQuestionsMax = 64;
// The number of supervisors and children of one node on a page, approximately, which a browser shows without delay, and
// the bytes of those of all nodes on a page, of which each node has an equal share. As JSON they have three times as
// many. If there are more, the page says so.
inline constexpr size_t kObserverTreeEntriesMax = 20'000;
inline constexpr size_t kObserverTreesBytesMax = size_t{8} << 20;
// Supervisors in one event, and characters of them: a tree goes to a page in parts.
inline constexpr size_t kObserverTreePartChars = size_t{256} << 10;

// Pages at once, connections at once (a browser makes six to one server), and their sizes and times.
inline constexpr size_t kObserverPagesMax = 8;
inline constexpr unsigned kObserverConnectionsMax = 64;
inline constexpr absl::Duration kObserverConnectionWithin = absl::Seconds(20);
inline constexpr absl::Duration kObserverReplyWithin = absl::Seconds(12);
inline constexpr size_t kObserverConnectionBytesMax = size_t{16} << 10;
inline constexpr size_t kObserverBodyBytesMax = 4096;
// The events and bytes that may wait to be sent to one page: enough for the whole state of kObservedNodesMax large
// nodes (kObserverTreesBytesMax, kObserverEntriesBytesMax), because a page that loses an event begins anew.
inline constexpr size_t kObserverWaitingEventsMax = 4096;
inline constexpr size_t kObserverWaitingBytesMax = size_t{64} << 20;

}  // namespace understudy::limits

#endif  // UNDERSTUDY_TOOLS_UNDERSTUDY_OBSERVER_OBSERVER_LIMITS_H_
