// Echo: an actor for tests between nodes, which answers, fails and ends its process when the test says so (echo.proto).
#ifndef UNDERSTUDY_TESTS_TRANSPORT_ECHO_ECHO_ACTOR_H_
#define UNDERSTUDY_TESTS_TRANSPORT_ECHO_ECHO_ACTOR_H_

#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/wrappers.pb.h"
#include "understudy/actors/actor.h"
#include "understudy/tests/transport/echo/echo.actor.h"

namespace understudy {

using net_testing::EchoActor;
using net_testing::EchoRef;

class Echo final : public EchoActor {
 public:
  using Text = google::protobuf::StringValue;
  static constexpr int kOnlyStop = -1000;  // for `die`: SIGSTOP, and the connection to the parent stays

  explicit Echo(std::string greeting) : greeting_(std::move(greeting)) {}
  StartResult Start() override { return echoing_; }

 private:
  Text Say(const Text& text) {
    Text answer;
    answer.set_value(absl::StrCat(greeting_, " ", text.value()));
    return answer;
  }
  absl::Status FailAs(const Text& text) { return Fail(absl::DataLossError(text.value())); }
  void DieBy(const google::protobuf::Int32Value& how) {
    if (how.value() >= 0) _exit(how.value());
    if (how.value() == kOnlyStop) raise(SIGSTOP);
    if (how.value() == -SIGABRT) abort();
    if (how.value() == -SIGSTOP) shutdown(3, SHUT_RDWR);
    kill(getpid(), -how.value());
    pause();
  }

  const std::string greeting_;
  Behavior echoing_{"echoing", On(say, &Echo::Say), On(fail, &Echo::FailAs), On(die, &Echo::DieBy)};
};

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_TRANSPORT_ECHO_ECHO_ACTOR_H_
