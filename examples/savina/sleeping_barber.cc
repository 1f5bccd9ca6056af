// Sleeping barber: a barber cuts one customer's hair at a time. The waiting room is the
// barber's mailbox, whose capacity is the number of chairs: a customer for whom there is no
// room is refused, walks about, and comes again.
// Oracle: each customer has had a haircut, and the barber has cut as often.
#include "absl/strings/str_cat.h"
#include "understudy/actors/channel.h"
#include "understudy/examples/savina/programs.h"

namespace understudy::savina {
namespace {

constexpr int64_t kChairs = 8;
constexpr absl::Duration kHaircut = absl::Microseconds(200);
constexpr absl::Duration kBetweenCustomers = absl::Microseconds(100);

struct Sit {};
struct GetCuts {};

class Barber final : public Actor {
 public:
  // The answer is the number of the haircut.
  Mailbox<"chair", Call<Sit, int64_t>> chair{this, {.capacity_messages = kChairs}};
  Mailbox<"cuts", Call<GetCuts, int64_t>> cuts{this};

  StartResult Start() override { return working_; }

 private:
  // The other customers wait until this returns.
  Task<int64_t> Cut(Sit /*customer*/) {
    auto cutting = context().Sleep(kHaircut);
    (void)co_await cutting;
    co_return ++cuts_;
  }

  int64_t cuts_ = 0;
  Behavior working_{"working", On(chair, &Barber::Cut), On(cuts, [this](const GetCuts&) { return cuts_; })};
};

class Customer final : public Actor {
 public:
  Customer(Ref<Barber> barber, Channel<int64_t> left) : barber_(barber), left_(left) {}
  StartResult Start() override { return Visit(); }

 private:
  Task<> Visit() {
    for (int64_t refusals = 0;; ++refusals) {
      auto asked = barber_[&Barber::chair].Ask(Sit(), kPatience);
      absl::StatusOr<int64_t> haircut = co_await asked;
      if (haircut.ok()) {
        left_.Tell(refusals);
        co_return;
      }
      if (!IsFull(haircut.status())) co_return;
      auto walk = context().Sleep(kHaircut * (1 + refusals));
      (void)co_await walk;
    }
  }

  const Ref<Barber> barber_;
  const Channel<int64_t> left_;
};

class Shop final : public Program {
 public:
  Mailbox<"left", int64_t> left{this};  // how often that customer was refused

  explicit Shop(int64_t customers) : customers_(customers) {}

  StartResult Start() override {
    barber_ = context().Spawn<Barber>();
    return open_;
  }

 private:
  void Admit() {
    context().Spawn<Customer>(barber_, context().ChannelTo(left));
    if (++admitted_ == customers_) Become(closing_);
  }
  Task<> Leave(int64_t refusals) {
    refusals_ += refusals;
    if (++left_ < customers_) co_return;
    auto asked = barber_[&Barber::cuts].Ask(GetCuts(), kPatience);
    absl::StatusOr<int64_t> cuts = co_await asked;
    const std::string what = absl::StrCat("haircuts, and ", refusals_, " times there was no chair");
    Become(Done(cuts.ok() ? Checked(what, *cuts, customers_) : cuts.status()));
  }

  const int64_t customers_;
  Ref<Barber> barber_;
  int64_t admitted_ = 0;
  int64_t left_ = 0;
  int64_t refusals_ = 0;
  Behavior open_{"open", Every(kBetweenCustomers, &Shop::Admit), On(left, &Shop::Leave)};
  Behavior closing_{"closing", On(left, &Shop::Leave)};
};

}  // namespace

std::unique_ptr<Actor> MakeSleepingBarber(int64_t customers) { return std::make_unique<Shop>(customers); }

}  // namespace understudy::savina
