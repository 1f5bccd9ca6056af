// Inspection: reads from outside which actors run in a system, and what they do.
//
//   ActorQuery query{.waiting_min = 1};
//   do {
//     ActorPage page = ListActors(system, query);
//     for (const ActorInfo& actor : page.actors) …
//     query.after = page.next;
//   } while (query.after != 0);
//
// A query costs an actor nothing on the path of its messages, runs no turn of it and waits for no handler. It reads
// counters and, if the actor is idle or in a handler, the actor's own state: an idle actor does not begin a turn while
// it is read, and a running handler goes on but does not enter the framework. One actor is read at a time, so a page is
// not a picture of one moment. If an actor is queued, that is, no worker has come to it yet, the query reads only its
// counters, class, parent and behavior (ActorInfo::is_complete).
//
// Threads: any plain thread, not in an actor's turn.
#ifndef UNDERSTUDY_ACTORS_INSPECTION_H_
#define UNDERSTUDY_ACTORS_INSPECTION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "understudy/actors/actor_info.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/executor.h"
#include "understudy/actors/handler_times.h"
#include "understudy/actors/ledger.h"
#include "understudy/actors/pid.h"

namespace understudy {

struct ActorQuery {
  uint64_t after = 0;       // 0 for the first page, then ActorPage::next
  size_t at_most = 100;     // actors in the page: 1 to limits::kActorsPerPageMax; others are clamped
  int64_t waiting_min = 0;  // only actors with at least this number of messages waiting
  // Only actors whose pid, class, label, behavior, parent's pid or one of whose names contains this text. The label of
  // a queued actor is not known.
  std::string text;
  absl::optional<ActorState> state;  // only actors in this state
  bool asking_only = false;          // only actors that wait for answers (ActorInfo::asks)
};

struct ActorPage {
  std::vector<ActorInfo> actors;  // without their mailboxes
  // Where the next page begins; 0 if this page is the last. A page that is not the last may be empty too, because a
  // query looks at limits::kActorsPerLookMax cells at most, and reads limits::kActorsReadPerLookMax of their actors.
  uint64_t next = 0;
};

ActorPage ListActors(ActorSystem& system, const ActorQuery& query = {});

// Returns one ledger for each name and type of mailbox that has accepted a message, for all actors together, in the
// order of the names. The ledgers' `actor` is null. Their sum is ActorSystem::Ledger(), except for refused messages.
// The call takes time in proportion to the number of actors, and memory in proportion to the number of names.
std::vector<MailboxLedger> MailboxTotals(ActorSystem& system);

enum class TopBy {
  kWaiting,  // stuck actors, the longest first, then actors with the most waiting messages
  kAge,      // actors whose oldest message has waited longest (ActorInfo::oldest_age)
  kBytes,    // actors whose waiting messages have the most bytes (ActorInfo::waiting_bytes)
};

// Returns the actors to look at first when something is slow, at most `count` of them (clamped like
// ActorQuery::at_most), without their mailboxes. With kWaiting these are actors that are stuck or have waiting
// messages, with kAge actors that have waiting messages, and with kBytes actors with waiting messages in mailboxes that
// are bounded in bytes. The call passes once over the counters of all actors, which takes some tens of milliseconds for
// a million; only the actors that are returned are read further, and with kAge all actors that have waiting messages.
std::vector<ActorInfo> TopActors(ActorSystem& system, size_t count, TopBy by = TopBy::kWaiting);

// TopActors in slices, for a thread that has other work too:
//
//   TopScan scan(system, 20, TopBy::kAge);
//   while (!scan.Step(10'000)) { … }
//   std::vector<ActorInfo> top = scan.Take();
//
// Threads: one at a time. Lifetime: the system outlives the scan.
class TopScan {
 public:
  TopScan(ActorSystem& system, size_t count, TopBy by);
  ~TopScan();
  TopScan(const TopScan&) = delete;
  TopScan& operator=(const TopScan&) = delete;

  // Looks at the next `places` places for actors; a million places take some tens of milliseconds. Returns true if
  // these were the last.
  [[nodiscard]] bool Step(size_t places);
  // Returns the same as TopActors, without actors that have ended since. Call it once, after Step has returned true.
  std::vector<ActorInfo> Take();

 private:
  class Parts;
  const std::unique_ptr<Parts> parts_;
};

// Returns the longest time that any message of the system has waited. Takes as long as TopActors with kAge.
absl::Duration OldestMessageAge(ActorSystem& system);

// The memory in bytes that the kernel has for actors and messages. The memory of users' objects is not known.
struct KernelMemory {
  int64_t cells = 0;  // the cells of this system's actors, in use or free: 192 for each, and its place in a list
  // The blocks for messages of up to a KiB each, of all systems of the process: the bytes that were taken from the
  // operating system, and how many of them are free for any thread. Both are 0 with AddressSanitizer.
  int64_t blocks = 0;
  int64_t blocks_free = 0;
  int64_t waiting = 0;  // messages that wait in mailboxes that are bounded in bytes (ActorInfo::waiting_bytes)
};
// Reads the sums in one pass over the counters of all actors, like TopActors with kBytes.
KernelMemory ReadMemory(ActorSystem& system);

// Returns how long handlers run, by class and mailbox; the handlers with the largest sum of times come first.
std::vector<HandlerTimes> HandlerTimesOf(ActorSystem& system);

// Returns the actor with its mailboxes, links and monitors, or nullopt if it has ended or is not an actor of this
// system. The time that the call takes does not grow with the number of actors.
absl::optional<ActorInfo> InspectActor(ActorSystem& system, Pid actor);

// Returns true if the actor is one of this system and has not ended. Takes nanoseconds.
bool HasActor(ActorSystem& system, Pid actor);

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_INSPECTION_H_
