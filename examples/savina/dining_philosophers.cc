// Dining philosophers: 20 philosophers share 20 forks, and each needs its two neighbouring
// ones. The table has a mailbox for each philosopher, whose guard holds while both forks
// are free. So a hungry philosopher's call waits until it can be granted, and no one asks
// twice.
// Oracle: the number of meals; no fork is taken twice.
#include <array>

#include "understudy/actors/channel.h"
#include "understudy/examples/savina/programs.h"

namespace understudy::savina {
namespace {

constexpr size_t kPhilosophers = 20;

struct Hungry {};
struct Forks {};

class Table final : public Program {
 public:
  MailboxArray<"hungry", Call<Hungry, Forks>> hungry{this, kPhilosophers};
  Mailbox<"sated", size_t> sated{this};  // that philosopher puts its forks back
  Mailbox<"left", int64_t> left{this};   // so many meals one has had

  explicit Table(int64_t meals) : meals_of_each_(meals) { is_taken_.fill(false); }
  StartResult Start() override;

 private:
  static size_t Right(size_t place) { return (place + 1) % kPhilosophers; }
  bool HasForks(size_t place) const { return !is_taken_[place] && !is_taken_[Right(place)]; }

  Forks Grant(const Hungry& /*request*/, size_t place) {
    is_taken_[place] = is_taken_[Right(place)] = true;
    return {};
  }
  absl::Status PutBack(size_t place) {
    if (!is_taken_[place] || !is_taken_[Right(place)]) return Fail(absl::InternalError("two had the same fork"));
    is_taken_[place] = is_taken_[Right(place)] = false;
    return absl::OkStatus();
  }
  Behavior Leave(int64_t meals) {
    meals_ += meals;
    return ++left_ < kPhilosophers ? serving_ : Done(Checked("meals", meals_, kPhilosophers * meals_of_each_));
  }

  const int64_t meals_of_each_;
  std::array<bool, kPhilosophers> is_taken_;
  size_t left_ = 0;
  int64_t meals_ = 0;
  Behavior serving_{"serving", On(hungry, &Table::Grant).When(&Table::HasForks), On(sated, &Table::PutBack),
                    On(left, &Table::Leave)};
};

class Philosopher final : public Actor {
 public:
  Philosopher(Ref<Table> table, size_t place, int64_t meals) : table_(table), place_(place), meals_(meals) {}
  StartResult Start() override { return Live(); }

 private:
  Task<> Live() {
    int64_t eaten = 0;
    for (; eaten < meals_; ++eaten) {
      auto asked = table_.At(&Table::hungry, place_).Ask(Hungry(), kPatience);
      absl::StatusOr<Forks> forks = co_await asked;
      if (!forks.ok()) break;
      table_[&Table::sated].Tell(place_);
    }
    table_[&Table::left].Tell(eaten);
  }

  const Ref<Table> table_;
  const size_t place_;
  const int64_t meals_;
};

StartResult Table::Start() {
  for (size_t place = 0; place < kPhilosophers; ++place) {
    context().Spawn<Philosopher>(Ref<Table>(context().Self()), place, meals_of_each_);
  }
  return serving_;
}

}  // namespace

std::unique_ptr<Actor> MakeDiningPhilosophers(int64_t meals) { return std::make_unique<Table>(meals); }

}  // namespace understudy::savina
