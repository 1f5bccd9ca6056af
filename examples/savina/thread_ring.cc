// Thread ring: 100 actors in a ring pass a token on until it has made the given number of hops. Then a tally goes round
// once; each member adds the hops that it has counted, and ends.
// Oracle: the sum of the members' counts, and who had the token last.
#include "understudy/examples/savina/programs.h"

namespace understudy::savina {
namespace {

constexpr int64_t kMembers = 100;

// The channels to the next member of the ring.
struct Next {
  Channel<int64_t> token;  // the hops that are left
  Channel<int64_t> tally;
};

class Member final : public Actor {
 public:
  Mailbox<"token", int64_t> token{this};
  Mailbox<"tally", int64_t> tally{this};

  Member(int64_t place, Next next, Channel<int64_t> last) : place_(place), next_(next), last_(last) {}
  StartResult Start() override { return passing_; }

 private:
  void Pass(int64_t hops_left) {
    ++hops_;
    hops_left == 0 ? last_.Tell(place_) : next_.token.Tell(hops_left - 1);
  }
  void Tally(int64_t hops) {
    next_.tally.Tell(hops + hops_);
    context().Stop();
  }

  const int64_t place_;
  const Next next_;
  const Channel<int64_t> last_;
  int64_t hops_ = 0;
  Behavior passing_{"passing", On(token, &Member::Pass), On(tally, &Member::Tally)};
};

// Also the member at place 0.
class ThreadRing final : public Program {
 public:
  Mailbox<"token", int64_t> token{this};
  Mailbox<"tally", int64_t> tally{this};
  Mailbox<"last", int64_t> last{this};  // the place of the member that had the token last

  explicit ThreadRing(int64_t hops) : all_hops_(hops) {}

  StartResult Start() override {
    const Channel<int64_t> to_last = context().ChannelTo(last);
    next_ = {context().ChannelTo(token), context().ChannelTo(tally)};
    for (int64_t place = kMembers - 1; place > 0; --place) {
      const Ref<Member> member = context().Spawn<Member>(place, next_, to_last);
      next_ = {member[&Member::token], member[&Member::tally]};
    }
    next_.token.Tell(all_hops_ - 1);
    return passing_;
  }

 private:
  Behavior Pass(int64_t hops_left) {
    ++hops_;
    hops_left == 0 ? EndAt(0) : next_.token.Tell(hops_left - 1);
    return passing_;
  }
  void EndAt(int64_t place) {
    last_place_ = place;
    next_.tally.Tell(hops_);
  }
  Behavior Finish(int64_t hops) {
    if (last_place_ != all_hops_ % kMembers) return Done(absl::InternalError("the token ended at the wrong place"));
    return Done(Checked("hops", hops, all_hops_));
  }

  const int64_t all_hops_;
  Next next_;
  int64_t hops_ = 0;
  int64_t last_place_ = 0;
  Behavior passing_{"passing", On(token, &ThreadRing::Pass), On(last, &ThreadRing::EndAt),
                    On(tally, &ThreadRing::Finish)};
};

}  // namespace

std::unique_ptr<Actor> MakeThreadRing(int64_t hops) { return std::make_unique<ThreadRing>(hops); }

}  // namespace understudy::savina
