// Trapezoidal approximation: 100 workers integrate a part of [1, 5] each.
// Oracle: the integral is 0.271080751953, within the error that the number of pieces allows.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "understudy/actors/channel.h"
#include "understudy/actors/pending_group.h"
#include "understudy/examples/savina/programs.h"

namespace understudy::savina {
namespace {

constexpr int64_t kWorkers = 100;
constexpr double kFrom = 1;
constexpr double kTo = 5;
constexpr double kIntegral = 0.271080751953;

struct Part {
  double from = 0;
  int64_t pieces = 0;
  double width = 0;  // of a piece
};

double ValueAt(double x) { return std::sin(std::pow(x, 3) - 1) / (x + 1) * std::sqrt(1 + std::exp(std::sqrt(2 * x))); }

class Worker final : public Actor {
 public:
  Mailbox<"integrate", Call<Part, double>> integrate{this};

  StartResult Start() override { return working_; }

 private:
  double Integrate(const Part& part) {
    double sum = 0;
    for (int64_t i = 0; i < part.pieces; ++i) {
      const double left = part.from + static_cast<double>(i) * part.width;
      sum += (ValueAt(left) + ValueAt(left + part.width)) / 2 * part.width;
    }
    return sum;
  }

  Behavior working_{"working", On(integrate, &Worker::Integrate)};
};

class Trapezoid final : public Program {
 public:
  explicit Trapezoid(int64_t pieces) : pieces_(pieces) {}
  StartResult Start() override { return Integrate(); }

 private:
  Task<StartResult> Integrate() {
    const double width = (kTo - kFrom) / static_cast<double>(pieces_);
    std::vector<Pending<double>> asked;
    for (int64_t i = 0; i < kWorkers; ++i) {
      const int64_t first = pieces_ * i / kWorkers;
      const Part part{.from = kFrom + static_cast<double>(first) * width,
                      .pieces = pieces_ * (i + 1) / kWorkers - first,
                      .width = width};
      asked.push_back(context().Spawn<Worker>()[&Worker::integrate].Ask(part, kPatience));
    }
    auto all = All(asked);
    std::vector<absl::StatusOr<double>> parts = co_await all;
    double integral = 0;
    for (const absl::StatusOr<double>& part : parts) integral += part.value_or(NAN);
    const double error_max = 2 * width * width + 1e-9;
    co_return Done(Checked(absl::StrCat("integral ", integral), std::abs(integral - kIntegral) < error_max));
  }

  const int64_t pieces_;
};

}  // namespace

std::unique_ptr<Actor> MakeTrapezoid(int64_t pieces) { return std::make_unique<Trapezoid>(pieces); }

}  // namespace understudy::savina
