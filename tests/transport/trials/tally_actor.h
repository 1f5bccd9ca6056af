// Tally: writes down the numbers that its senders tell and ask it, and says whether each sender's numbers came complete
// and in order.
//
// A number is lane * Tally::kLane + n, where a lane is one sender and n counts from 0.
#ifndef UNDERSTUDY_TESTS_TRANSPORT_TRIALS_TALLY_ACTOR_H_
#define UNDERSTUDY_TESTS_TRANSPORT_TRIALS_TALLY_ACTOR_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "google/protobuf/wrappers.pb.h"
#include "understudy/actors/actor.h"
#include "understudy/tests/transport/trials/tally.actor.h"

namespace understudy::net_testing {

class Tally final : public TallyActor {
 public:
  using Number = google::protobuf::Int64Value;
  using Text = google::protobuf::StringValue;
  using Bytes = google::protobuf::BytesValue;
  static constexpr int64_t kLane = 1'000'000;

  explicit Tally(std::function<std::string()> tell_status = nullptr) : tell_status_(std::move(tell_status)) {}
  StartResult Start() override { return counting_; }

 private:
  struct Lane {
    int64_t next = 0;
    std::string fault;
  };
  void Count(const Number& number) {
    Lane& lane = lanes_[number.value() / kLane];
    const int64_t n = number.value() % kLane;
    if (n != lane.next && lane.fault.empty()) lane.fault = absl::StrCat("after ", lane.next - 1, " came ", n);
    lane.next = n + 1;
  }
  Number Answer(const Number& number) {
    Count(number);
    return number;
  }
  void Loaded(const Bytes&) { ++loaded_; }
  Text Report(const Number& number) {
    const Lane& lane = lanes_[number.value()];
    Text text;
    text.set_value(lane.fault.empty() ? absl::StrCat(lane.next, " in order") : lane.fault);
    if (loaded_ > 0) text.set_value(absl::StrCat(text.value(), ", ", loaded_, " loads"));
    return text;
  }

  Text Status(const Text&) {
    Text text;
    if (tell_status_ != nullptr) text.set_value(tell_status_());
    return text;
  }

  const std::function<std::string()> tell_status_;
  std::map<int64_t, Lane> lanes_;
  int64_t loaded_ = 0;
  Behavior counting_{"counting",
                     On(tell, &Tally::Count),
                     On(ask, &Tally::Answer),
                     On(load, &Tally::Loaded),
                     On(report, &Tally::Report),
                     On(status, &Tally::Status)};
  // Never entered, so `shut` stays closed. An actor needs a clause for each mailbox of its service to start.
  Behavior open_to_all_{"open to all", Drop(shut)};
};

}  // namespace understudy::net_testing

#endif  // UNDERSTUDY_TESTS_TRANSPORT_TRIALS_TALLY_ACTOR_H_
