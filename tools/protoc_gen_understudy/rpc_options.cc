#include "understudy/tools/protoc_gen_understudy/rpc_options.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "understudy/proto/options.pb.h"
#include "understudy/tools/protoc_gen_understudy/limits.h"

namespace understudy::generator {
namespace {

// A finite `duration` as C++, in the largest unit that is exact.
std::string CppDuration(absl::Duration duration) {
  struct Unit {
    const char* function;
    absl::Duration unit;
  };
  const Unit units[] = {{"Hours", absl::Hours(1)},
                        {"Minutes", absl::Minutes(1)},
                        {"Seconds", absl::Seconds(1)},
                        {"Milliseconds", absl::Milliseconds(1)},
                        {"Microseconds", absl::Microseconds(1)}};
  for (const Unit& unit : units) {
    absl::Duration rest;
    const int64_t count = absl::IDivDuration(duration, unit.unit, &rest);
    if (rest == absl::ZeroDuration()) return absl::StrCat("::absl::", unit.function, "(", count, ")");
  }
  return absl::StrCat("::absl::Nanoseconds(", absl::ToInt64Nanoseconds(duration), ")");
}

// The shortest difference between two times of absl::Time is a quarter of a nanosecond; the clock has nanoseconds.
bool IsTimeToLive(absl::Duration duration) {
  return duration >= absl::Nanoseconds(1) && duration < absl::InfiniteDuration() &&
         duration == absl::Trunc(duration, absl::Nanoseconds(1));
}

class OptionsReader {
 public:
  OptionsReader(const google::protobuf::MethodDescriptor& rpc, Complaints& complaints)
      : rpc_(rpc), options_(rpc.options()), complaints_(complaints) {}

  std::vector<std::string> Read() {
    ReadCapacities();
    ReadOverflow();
    ReadTimeToLive();
    ReadOnRestart();
    return std::move(fields_);
  }

 private:
  void ReadCapacities() {
    if (options_.HasExtension(options::capacity_messages)) {
      const int64_t messages = options_.GetExtension(options::capacity_messages);
      if (messages < 1 || messages > kCapacityMessagesMax) {
        Complain(options::capacity_messages.number(),
                 absl::StrCat("capacity_messages is ", messages, ": expected 1 to ", kCapacityMessagesMax));
      }
      fields_.push_back(absl::StrCat(".capacity_messages = ", messages));
    }
    if (options_.HasExtension(options::capacity_bytes)) {
      if (rpc_.client_streaming()) {
        Complain(options::capacity_bytes.number(),
                 "capacity_bytes is for requests that wait in the mailbox: the items of a stream wait in none");
      }
      const uint64_t bytes = options_.GetExtension(options::capacity_bytes);
      if (bytes < 1) Complain(options::capacity_bytes.number(), "capacity_bytes is 0: expected at least 1");
      fields_.push_back(absl::StrCat(".capacity_bytes = size_t{", bytes, "}"));
    }
  }

  void ReadOverflow() {
    switch (options_.GetExtension(options::overflow)) {
      case options::REFUSE:
        break;
      case options::DROP_OLDEST:
        fields_.push_back(".overflow = ::understudy::Overflow::kDropOldest");
        break;
      case options::FAIL_ACTOR:
        fields_.push_back(".overflow = ::understudy::Overflow::kFailActor");
        break;
    }
  }

  void ReadTimeToLive() {
    if (!options_.HasExtension(options::time_to_live)) return;
    const std::string text = options_.GetExtension(options::time_to_live);
    absl::Duration duration;
    if (!absl::ParseDuration(text, &duration) || !IsTimeToLive(duration)) {
      Complain(
          options::time_to_live.number(),
          absl::StrCat("time_to_live is '", text, "': expected a positive number with a unit, such as 1h30m or 250ms"));
      return;
    }
    fields_.push_back(absl::StrCat(".time_to_live = ", CppDuration(duration)));
  }

  void ReadOnRestart() {
    if (!options_.HasExtension(options::on_restart)) return;
    if (!options_.GetExtension(options::cast)) {
      Complain(options::on_restart.number(), "on_restart is for casts: a call is answered when its actor ends");
    }
    if (options_.GetExtension(options::on_restart) == options::KEEP) {
      fields_.push_back(".on_restart = ::understudy::OnRestart::kKeep");
    }
  }

  void Complain(int option, absl::string_view what) {
    complaints_.AddAtOption(rpc_, option, absl::StrCat("rpc ", NameOf(rpc_), ": ", what));
  }

  const google::protobuf::MethodDescriptor& rpc_;
  const google::protobuf::MethodOptions& options_;
  Complaints& complaints_;
  std::vector<std::string> fields_;
};

}  // namespace

std::string NameOf(const google::protobuf::MethodDescriptor& rpc) {
  return absl::StrCat(rpc.service()->name(), ".", rpc.name());
}

std::vector<std::string> ReadMailboxOptions(const google::protobuf::MethodDescriptor& rpc, Complaints& complaints) {
  return OptionsReader(rpc, complaints).Read();
}

}  // namespace understudy::generator
