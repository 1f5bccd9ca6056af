// Sieve of Eratosthenes: a pipeline that grows. Each actor has some of the primes, passes on
// the numbers that none of them divides, and starts the next actor when it has its share.
// Oracle: the number of primes.
#include <algorithm>

#include "absl/types/optional.h"
#include "understudy/examples/savina/programs.h"

namespace understudy::savina {
namespace {

class Sieve final : public Actor {
 public:
  Mailbox<"number", int64_t> number{this};
  Mailbox<"end", int64_t> end{this};  // no more numbers; the primes that the actors before have

  Sieve(size_t primes_max, Channel<int64_t> total) : primes_max_(primes_max), total_(total) {}
  StartResult Start() override { return sifting_; }

 private:
  Task<absl::Status> Sift(int64_t candidate) {
    const auto divides = [candidate](int64_t prime) { return candidate % prime == 0; };
    if (std::any_of(primes_.begin(), primes_.end(), divides)) co_return absl::OkStatus();
    if (primes_.size() < primes_max_) {
      primes_.push_back(candidate);
      co_return absl::OkStatus();
    }
    if (!next_) next_ = context().Spawn<Sieve>(primes_max_, total_);
    auto sending = (*next_)[&Sieve::number].SendWhenRoom(candidate, kPatience);
    absl::Status sent = co_await sending;
    if (!sent.ok()) co_return Fail(sent);
    co_return sent;
  }
  void End(int64_t primes_before) {
    const int64_t primes = primes_before + static_cast<int64_t>(primes_.size());
    next_ ? (*next_)[&Sieve::end].Tell(primes) : total_.Tell(primes);
  }

  const size_t primes_max_;
  const Channel<int64_t> total_;
  std::vector<int64_t> primes_;
  absl::optional<Ref<Sieve>> next_;
  Behavior sifting_{"sifting", On(number, &Sieve::Sift), On(end, &Sieve::End)};
};

class Primes final : public Program {
 public:
  Mailbox<"total", int64_t> total{this};

  explicit Primes(int64_t below) : below_(below) {}
  StartResult Start() override { return Generate(); }

 private:
  Task<StartResult> Generate() {
    const auto share = static_cast<size_t>(std::max<int64_t>(10, below_ / 100));
    const Ref<Sieve> first = context().Spawn<Sieve>(share, context().ChannelTo(total));
    for (int64_t candidate = 2; candidate < below_; ++candidate) {
      auto sending = first[&Sieve::number].SendWhenRoom(candidate, kPatience);
      absl::Status sent = co_await sending;
      if (!sent.ok()) co_return sent;
    }
    first[&Sieve::end].Tell(0);
    co_return waiting_;
  }
  int64_t CountInOneLoop() const {
    std::vector<bool> is_composite(static_cast<size_t>(below_), false);
    int64_t primes = 0;
    for (size_t n = 2; n < is_composite.size(); ++n) {
      if (is_composite[n]) continue;
      ++primes;
      for (size_t multiple = n * n; multiple < is_composite.size(); multiple += n) is_composite[multiple] = true;
    }
    return primes;
  }

  const int64_t below_;
  Behavior waiting_{"waiting",
                    On(total, [this](int64_t primes) { return Done(Checked("primes", primes, CountInOneLoop())); })};
};

}  // namespace

std::unique_ptr<Actor> MakeSieve(int64_t below) { return std::make_unique<Primes>(below); }

}  // namespace understudy::savina
