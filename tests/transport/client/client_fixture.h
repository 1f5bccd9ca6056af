// GrpcClientTest: a system with clients of a PlainDesk, and what their tests share.
#ifndef UNDERSTUDY_TESTS_TRANSPORT_CLIENT_CLIENT_FIXTURE_H_
#define UNDERSTUDY_TESTS_TRANSPORT_CLIENT_CLIENT_FIXTURE_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/stream.h"
#include "understudy/actors/testing/kept_log.h"
#include "understudy/tests/transport/client/plain_desk.h"
#include "understudy/tests/transport/gateway/desk.actor.h"
#include "understudy/tests/transport/gateway/desk.pb.h"
#include "understudy/tests/transport/gateway/front.h"
#include "understudy/transport/client/grpc_client.h"

namespace understudy {

using DeskClient = GrpcClient<desk::DeskRef>;

// How an ask with a callback ends.
class Outcome {
 public:
  std::function<void(absl::StatusOr<desk::Text>)> Callback() const {
    return [state = state_](absl::StatusOr<desk::Text> reply) {
      state->status = reply.status();
      state->over.Notify();
    };
  }
  absl::Status Await() const {
    if (!state_->over.WaitForNotificationWithTimeout(kWithin)) return absl::UnknownError("the test got no answer");
    return state_->status;
  }

 private:
  struct State {
    absl::Notification over;
    absl::Status status;
  };
  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

inline desk::CountRequest Items(int items) {
  desk::CountRequest request;
  request.set_items(items);
  return request;
}

// The items that an actor has read from a stream.
struct Readings {
  absl::Mutex mu;
  std::vector<std::string> items ABSL_GUARDED_BY(mu);
  absl::optional<absl::Status> end ABSL_GUARDED_BY(mu);  // OK, or the error

  size_t count() {
    absl::MutexLock lock(&mu);
    return items.size();
  }
  absl::optional<absl::Status> its_end() {
    absl::MutexLock lock(&mu);
    return end;
  }
};

// Reads the stream until `most` items have come, or its end, and then stays.
class Reader final : public Actor {
 public:
  Reader(desk::DeskRef desk, desk::CountRequest request, size_t most, std::shared_ptr<Readings> readings)
      : desk_(desk), request_(std::move(request)), most_(most), readings_(std::move(readings)) {}

 private:
  StartResult Start() override { return Read(); }
  Task<> Read() {
    const Stream<desk::Text> items = desk_.count().Ask(request_);
    while (readings_->count() < most_) {
      auto next = items.Next(absl::Hours(1));
      absl::StatusOr<absl::optional<desk::Text>> item = co_await next;
      absl::MutexLock lock(&readings_->mu);
      if (!item.ok() || !item->has_value()) {
        readings_->end = item.status();
        break;
      }
      readings_->items.push_back((*item)->text());
    }
    auto received = Receive(On<StopRequest>([](const StopRequest&) {}));
    co_await received;
  }

  const desk::DeskRef desk_;
  const desk::CountRequest request_;
  const size_t most_;
  const std::shared_ptr<Readings> readings_;
};

class GrpcClientTest : public ::testing::Test {
 protected:
  // A client of `server`, unless the options have another target.
  desk::DeskRef Client(GrpcClientOptions options = {}) {
    if (options.target.empty()) options.target = server.address();
    return system.Spawn<DeskClient>(std::move(options));
  }
  absl::StatusOr<desk::Text> Echo(desk::DeskRef desk, const std::string& text, absl::Duration timeout = kWithin) {
    return system.Ask(desk.echo(), TextOf(text), timeout);
  }
  absl::Status Provoke(desk::DeskRef desk, int code, const std::string& text) {
    desk::Provocation request;
    request.set_code(code);
    request.set_text(text);
    return system.Ask(desk.provoke(), request, kWithin).status();
  }
  // Asks for `count` calls of Wait, whose outcomes are to come.
  std::vector<Outcome> Wait(desk::DeskRef desk, int count) {
    std::vector<Outcome> outcomes(static_cast<size_t>(count));
    for (const Outcome& outcome : outcomes) system.Ask(desk.wait(), TextOf(""), absl::Hours(1), outcome.Callback());
    return outcomes;
  }

  PlainDesk server;
  KeptLog log;
  ActorSystem system{{.name = "caller", .log = &log}};
};

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_TRANSPORT_CLIENT_CLIENT_FIXTURE_H_
