// Logistic map: ten series x' = r x (1 - x), each an actor with a rate r of its own; another actor does the
// multiplications. A series that waits for an answer handles no other message, so the call for its last term, which is
// sent after the calls for the next terms, is also answered after them.
// Oracle: the last terms have the same sum as when the series are computed in one loop.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "understudy/actors/channel.h"
#include "understudy/actors/pending_group.h"
#include "understudy/examples/savina/programs.h"

namespace understudy::savina {
namespace {

constexpr int kSeries = 10;

struct Next {};
struct GetTerm {};

double RateOf(int series) { return 3.46 + series * 0.0025; }
double FirstTermOf(int series) { return series * 0.0025; }

class RateComputer final : public Actor {
 public:
  Mailbox<"compute", Call<double, double>> compute{this};

  explicit RateComputer(double rate) : rate_(rate) {}
  StartResult Start() override { return computing_; }

 private:
  double Compute(double term) { return rate_ * term * (1 - term); }

  const double rate_;
  Behavior computing_{"computing", On(compute, &RateComputer::Compute)};
};

class Series final : public Actor {
 public:
  Mailbox<"next", Next> next{this};
  Mailbox<"term", Call<GetTerm, double>> term{this};

  explicit Series(int number) : computer_(context().Spawn<RateComputer>(RateOf(number))), term_(FirstTermOf(number)) {}
  StartResult Start() override { return computing_; }

 private:
  Task<absl::Status> ComputeNext(Next /*request*/) {
    auto asked = computer_[&RateComputer::compute].Ask(term_, kPatience);
    absl::StatusOr<double> computed = co_await asked;
    if (!computed.ok()) co_return Fail(computed.status());
    term_ = *computed;
    co_return absl::OkStatus();
  }
  double Term(const GetTerm& /*request*/) { return term_; }

  const Ref<RateComputer> computer_;
  double term_;
  Behavior computing_{"computing", On(next, &Series::ComputeNext), On(term, &Series::Term)};
};

class LogisticMap final : public Program {
 public:
  explicit LogisticMap(int64_t terms) : terms_(terms) {}
  StartResult Start() override { return Compute(); }

 private:
  Task<StartResult> Compute() {
    std::vector<Ref<Series>> series;
    for (int number = 0; number < kSeries; ++number) series.push_back(context().Spawn<Series>(number));
    for (int64_t i = 0; i < terms_; ++i) {
      for (const Ref<Series>& each : series) {
        auto sending = each[&Series::next].SendWhenRoom(Next(), kPatience);
        absl::Status sent = co_await sending;
        if (!sent.ok()) co_return sent;
      }
    }
    std::vector<Pending<double>> asked;
    for (const Ref<Series>& each : series) asked.push_back(each[&Series::term].Ask(GetTerm(), kPatience));
    auto all = All(asked);
    std::vector<absl::StatusOr<double>> last_terms = co_await all;
    double sum = 0;
    for (const absl::StatusOr<double>& term : last_terms) sum += term.value_or(NAN);
    co_return Done(Checked(absl::StrCat("sum of the last terms: ", sum), sum == SumInOneLoop()));
  }
  double SumInOneLoop() const {
    double sum = 0;
    for (int number = 0; number < kSeries; ++number) {
      double term = FirstTermOf(number);
      for (int64_t i = 0; i < terms_; ++i) term = RateOf(number) * term * (1 - term);
      sum += term;
    }
    return sum;
  }

  const int64_t terms_;
};

}  // namespace

std::unique_ptr<Actor> MakeLogisticMap(int64_t terms) { return std::make_unique<LogisticMap>(terms); }

}  // namespace understudy::savina
