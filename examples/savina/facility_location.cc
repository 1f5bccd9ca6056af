// Online facility location: customers come at random points of a square. A quadrant sends
// each to its nearest facility; when the way of all since its last opening costs more than
// a facility, it opens one there, and divides itself into four quadrants, which are actors.
// Oracle: the quadrants have served every customer, at more than one facility.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "understudy/actors/channel.h"
#include "understudy/actors/pending_group.h"
#include "understudy/examples/savina/programs.h"

namespace understudy::savina {
namespace {

constexpr double kSide = 500;
constexpr double kFacilityCost = 1.41421356 * kSide;
constexpr int kDepthMax = 6;

struct Point {
  double x = 0;
  double y = 0;
};
struct GetServed {};
struct Served {
  int64_t customers = 0;
  int64_t facilities = 0;
};

class Quadrant final : public Actor {
 public:
  Mailbox<"customer", Point> customer{this};
  Mailbox<"served", Call<GetServed, Served>> served{this};  // of this quadrant and those below it

  Quadrant(Point middle, double half, int depth, std::vector<Point> facilities)
      : middle_(middle), half_(half), depth_(depth), facilities_(std::move(facilities)) {}
  StartResult Start() override { return serving_; }

 private:
  void Serve(const Point& at) {
    ++served_.customers;
    double nearest = std::numeric_limits<double>::infinity();
    for (const Point& each : facilities_) nearest = std::min(nearest, std::hypot(each.x - at.x, each.y - at.y));
    cost_ += nearest;
    if (cost_ <= kFacilityCost) return;
    cost_ = 0;
    ++served_.facilities;
    facilities_.push_back(at);
    if (depth_ < kDepthMax) Divide();
  }
  void Divide() {
    const double half = half_ / 2;
    for (size_t i = 0; i < 4; ++i) {
      const Point middle{middle_.x + (i % 2 == 0 ? -half : half), middle_.y + (i < 2 ? -half : half)};
      parts_[i] = context().Spawn<Quadrant>(middle, half, depth_ + 1, facilities_);
    }
    Become(divided_);
  }
  Task<absl::Status> PassOn(Point at) {
    const size_t part = (at.x < middle_.x ? 0U : 1U) + (at.y < middle_.y ? 0U : 2U);
    auto sending = parts_[part][&Quadrant::customer].SendWhenRoom(at, kPatience);
    absl::Status sent = co_await sending;
    if (!sent.ok()) co_return Fail(sent);
    co_return sent;
  }
  Task<absl::StatusOr<Served>> AddUp(GetServed request) {
    Served sum = served_;
    std::vector<Channel<Call<GetServed, Served>>> channels;
    for (const Ref<Quadrant>& part : parts_) channels.push_back(part[&Quadrant::served]);
    auto asked = AskAll(channels, request, kPatience);
    auto all = All(asked);
    std::vector<absl::StatusOr<Served>> answers = co_await all;
    for (const absl::StatusOr<Served>& part : answers) {
      if (!part.ok()) co_return part.status();
      sum.customers += part->customers;
      sum.facilities += part->facilities;
    }
    co_return sum;
  }

  const Point middle_;
  const double half_;
  const int depth_;
  std::vector<Point> facilities_;
  double cost_ = 0;
  Served served_;
  std::array<Ref<Quadrant>, 4> parts_;
  Behavior serving_{"serving", On(customer, &Quadrant::Serve),
                    On(served, [this](const GetServed&) { return served_; })};
  Behavior divided_{"divided", On(customer, &Quadrant::PassOn), On(served, &Quadrant::AddUp)};
};

class FacilityLocation final : public Program {
 public:
  explicit FacilityLocation(int64_t customers) : customers_(customers) {}
  StartResult Start() override { return SendCustomers(); }

 private:
  Task<StartResult> SendCustomers() {
    const Point middle{kSide / 2, kSide / 2};
    const Ref<Quadrant> square = context().Spawn<Quadrant>(middle, kSide / 2, 0, std::vector<Point>{middle});
    for (int64_t i = 0; i < customers_; ++i) {
      const double x = static_cast<double>(random_.Next()) / 65536 * kSide;
      const double y = static_cast<double>(random_.Next()) / 65536 * kSide;
      auto sending = square[&Quadrant::customer].SendWhenRoom(Point{x, y}, kPatience);
      absl::Status sent = co_await sending;
      if (!sent.ok()) co_return sent;
    }
    auto asked = square[&Quadrant::served].Ask(GetServed(), kPatience);
    absl::StatusOr<Served> served = co_await asked;
    if (!served.ok()) co_return served.status();
    co_return Done(Checked(absl::StrCat(served->customers, " customers, ", served->facilities, " facilities opened"),
                           served->customers == customers_ && (served->facilities > 1 || customers_ < 100)));
  }

  const int64_t customers_;
  Random random_{123456};
};

}  // namespace

std::unique_ptr<Actor> MakeFacilityLocation(int64_t customers) { return std::make_unique<FacilityLocation>(customers); }

}  // namespace understudy::savina
