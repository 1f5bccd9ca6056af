// A counter and a watcher of it, for the tests of the classes that are generated from counter.proto.
#ifndef UNDERSTUDY_TESTS_TOOLS_PROTOC_GEN_UNDERSTUDY_COUNTERS_H_
#define UNDERSTUDY_TESTS_TOOLS_PROTOC_GEN_UNDERSTUDY_COUNTERS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "google/protobuf/empty.pb.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/stream.h"
#include "understudy/actors/stream_writer.h"
#include "understudy/actors/upload.h"
#include "understudy/tests/tools/protoc_gen_understudy/counter.actor.h"
#include "understudy/tests/tools/protoc_gen_understudy/counter.pb.h"

namespace counter {

class Counter : public CounterActor {
 protected:
  understudy::StartResult Start() override { return counting_; }

  TotalReply Now() const {
    TotalReply reply;
    reply.set_total(total_);
    return reply;
  }
  void Add(const AddRequest& request) {
    total_ += request.number();
    for (const WatcherRef& watcher : watchers_) watcher.changed().Tell(Now());
  }
  google::protobuf::Empty Flush(const FlushRequest&) { return {}; }
  absl::Status AddWatcher(const WatchRequest& request) {
    absl::StatusOr<WatcherRef> watcher = WatcherRef::FromProto(request.watcher(), context().Self());
    if (!watcher.ok()) return watcher.status();
    watchers_.push_back(*watcher);
    watcher->changed().Tell(Now());
    return absl::OkStatus();
  }
  TotalReply Total(const TotalRequest&) { return Now(); }

  int64_t total_ = 0;
  std::vector<WatcherRef> watchers_;
  understudy::Behavior counting_{"counting", On(add, &Counter::Add), On(total, &Counter::Total),
                                 On(flush, &Counter::Flush), On(watch, &Counter::AddWatcher)};
};

class Crier final : public CrierActor {
  understudy::StartResult Start() override { return crying_; }

  understudy::Task<> Count(const CountRequest& request, understudy::StreamWriter<TotalReply> writer) {
    for (int64_t i = 1; i <= request.up_to(); ++i) {
      TotalReply total;
      total.set_total(i);
      absl::Status written = co_await writer.Write(std::move(total), absl::Minutes(1));
      if (!written.ok()) co_return;
    }
    writer.Finish(absl::OkStatus());
  }

  understudy::Behavior crying_{"crying", On(count, &Crier::Count).Interleaved()};
};

// Reads the numbers that a crier streams, up to 100, into `heard`, and the status of the stream's end into `end`.
class Listener final : public understudy::Actor {
 public:
  Listener(CrierRef crier, std::vector<int64_t>* heard, absl::Status* end)
      : crier_(crier), heard_(*heard), end_(*end) {}

 private:
  understudy::StartResult Start() override { return Listen(); }

  understudy::Task<> Listen() {
    CountRequest request;
    request.set_up_to(100);
    understudy::Stream<TotalReply> totals = crier_.count().Ask(request);
    for (;;) {
      absl::StatusOr<absl::optional<TotalReply>> total = co_await totals.Next(absl::Minutes(1));
      end_ = total.status();
      if (!total.ok() || !total->has_value()) co_return;
      heard_.push_back((*total)->total());
    }
  }

  const CrierRef crier_;
  std::vector<int64_t>& heard_;
  absl::Status& end_;
};

class Summer final : public SummerActor {
  understudy::StartResult Start() override { return summing_; }

  understudy::Task<absl::StatusOr<TotalReply>> Sum(understudy::Stream<AddRequest> numbers) {
    TotalReply sum;
    for (;;) {
      absl::StatusOr<absl::optional<AddRequest>> number = co_await numbers.Next(absl::Minutes(1));
      if (!number.ok()) co_return number.status();
      if (!number->has_value()) co_return sum;
      sum.set_total(sum.total() + (*number)->number());
    }
  }
  understudy::Task<> Follow(understudy::Stream<AddRequest> numbers, understudy::StreamWriter<TotalReply> sums) {
    TotalReply sum;
    for (;;) {
      absl::StatusOr<absl::optional<AddRequest>> number = co_await numbers.Next(absl::Minutes(1));
      if (!number.ok() || !number->has_value()) {
        sums.Finish(number.status());
        co_return;
      }
      sum.set_total(sum.total() + (*number)->number());
      absl::Status written = co_await sums.Write(sum, absl::Minutes(1));
      if (!written.ok()) co_return;
    }
  }

  understudy::Behavior summing_{"summing", On(sum, &Summer::Sum).Interleaved(),
                                On(follow, &Summer::Follow).Interleaved()};
};

// Lets the summer add up the numbers up to 100, first with Sum and then with Follow. `heard` gets the reply of Sum, and
// after it the sums of Follow.
class Teller final : public understudy::Actor {
 public:
  Teller(SummerRef summer, std::vector<int64_t>* heard, absl::Status* end)
      : summer_(summer), heard_(*heard), end_(*end) {}

 private:
  understudy::StartResult Start() override { return Tell(); }

  static AddRequest Of(int64_t number) {
    AddRequest request;
    request.set_number(number);
    return request;
  }
  understudy::Task<> Tell() {
    auto [numbers, sum] = summer_.sum().Open(absl::Minutes(1));
    for (int64_t i = 1; i <= 100; ++i) {
      end_ = co_await numbers.Write(Of(i), absl::Minutes(1));
      if (!end_.ok()) co_return;
    }
    numbers.Finish(absl::OkStatus());
    absl::StatusOr<TotalReply> total = co_await sum;
    end_ = total.status();
    if (!end_.ok()) co_return;
    heard_.push_back(total->total());
    auto [more, sums] = summer_.follow().Open();
    for (int64_t i = 1; i <= 100; ++i) {
      end_ = co_await more.Write(Of(i), absl::Minutes(1));
      if (!end_.ok()) co_return;
      absl::StatusOr<absl::optional<TotalReply>> next = co_await sums.Next(absl::Minutes(1));
      if (next.ok() && next->has_value()) heard_.push_back((*next)->total());
    }
    more.Finish(absl::OkStatus());
    absl::StatusOr<absl::optional<TotalReply>> last = co_await sums.Next(absl::Minutes(1));
    end_ = last.status();
  }

  const SummerRef summer_;
  std::vector<int64_t>& heard_;
  absl::Status& end_;
};

class Watcher final : public WatcherActor {
 public:
  explicit Watcher(std::vector<int64_t>* seen) : seen_(*seen) {}

 private:
  understudy::StartResult Start() override { return watching_; }

  std::vector<int64_t>& seen_;
  understudy::Behavior watching_{"watching",
                                 On(changed, [this](const TotalReply& reply) { seen_.push_back(reply.total()); })};
};

inline AddRequest Number(int64_t number) {
  AddRequest request;
  request.set_number(number);
  return request;
}

inline WatchRequest WatchBy(const WatcherRef& watcher) {
  WatchRequest request;
  *request.mutable_watcher() = watcher.ToProto();
  return request;
}

}  // namespace counter

#endif  // UNDERSTUDY_TESTS_TOOLS_PROTOC_GEN_UNDERSTUDY_COUNTERS_H_
