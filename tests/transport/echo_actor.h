// An actor for tests between nodes, which answers, waits, fails and dies when the test tells it to.
#ifndef UNDERSTUDY_TESTS_TRANSPORT_ECHO_ACTOR_H_
#define UNDERSTUDY_TESTS_TRANSPORT_ECHO_ACTOR_H_

#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
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

namespace understudy {

class EchoRef;

class EchoActor : public Actor {
 public:
  using Ref = EchoRef;
  using Text = google::protobuf::StringValue;
  static constexpr absl::string_view kService = "understudy.test.Echo";
  static constexpr int kOnlyStop = -1000;  // for `die`: SIGSTOP, and the connection stays

 protected:
  Mailbox<"Say", Call<Text, Text>> say{this};
  Mailbox<"Fail", Text> fail{this};
  Mailbox<"Die", google::protobuf::Int32Value> die{this};
  friend class EchoRef;
};

class EchoRef : public Ref<EchoActor> {
 public:
  using Ref<EchoActor>::Ref;
  Channel<Call<EchoActor::Text, EchoActor::Text>> say() const { return (*this)[&EchoActor::say]; }
  // The actor fails with that text.
  Channel<EchoActor::Text> fail() const { return (*this)[&EchoActor::fail]; }
  // The process exits with that code; gets that signal, when it is negative. For
  // SIGSTOP it cuts the connection to its parent first.
  Channel<google::protobuf::Int32Value> die() const { return (*this)[&EchoActor::die]; }
  static std::vector<MailboxSignature> Mailboxes() {
    return {SignatureOf(&EchoActor::say), SignatureOf(&EchoActor::fail), SignatureOf(&EchoActor::die)};
  }
};

class Echo final : public EchoActor {
 public:
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

#endif  // UNDERSTUDY_TESTS_TRANSPORT_ECHO_ACTOR_H_
