// The chronicle: what was supervised in a run, as everybody saw it.
//
// ChronicleKeeper gathers what is told to "chronicle"; read gives it back.
// FormatTimeline makes it a page for people: in order of time, with what many
// saw at once (the bidders' Downs when a house dies) as one line.
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

// The name under which it is published.
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

// A text for each, times from `start`, broken into lines that fit a terminal; what happened more than once with the
// same `what` and `why` within a second is one text that counts whom.
std::vector<std::string> FormatTimeline(const Chronicled& happenings, absl::Time start);

}  // namespace auction

#endif  // UNDERSTUDY_EXAMPLES_AUCTION_CHRONICLE_H_
