// RootWatch: starts the launcher's tree, reports its start and its end, and ends actors that wait for the tree.
//
// `started` is answered when every child has started, or with an error if a child could not start. After the tree has
// ended, an actor that waits for its processes would wait for minutes, because they are not started again. Such an
// actor is therefore sent to `waits_for_tree`, and gets an exit when the tree ends, or at once if the tree has ended
// already.
#ifndef UNDERSTUDY_EXAMPLES_AUCTION_ROOT_WATCH_H_
#define UNDERSTUDY_EXAMPLES_AUCTION_ROOT_WATCH_H_

#include <utility>
#include <vector>

#include "absl/types/optional.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_spec.h"
#include "understudy/actors/behavior.h"
#include "understudy/actors/context.h"
#include "understudy/actors/events.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/mailbox.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/replier.h"
#include "understudy/supervision/supervisor.h"

namespace auction {

struct WaitsForTree {
  understudy::Pid actor;
};
struct WhichRoot {};
struct WhenTreeStarted {};
struct TreeStarted {};
struct HowTreeEnded {};
using TreeEnd = absl::optional<understudy::ExitReason>;  // nullopt while the tree runs

class RootWatch final : public understudy::Actor {
 public:
  explicit RootWatch(understudy::ActorSpec<understudy::SupervisorRef> tree) : tree_(std::move(tree)) {}

  understudy::Mailbox<"root", understudy::Call<WhichRoot, understudy::SupervisorRef>> root{this};
  understudy::Mailbox<"started", understudy::Call<WhenTreeStarted, TreeStarted>> started{this};
  understudy::Mailbox<"waits_for_tree", WaitsForTree> waits_for_tree{this};
  understudy::Mailbox<"end", understudy::Call<HowTreeEnded, TreeEnd>> end{this};

 private:
  understudy::StartResult Start() override;
  void Outcome(const understudy::SpawnOutcome& outcome);
  void AnswerStarted(const WhenTreeStarted&, understudy::Replier<TreeStarted> replier);
  void Add(const WaitsForTree& waiting);
  understudy::SupervisorRef Root(const WhichRoot&) { return root_; }
  TreeEnd End(const HowTreeEnded&) { return end_; }
  void RootDown(const understudy::Down& down);
  void Tell(understudy::Pid actor);

  void AnswerWaiting();

  const understudy::ActorSpec<understudy::SupervisorRef> tree_;
  understudy::SupervisorRef root_;
  understudy::MonitorHandle monitor_;
  bool has_started_ = false;
  std::vector<understudy::Replier<TreeStarted>> started_waiting_;
  std::vector<understudy::Pid> waiting_;
  TreeEnd end_;
  understudy::Behavior watching_{"watching", On(root, &RootWatch::Root), On(started, &RootWatch::AnswerStarted),
                                 On(waits_for_tree, &RootWatch::Add), On(end, &RootWatch::End)};
};

}  // namespace auction

#endif  // UNDERSTUDY_EXAMPLES_AUCTION_ROOT_WATCH_H_
