// SortingProgram: both ends of a pipeline that sorts.
#ifndef UNDERSTUDY_EXAMPLES_SAVINA_SORTING_H_
#define UNDERSTUDY_EXAMPLES_SAVINA_SORTING_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "understudy/examples/savina/savina.h"

namespace understudy::savina {

// Feeds random numbers into the pipeline and takes them from its end.
// Oracle: as many numbers arrive, in order, with the same sum.
class SortingProgram : public Program {
 public:
  Mailbox<"begin", Channel<int64_t>> begin{this};
  Mailbox<"sorted", int64_t> sorted{this};

 protected:
  explicit SortingProgram(int64_t numbers) : numbers_(numbers) {}

  int64_t numbers() const { return numbers_; }
  // Spawns the pipeline's actors, of which the last sends to `last`. Returns the mailbox of the first.
  virtual Channel<int64_t> SpawnPipeline(Channel<int64_t> last) = 0;

 private:
  StartResult Start() override {
    context().Tell(begin, SpawnPipeline(context().ChannelTo(sorted)));
    return working_;
  }

  Task<absl::Status> Feed(Channel<int64_t> first) {
    for (int64_t i = 0; i < numbers_; ++i) {
      const int64_t number = random_.Next();
      sum_fed_ += number;
      auto sending = first.SendWhenRoom(number, kPatience);
      absl::Status sent = co_await sending;
      if (!sent.ok()) co_return Fail(sent);
    }
    co_return absl::OkStatus();
  }
  Behavior Take(int64_t number) {
    if (number < last_) return Done(absl::InternalError(absl::StrCat(number, " came after ", last_)));
    last_ = number;
    sum_ += number;
    if (++taken_ < numbers_) return working_;
    return Done(Checked(absl::StrCat(taken_, " numbers in order, sum ", sum_), sum_ == sum_fed_));
  }

  const int64_t numbers_;
  Random random_{2048};
  int64_t sum_fed_ = 0;
  int64_t taken_ = 0;
  int64_t last_ = 0;
  int64_t sum_ = 0;
  // Numbers come while Feed still waits for room.
  Behavior working_{"working", On(begin, &SortingProgram::Feed).Interleaved(), On(sorted, &SortingProgram::Take)};
};

}  // namespace understudy::savina

#endif  // UNDERSTUDY_EXAMPLES_SAVINA_SORTING_H_
