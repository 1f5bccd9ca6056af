// Successive over-relaxation: each point of a grid is an actor. A hundred times it computes its value from the values
// of its four neighbours; in each round the red points of the chessboard come first, then the black ones. A point has a
// mailbox for each neighbour, which is closed once that neighbour's value of the round has come.
// Oracle: each value is exactly the one that a loop without actors computes.
#include <algorithm>
#include <array>

#include "absl/types/optional.h"
#include "understudy/examples/savina/programs.h"

namespace understudy::savina {
namespace {

constexpr int kIterations = 100;
constexpr double kOmega = 1.25;
constexpr size_t kSides = 4;

double Relaxed(double value, const std::array<double, kSides>& sides) {
  return (1 - kOmega) * value + kOmega / 4 * (sides[0] + sides[1] + sides[2] + sides[3]);
}

struct Value {
  size_t point = 0;
  double value = 0;
};
// The mailbox of the neighbour at each side; nothing at the border, whose value is 0.
using Neighbours = std::array<absl::optional<Channel<double>>, kSides>;

class Point final : public Actor {
 public:
  Mailbox<"meet", Neighbours> meet{this};
  MailboxArray<"side", double> side{this, kSides};

  Point(size_t number, double value, bool is_red, Channel<Value> computed)
      : number_(number), value_(value), is_red_(is_red), computed_(computed) {}
  StartResult Start() override { return alone_; }

 private:
  Behavior Meet(const Neighbours& neighbours) {
    neighbours_ = neighbours;
    Forget();
    if (!is_red_) SendValue();
    return relaxing_;
  }
  bool IsMissing(size_t at) const { return is_missing_[at]; }
  Behavior Take(double value, size_t at) {
    sides_[at] = value;
    is_missing_[at] = false;
    if (--missing_ > 0) return relaxing_;
    value_ = Relaxed(value_, sides_);
    Forget();
    if (++iteration_ < kIterations || is_red_) SendValue();
    if (iteration_ == kIterations) {
      computed_.Tell({number_, value_});
      context().Stop();
    }
    return relaxing_;
  }
  void Forget() {
    for (size_t i = 0; i < kSides; ++i) {
      is_missing_[i] = neighbours_[i].has_value();
      missing_ += is_missing_[i] ? 1 : 0;
    }
  }
  void SendValue() {
    for (const absl::optional<Channel<double>>& neighbour : neighbours_) {
      if (neighbour) neighbour->Tell(value_);
    }
  }

  const size_t number_;
  double value_;
  const bool is_red_;
  const Channel<Value> computed_;
  Neighbours neighbours_;
  std::array<double, kSides> sides_{};
  std::array<bool, kSides> is_missing_{};
  int missing_ = 0;
  int iteration_ = 0;
  Behavior alone_{"alone", On(meet, &Point::Meet)};
  Behavior relaxing_{"relaxing", On(side, &Point::Take).When(&Point::IsMissing)};
};

class OverRelaxation final : public Program {
 public:
  Mailbox<"computed", Value> computed;

  // A single point would have no neighbour to wait for.
  explicit OverRelaxation(int64_t width)
      : computed(this, {.capacity_messages = std::max<int64_t>(4, width * width)}),
        width_(static_cast<size_t>(std::max<int64_t>(2, width))) {}

  StartResult Start() override {
    std::vector<Ref<Point>> points;
    for (size_t i = 0; i < width_ * width_; ++i) {
      values_.push_back(static_cast<double>(random_.Next()) * 1e-6);
      points.push_back(context().Spawn<Point>(i, values_.back(), IsRed(i), context().ChannelTo(computed)));
    }
    for (size_t i = 0; i < points.size(); ++i) {
      Neighbours neighbours;
      for (size_t at = 0; at < kSides; ++at) {
        // A value that goes to the right comes from the left.
        if (const absl::optional<size_t> other = Beside(i, at))
          neighbours[at] = points[*other].At(&Point::side, at ^ 1);
      }
      points[i][&Point::meet].Tell(neighbours);
    }
    return waiting_;
  }

 private:
  bool IsRed(size_t point) const { return (point / width_ + point % width_) % 2 == 0; }
  absl::optional<size_t> Beside(size_t point, size_t at) const {
    const size_t row = point / width_, column = point % width_;
    if (at == 0) return column > 0 ? absl::make_optional(point - 1) : absl::nullopt;
    if (at == 1) return column + 1 < width_ ? absl::make_optional(point + 1) : absl::nullopt;
    if (at == 2) return row > 0 ? absl::make_optional(point - width_) : absl::nullopt;
    return row + 1 < width_ ? absl::make_optional(point + width_) : absl::nullopt;
  }
  Behavior Collect(const Value& value) {
    if (collected_ == 0) RelaxInOneLoop();
    if (values_[value.point] == value.value) ++right_;
    if (++collected_ < values_.size()) return waiting_;
    return Done(Checked("points", right_, static_cast<int64_t>(values_.size())));
  }
  void RelaxInOneLoop() {
    for (int half = 0; half < 2 * kIterations; ++half) {
      for (size_t i = 0; i < values_.size(); ++i) {
        if (IsRed(i) != (half % 2 == 0)) continue;
        std::array<double, kSides> sides{};
        for (size_t at = 0; at < kSides; ++at) {
          if (const absl::optional<size_t> other = Beside(i, at)) sides[at] = values_[*other];
        }
        values_[i] = Relaxed(values_[i], sides);
      }
    }
  }

  const size_t width_;
  Random random_;
  std::vector<double> values_;
  size_t collected_ = 0;
  int64_t right_ = 0;
  Behavior waiting_{"waiting", On(computed, &OverRelaxation::Collect)};
};

}  // namespace

std::unique_ptr<Actor> MakeOverRelaxation(int64_t width) { return std::make_unique<OverRelaxation>(width); }

}  // namespace understudy::savina
