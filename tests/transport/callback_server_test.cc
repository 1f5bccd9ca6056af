// A callback gRPC server in front of an ActorSystem: no thread of gRPC waits for an actor.
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/channel_arguments.h>
#include <grpcpp/support/server_callback.h>
#include <grpcpp/support/status.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/ask_handle.h"
#include "understudy/actors/error.h"
#include "understudy/tests/build/greeting.grpc.pb.h"
#include "understudy/tests/build/greeting.pb.h"

namespace understudy {
namespace {

using tests::build::Greeter;
using tests::build::GreetReply;
using tests::build::GreetRequest;

constexpr int kCalls = 10'000;
constexpr int kCancelled = 1'000;

// Keeps all calls until it is told to answer those with even numbers.
class Keeper final : public Actor {
 public:
  Mailbox<"greet", Call<std::string, std::string>> greet{this, {.capacity_messages = kCalls}};
  Mailbox<"answer", bool> answer{this};
  explicit Keeper(absl::BlockingCounter* kept) : counter_(kept) {}
  StartResult Start() override { return keeping_; }

 private:
  void Greet(std::string name, Replier<std::string> replier) {
    kept_.emplace_back(std::move(name), std::move(replier));
    counter_->DecrementCount();
  }
  void Answer(bool) {
    for (auto& [name, replier] : kept_) {
      int number = 0;
      if (absl::SimpleAtoi(name, &number) && number >= kCancelled && number % 2 == 0) replier.Reply("hello " + name);
    }
  }
  absl::BlockingCounter* const counter_;
  std::vector<std::pair<std::string, Replier<std::string>>> kept_;
  Behavior keeping_{"keeping", On(greet, &Keeper::Greet), On(answer, &Keeper::Answer)};
};

// The server's side of one call. If the client cancels the call, the ask is cancelled too.
class GreetReactor final : public grpc::ServerUnaryReactor {
 public:
  // Counts of how the asks ended.
  struct Counts {
    std::atomic<int> callbacks{0};
    absl::BlockingCounter cancelled{kCancelled};
  };

  void Start(ActorSystem& system, Ref<Keeper> keeper, const GreetRequest& request, GreetReply* reply, Counts* counts) {
    AskHandle asked = system.Ask(
        keeper[&Keeper::greet], request.name(), absl::Minutes(5),
        [this, reply, counts](absl::StatusOr<std::string> text) {
          ++counts->callbacks;
          if (understudy::IsCancelled(text.status())) counts->cancelled.DecrementCount();
          if (text.ok()) reply->set_text(*text);
          Finish({static_cast<grpc::StatusCode>(text.status().code()), std::string(text.status().message())});
        });
    {
      absl::MutexLock lock(&mu_);
      asked_ = asked;
      if (is_cancelled_) asked_.Cancel();
    }
    Release();
  }
  void OnCancel() override {
    absl::MutexLock lock(&mu_);
    is_cancelled_ = true;
    asked_.Cancel();
  }
  void OnDone() override { Release(); }

 private:
  // By Start and by OnDone: the call may be done before Start has returned.
  void Release() {
    if (users_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
  std::atomic<int> users_{2};
  absl::Mutex mu_;
  bool is_cancelled_ ABSL_GUARDED_BY(mu_) = false;
  AskHandle asked_ ABSL_GUARDED_BY(mu_);
};

class Front final : public Greeter::CallbackService {
 public:
  Front(ActorSystem& system, Ref<Keeper> keeper, GreetReactor::Counts* counts)
      : system_(system), keeper_(keeper), counts_(counts) {}
  grpc::ServerUnaryReactor* Greet(grpc::CallbackServerContext*, const GreetRequest* request,
                                  GreetReply* reply) override {
    auto* const reactor = new GreetReactor;
    reactor->Start(system_, keeper_, *request, reply, counts_);
    return reactor;
  }

 private:
  ActorSystem& system_;
  const Ref<Keeper> keeper_;
  GreetReactor::Counts* const counts_;
};

struct ClientCall {
  grpc::ClientContext context;
  GreetRequest request;
  GreetReply reply;
  grpc::Status status;
};

TEST(CallbackServerTest, TenThousandAsksAreAnsweredCancelledOrDrained) {
  absl::BlockingCounter kept(kCalls);
  absl::BlockingCounter answered((kCalls - kCancelled) / 2);
  absl::BlockingCounter ended(kCalls);
  GreetReactor::Counts counts;
  std::vector<std::unique_ptr<ClientCall>> calls;
  {
    ActorSystem system;
    const Ref<Keeper> keeper = system.Spawn<Keeper>(&kept);
    Front front(system, keeper, &counts);
    grpc::ServerBuilder builder;
    builder.RegisterService(&front);
    const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
    const std::unique_ptr<Greeter::Stub> stub = Greeter::NewStub(server->InProcessChannel(grpc::ChannelArguments()));
    for (int i = 0; i < kCalls; ++i) {
      ClientCall& call = *calls.emplace_back(std::make_unique<ClientCall>());
      call.request.set_name(absl::StrCat(i));
      stub->async()->Greet(&call.context, &call.request, &call.reply, [&](grpc::Status status) {
        call.status = std::move(status);
        if (call.status.ok()) answered.DecrementCount();
        ended.DecrementCount();
      });
    }
    kept.Wait();
    for (int i = 0; i < kCancelled; ++i) calls[static_cast<size_t>(i)]->context.TryCancel();
    counts.cancelled.Wait();
    keeper[&Keeper::answer].Tell(true);
    answered.Wait();
    // The others are under way: the keeper's end answers them.
    EXPECT_TRUE(system.Shutdown(absl::Minutes(1)));
    EXPECT_EQ(counts.callbacks, kCalls);
    server->Shutdown();
    ended.Wait();
  }
  for (size_t i = 0; i < calls.size(); ++i) {
    const ClientCall& call = *calls[i];
    if (i < kCancelled) {
      EXPECT_EQ(call.status.error_code(), grpc::StatusCode::CANCELLED) << i;
    } else if (i % 2 == 0) {
      EXPECT_EQ(call.reply.text(), absl::StrCat("hello ", i));
    } else {
      EXPECT_EQ(call.status.error_code(), grpc::StatusCode::ABORTED) << i << ": " << call.status.error_message();
    }
  }
}

}  // namespace
}  // namespace understudy
