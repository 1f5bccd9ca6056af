// Tally: writes down the numbers that its senders tell and ask it, and says whether each sender's numbers came complete
// and in order.
//
// A number is lane * kLane + n, where a lane is one sender and n counts from 0.
#ifndef UNDERSTUDY_TESTS_TRANSPORT_TRIALS_TALLY_ACTOR_H_
#define UNDERSTUDY_TESTS_TRANSPORT_TRIALS_TALLY_ACTOR_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/wrappers.pb.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/channel.h"
#include "understudy/actors/mailbox.h"
#include "understudy/actors/mailbox_signature.h"
#include "understudy/actors/message.h"
#include "understudy/actors/ref.h"
#include "understudy/actors/registry.h"

namespace understudy::testing {

class TallyRef;

class TallyActor : public Actor {
 public:
  using Ref = TallyRef;
  using Number = google::protobuf::Int64Value;
  using Text = google::protobuf::StringValue;
  using Bytes = google::protobuf::BytesValue;
  static constexpr absl::string_view kService = "understudy.test.Tally";
  static constexpr int64_t kLane = 1'000'000;

 protected:
  Mailbox<"Tell", Number> tell{this};
  Mailbox<"Ask", Call<Number, Number>> ask{this};
  Mailbox<"Load", Bytes> load{this, {.capacity_messages = 100}};
  // Whether the numbers of that lane are 0, 1, 2, …: "2000 in order", "after 7 came 9".
  Mailbox<"Report", Call<Number, Text>> report{this};
  // What its process says of itself, as Tally was told when it was made.
  Mailbox<"Status", Call<Text, Text>> status{this};
  // No behaviour of Tally opens it.
  Mailbox<"Shut", Bytes> shut{this};
  friend class TallyRef;
};

class TallyRef : public Ref<TallyActor> {
 public:
  using Ref<TallyActor>::Ref;
  Channel<TallyActor::Number> tell() const { return (*this)[&TallyActor::tell]; }
  Channel<Call<TallyActor::Number, TallyActor::Number>> ask() const { return (*this)[&TallyActor::ask]; }
  Channel<TallyActor::Bytes> load() const { return (*this)[&TallyActor::load]; }
  Channel<Call<TallyActor::Number, TallyActor::Text>> report() const { return (*this)[&TallyActor::report]; }
  Channel<Call<TallyActor::Text, TallyActor::Text>> status() const { return (*this)[&TallyActor::status]; }
  static std::vector<MailboxSignature> Mailboxes() {
    return {SignatureOf(&TallyActor::tell),   SignatureOf(&TallyActor::ask),    SignatureOf(&TallyActor::load),
            SignatureOf(&TallyActor::report), SignatureOf(&TallyActor::status), SignatureOf(&TallyActor::shut)};
  }
};

class Tally final : public TallyActor {
 public:
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
};

}  // namespace understudy::testing

#endif  // UNDERSTUDY_TESTS_TRANSPORT_TRIALS_TALLY_ACTOR_H_
