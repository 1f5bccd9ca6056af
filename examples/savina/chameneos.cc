// Chameneos: 100 creatures meet in pairs at a mall, and take the complement of the other's
// colour. The mall keeps the call of the first of a pair until the second has come. After
// so many meetings it is closed, and refuses the calls that come.
// Oracle: the sum of the creatures' meetings is twice the mall's.
#include "absl/types/optional.h"
#include "understudy/examples/savina/programs.h"

namespace understudy::savina {
namespace {

constexpr int kCreatures = 100;

enum class Colour { kBlue, kRed, kYellow };

Colour Complement(Colour own, Colour other) {
  return own == other ? own : static_cast<Colour>(3 - static_cast<int>(own) - static_cast<int>(other));
}

class Mall final : public Program {
 public:
  Mailbox<"meet", Call<Colour, Colour>> meet{this};  // the answer is the other's colour
  Mailbox<"went_home", int64_t> went_home{this};     // how often that creature has met another

  explicit Mall(int64_t meetings) : meetings_left_(meetings), meetings_(meetings) {}
  StartResult Start() override;

 private:
  struct Waiting {
    Colour colour;
    Replier<Colour> creature;
  };

  void Meet(Colour colour, Replier<Colour> creature) {
    if (!waiting_) {
      waiting_ = Waiting{colour, std::move(creature)};
      return;
    }
    creature.Reply(waiting_->colour);
    waiting_->creature.Reply(colour);
    waiting_.reset();
    if (--meetings_left_ == 0) Become(closed_);
  }
  Behavior SendHome(int64_t met) {
    met_ += met;
    return ++home_ < kCreatures ? closed_ : Done(Checked("creatures met another", met_, 2 * meetings_));
  }

  int64_t meetings_left_;
  const int64_t meetings_;
  absl::optional<Waiting> waiting_;
  int home_ = 0;
  int64_t met_ = 0;
  Behavior open_{"open", On(meet, &Mall::Meet)};
  Behavior closed_{"closed", Refuse(meet, absl::UnavailableError("the mall is closed")),
                   On(went_home, &Mall::SendHome)};
};

class Creature final : public Actor {
 public:
  Creature(Ref<Mall> mall, Colour colour) : mall_(mall), colour_(colour) {}
  StartResult Start() override { return Live(); }

 private:
  Task<> Live() {
    int64_t met = 0;
    for (;; ++met) {
      auto asked = mall_[&Mall::meet].Ask(colour_, kPatience);
      absl::StatusOr<Colour> other = co_await asked;
      if (!other.ok()) break;
      colour_ = Complement(colour_, *other);
    }
    mall_[&Mall::went_home].Tell(met);
  }

  const Ref<Mall> mall_;
  Colour colour_;
};

StartResult Mall::Start() {
  for (int i = 0; i < kCreatures; ++i) {
    context().Spawn<Creature>(Ref<Mall>(context().Self()), static_cast<Colour>(i % 3));
  }
  return open_;
}

}  // namespace

std::unique_ptr<Actor> MakeChameneos(int64_t meetings) { return std::make_unique<Mall>(meetings); }

}  // namespace understudy::savina
