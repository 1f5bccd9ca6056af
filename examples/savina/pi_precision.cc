// Pi to many digits: a master hands out the terms of the formula of Bailey, Borwein and Plouffe to 20 workers, ten at a
// time to each, and adds the results in the order in which they come.
// Oracle: Machin's formula, computed without actors, gives the same digits.
#include "absl/strings/str_cat.h"
#include "understudy/examples/savina/programs.h"

namespace understudy::savina {
namespace {

constexpr int kWorkers = 20;
constexpr int kTermsAtATime = 10;

// A number in base 2^32: its whole part, then the digits of its fraction.
using Number = std::vector<uint32_t>;

// Returns 2^-exponent.
Number PowerOfTwo(size_t exponent, size_t size) {
  Number power(size);
  const size_t place = (exponent + 31) / 32;
  if (place < size) power[place] = 1U << (32 * place - exponent);
  return power;
}
void Divide(Number& number, uint64_t divisor) {
  uint64_t rest = 0;
  for (uint32_t& digit : number) {
    rest = rest << 32 | digit;
    digit = static_cast<uint32_t>(rest / divisor);
    rest %= divisor;
  }
}
void AddTimes(Number& sum, int64_t factor, const Number& addend) {
  int64_t carry = 0;
  for (size_t i = sum.size(); i-- > 0; carry >>= 32) {
    carry += int64_t{sum[i]} + factor * int64_t{addend[i]};
    sum[i] = static_cast<uint32_t>(carry);
  }
}
std::string Decimal(Number number, int64_t digits) {
  std::string text;
  for (int64_t i = 0; i <= digits; ++i) {
    text.push_back(static_cast<char>('0' + number[0]));
    uint64_t carry = number[0] = 0;
    for (size_t place = number.size(); place-- > 0; carry >>= 32) {
      carry += uint64_t{number[place]} * 10;
      number[place] = static_cast<uint32_t>(carry);
    }
  }
  return text;
}
Number Term(size_t term, size_t size) {
  Number sum(size);
  for (const auto& [factor, offset] : {std::pair(4, 1U), std::pair(-2, 4U), std::pair(-1, 5U), std::pair(-1, 6U)}) {
    Number part = PowerOfTwo(4 * term, size);
    Divide(part, 8 * term + offset);
    AddTimes(sum, factor, part);
  }
  return sum;
}
// 16 arctan(1/5) - 4 arctan(1/239)
Number Machin(size_t size) {
  Number sum(size);
  for (const auto& [factor, divisor] : {std::pair(16, 5U), std::pair(-4, 239U)}) {
    Number power = PowerOfTwo(0, size);
    Divide(power, divisor);
    for (uint64_t odd = 1; power != Number(size); odd += 2) {
      Number part = power;
      Divide(part, odd);
      AddTimes(sum, odd % 4 == 1 ? factor : -factor, part);
      Divide(power, divisor * divisor);
    }
  }
  return sum;
}

struct Computed {
  size_t worker = 0;
  Number term;
};

class Worker final : public Actor {
 public:
  Mailbox<"term", size_t> term{this};

  Worker(size_t number, size_t size, Channel<Computed> computed) : number_(number), size_(size), computed_(computed) {}
  StartResult Start() override { return working_; }

 private:
  void Compute(size_t which) { computed_.Tell({number_, Term(which, size_)}); }

  const size_t number_;
  const size_t size_;
  const Channel<Computed> computed_;
  Behavior working_{"working", On(term, &Worker::Compute)};
};

class PiPrecision final : public Program {
 public:
  Mailbox<"computed", Computed> computed{this};

  explicit PiPrecision(int64_t digits)
      : digits_(digits), sum_(static_cast<size_t>(digits * 3322 / 32000 + 4)), terms_(8 * sum_.size()) {}

  StartResult Start() override {
    for (size_t i = 0; i < kWorkers; ++i) {
      workers_.push_back(context().Spawn<Worker>(i, sum_.size(), context().ChannelTo(computed)));
      for (int term = 0; term < kTermsAtATime; ++term) GiveTerm(i);
    }
    return adding_;
  }

 private:
  void GiveTerm(size_t worker) {
    if (given_ < terms_) workers_[worker][&Worker::term].Tell(given_++);
  }
  Behavior Add(const Computed& given) {
    GiveTerm(given.worker);
    AddTimes(sum_, 1, given.term);
    if (++added_ < terms_) return adding_;
    const std::string digits = Decimal(sum_, digits_);
    return Done(Checked(absl::StrCat(digits_, " digits of pi, from ", digits.substr(0, 10)),
                        digits == Decimal(Machin(sum_.size()), digits_)));
  }

  const int64_t digits_;
  Number sum_;
  const size_t terms_;
  size_t given_ = 0;
  size_t added_ = 0;
  std::vector<Ref<Worker>> workers_;
  Behavior adding_{"adding", On(computed, &PiPrecision::Add)};
};

}  // namespace

std::unique_ptr<Actor> MakePiPrecision(int64_t digits) { return std::make_unique<PiPrecision>(digits); }

}  // namespace understudy::savina
