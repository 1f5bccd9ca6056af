// The chronicle: the supervision events of a run, as reported by all nodes.
//
// ChronicleKeeper collects the events that are sent to "chronicle", and `read` returns
// them. FormatTimeline makes text for people of them: in order of time, and with
// events that many actors report at once (such as the bidders' Downs when a house is
// killed) as one entry.
#ifndef UNDERSTUDY_EXAMPLES_AUCTION_CHRONICLE_H_
#define UNDERSTUDY_EXAMPLES_AUCTION_CHRONICLE_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/behavior.h"
#include "understudy/actors/mailbox.h"
#include "understudy/actors/message.h"
#include "understudy/examples/auction/auction.actor.h"
#include "understudy/examples/auction/auction.pb.h"

namespace auction {

// The name under which ChronicleKeeper is published.
inline constexpr absl::string_view kChronicle = "chronicle";

struct ReadChronicle {};
using Chronicled = std::vector<Happening>;

class ChronicleKeeper final : public ChronicleActor {
 public:
  understudy::Mailbox<"read", understudy::Call<ReadChronicle, Chronicled>> read{this};

 private:
  understudy::StartResult Start() override { return keeping_; }
  void Keep(Happening happening) { happenings_.push_back(std::move(happening)); }
  Chronicled Read(const ReadChronicle&) { return happenings_; }

  Chronicled happenings_;
  understudy::Behavior keeping_{"keeping", On(note, &ChronicleKeeper::Keep), On(read, &ChronicleKeeper::Read)};
};

Happening MakeHappening(absl::Time time, absl::string_view node, absl::string_view what, absl::string_view who,
                        absl::string_view why);

// Returns a text for each happening, with its time since `start`, broken into lines that fit a terminal. Happenings on
// one node with the same `what` and `why` within a second are one text, which says how many there were.
std::vector<std::string> FormatTimeline(const Chronicled& happenings, absl::Time start);

}  // namespace auction

#endif  // UNDERSTUDY_EXAMPLES_AUCTION_CHRONICLE_H_
