// Filter bank: a signal goes to eight channels. Each is a pipeline of actors: delay, filter, sampling, delay, filter. A
// joiner with a mailbox for each channel adds their k-th values. The values need no numbers: a mailbox from which the
// k-th value was taken stays closed until all k-th values have come.
// Oracle: the joiner makes as many sums as the filters let values through, and each sum is the one computed without
// actors.
#include <algorithm>
#include <array>
#include <functional>

#include "absl/types/optional.h"
#include "understudy/actors/channel.h"
#include "understudy/examples/savina/programs.h"

namespace understudy::savina {
namespace {

constexpr size_t kChannels = 8;

// Returns the value that a stage passes on, or nullopt if it passes none.
using Step = std::function<absl::optional<double>(double)>;

Step Delay(size_t length) {
  return [held = std::vector<double>(length, 0.0), place = size_t{0}](double value) mutable {
    place = (place + 1) % held.size();
    return absl::optional<double>(std::exchange(held[place], value));
  };
}
// Adds the last `length` values, weighted. Lets nothing through before it has so many.
Step Filter(size_t length, double weight) {
  return [last = std::vector<double>(), length, weight](double value) mutable {
    last.push_back(value);
    if (last.size() < length) return absl::optional<double>();
    double sum = 0;
    for (size_t i = 0; i < length; ++i) sum += last[i] * (weight + static_cast<double>(i));
    last.erase(last.begin());
    return absl::optional<double>(sum);
  };
}
Step Sample(size_t period) {
  return [count = size_t{0}, period](double value) mutable {
    return absl::optional<double>(count++ % period == 0 ? value : 0.0);
  };
}
std::vector<Step> StepsOf(size_t channel, size_t columns) {
  const auto weight = static_cast<double>(channel);
  return {Delay(columns - 1), Filter(columns, weight), Sample(columns), Delay(columns - 1), Filter(columns, -weight)};
}
double ValueAt(int64_t time) { return static_cast<double>(time % 1000); }

class Stage final : public Actor {
 public:
  Mailbox<"value", double> value{this};

  Stage(Step step, Channel<double> next) : step_(std::move(step)), next_(next) {}
  StartResult Start() override { return filtering_; }

 private:
  Task<absl::Status> Take(double taken) {
    const absl::optional<double> passed = step_(taken);
    if (!passed) co_return absl::OkStatus();
    auto sending = next_.SendWhenRoom(*passed, kPatience);
    co_return co_await sending;
  }

  Step step_;
  const Channel<double> next_;
  Behavior filtering_{"filtering", On(value, &Stage::Take)};
};

// Source and joiner.
class FilterBank final : public Program {
 public:
  Mailbox<"begin", std::vector<Channel<double>>> begin{this};
  MailboxArray<"filtered", double> filtered{this, kChannels};

  explicit FilterBank(int64_t columns)
      : columns_(std::max<int64_t>(2, columns)), values_(2 * columns_ + columns_ / 8) {}

  StartResult Start() override {
    std::vector<Channel<double>> channels;
    for (size_t channel = 0; channel < kChannels; ++channel) {
      std::vector<Step> steps = StepsOf(channel, static_cast<size_t>(columns_));
      Channel<double> next = context().ChannelTo(filtered[channel]);
      for (; !steps.empty(); steps.pop_back()) next = context().Spawn<Stage>(steps.back(), next)[&Stage::value];
      channels.push_back(next);
      expected_steps_.push_back(StepsOf(channel, static_cast<size_t>(columns_)));
    }
    context().Tell(begin, std::move(channels));
    return joining_;
  }

 private:
  Task<absl::Status> Feed(std::vector<Channel<double>> channels) {
    for (int64_t time = 0; time < values_; ++time) {
      for (const Channel<double>& channel : channels) {
        auto sending = channel.SendWhenRoom(ValueAt(time), kPatience);
        absl::Status sent = co_await sending;
        if (!sent.ok()) co_return Fail(sent);
      }
    }
    co_return absl::OkStatus();
  }
  bool IsMissing(size_t channel) const { return !row_[channel].has_value(); }
  Behavior Join(double value, size_t channel) {
    row_[channel] = value;
    if (++in_row_ < kChannels) return joining_;
    double sum = 0;
    for (absl::optional<double>& each : row_) sum += *std::exchange(each, absl::nullopt);
    in_row_ = 0;
    if (sum != NextExpected()) return Done(absl::InternalError("a sum is not that of one computed without actors"));
    const int64_t expected = values_ - 2 * (columns_ - 1);
    return ++sums_ < expected ? joining_ : Done(Checked("sums", sums_, expected));
  }
  // Runs all steps of all channels until they let a value through.
  double NextExpected() {
    double sum = 0;
    for (size_t passed = 0; passed < kChannels; ++time_) {
      for (std::vector<Step>& steps : expected_steps_) {
        absl::optional<double> value = ValueAt(time_);
        for (size_t i = 0; i < steps.size() && value; ++i) value = steps[i](*value);
        if (!value) continue;
        sum += *value;
        ++passed;
      }
    }
    return sum;
  }

  const int64_t columns_;
  const int64_t values_;
  std::array<absl::optional<double>, kChannels> row_;
  size_t in_row_ = 0;
  int64_t sums_ = 0;
  std::vector<std::vector<Step>> expected_steps_;
  int64_t time_ = 0;
  Behavior joining_{"joining", On(begin, &FilterBank::Feed).Interleaved(),
                    On(filtered, &FilterBank::Join).When(&FilterBank::IsMissing)};
};

}  // namespace

std::unique_ptr<Actor> MakeFilterBank(int64_t columns) { return std::make_unique<FilterBank>(columns); }

}  // namespace understudy::savina
