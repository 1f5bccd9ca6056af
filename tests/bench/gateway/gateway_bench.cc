// An actor behind a gateway beside the same service written on gRPC's callback API: calls a second and latencies.
//
//   ./bazelw run --config=opt //tests/bench/gateway:gateway_bench -- --rounds=5 --seconds=2
//
// Each server is a process of its own. Each round measures both, in turn, with 1, 4 and 16 client threads, each of
// which has a connection and makes one call at a time. The table has the medians of the rounds. With --serve=SYSTEM it
// is a server, which prints its address and serves until its standard input ends.
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/channel_arguments.h>
#include <grpcpp/support/server_callback.h>
#include <grpcpp/support/status.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/check.h"
#include "understudy/tests/bench/build_info.h"
#include "understudy/tests/bench/gateway/parrot.actor.h"
#include "understudy/tests/bench/gateway/parrot.grpc.pb.h"
#include "understudy/tests/bench/gateway/parrot.pb.h"
#include "understudy/tests/bench/remote/server_process.h"
#include "understudy/transport/gateway/exported_service.h"
#include "understudy/transport/gateway/gateway.h"

namespace understudy::bench {
namespace {

constexpr absl::string_view kSystems[] = {"gateway", "grpc_callback"};
constexpr int kThreads[] = {1, 4, 16};
constexpr size_t kTextBytes = 64;

class ParrotActor final : public parrot::ParrotActor {
 public:
  StartResult Start() override { return open_; }

 private:
  Behavior open_{"open", On(say, [](const parrot::Text& request) { return request; })};
};

class ParrotService final : public parrot::Parrot::CallbackService {
  grpc::ServerUnaryReactor* Say(grpc::CallbackServerContext* context, const parrot::Text* request,
                                parrot::Text* reply) override {
    grpc::ServerUnaryReactor* const call = context->DefaultReactor();
    *reply = *request;
    call->Finish(grpc::Status::OK);
    return call;
  }
};

void ServeUntilInputEnds(absl::string_view address) {
  std::cout << address << std::endl;
  while (std::getchar() != EOF) {
  }
}

void ServeGateway() {
  ActorSystem system;
  system.Spawn<ParrotActor>(SpawnOptions{.registered_as = "parrot"});
  const absl::StatusOr<std::unique_ptr<Gateway>> gateway =
      Gateway::Start(system, {.exports = {Export<parrot::ParrotRef>("parrot")}});
  UNDERSTUDY_CHECK(gateway.ok(), gateway.status().message());
  ServeUntilInputEnds((*gateway)->addresses()[0]);
}

void ServeGrpc() {
  ParrotService service;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.RegisterService(&service);
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  UNDERSTUDY_CHECK(server != nullptr, "the server does not start");
  ServeUntilInputEnds(absl::StrCat("127.0.0.1:", port));
}

struct Measured {
  double calls_per_second = 0;
  double p50_us = 0;
  double p99_us = 0;
};

// The latencies of one client thread, in microseconds.
std::vector<double> Call(const std::string& address, int number, absl::Time until) {
  grpc::ChannelArguments own;
  own.SetInt("bench.connection", number);  // channels with equal arguments would share a connection
  const auto stub =
      parrot::Parrot::NewStub(grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), own));
  parrot::Text request;
  request.set_text(std::string(kTextBytes, 'x'));
  std::vector<double> took;
  absl::Time began = absl::Now();
  while (began < until) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(began + absl::Seconds(10)));
    parrot::Text reply;
    const grpc::Status status = stub->Say(&context, request, &reply);
    UNDERSTUDY_CHECK(status.ok() && reply.text() == request.text(), "a call failed: ", status.error_message());
    const absl::Time ended = absl::Now();
    took.push_back(absl::ToDoubleMicroseconds(ended - std::exchange(began, ended)));
  }
  return took;
}

Measured Measure(const std::string& address, int threads, absl::Duration duration) {
  std::vector<std::vector<double>> took(static_cast<size_t>(threads));
  std::vector<std::thread> clients;
  const absl::Time until = absl::Now() + duration;
  for (int i = 0; i < threads; ++i) {
    clients.emplace_back([&, i] { took[static_cast<size_t>(i)] = Call(address, i, until); });
  }
  for (std::thread& client : clients) client.join();
  std::vector<double> all;
  for (const std::vector<double>& one : took) all.insert(all.end(), one.begin(), one.end());
  std::sort(all.begin(), all.end());
  return {.calls_per_second = static_cast<double>(all.size()) / absl::ToDoubleSeconds(duration),
          .p50_us = all[all.size() / 2],
          .p99_us = all[all.size() * 99 / 100]};
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

Measured MedianOf(const std::vector<Measured>& rounds) {
  const auto median = [&](double Measured::* figure) {
    std::vector<double> values;
    for (const Measured& round : rounds) values.push_back(round.*figure);
    return Median(std::move(values));
  };
  return {median(&Measured::calls_per_second), median(&Measured::p50_us), median(&Measured::p99_us)};
}

void Run(int rounds, absl::Duration duration) {
  std::cout << kBuildInfo << "\n";
  std::map<std::string, std::unique_ptr<ServerProcess>> servers;
  std::map<std::string, std::string> addresses;
  for (const absl::string_view system : kSystems) {
    const std::string name(system);
    servers[name] = std::make_unique<ServerProcess>(std::vector<std::string>{absl::StrCat("--serve=", name)});
    addresses[name] = servers[name]->AwaitReady().address;
    (void)Measure(addresses[name], 4, duration / 4);  // warms up
  }
  std::cout << "threads  system          calls/s   p50 us   p99 us  calls/s and p50 beside grpc_callback\n";
  for (const int threads : kThreads) {
    std::map<std::string, std::vector<Measured>> measured;
    for (int round = 0; round < rounds; ++round) {
      for (size_t i = 0; i < std::size(kSystems); ++i) {
        const std::string name(kSystems[(i + static_cast<size_t>(round)) % std::size(kSystems)]);
        measured[name].push_back(Measure(addresses[name], threads, duration));
      }
    }
    const Measured beside = MedianOf(measured["grpc_callback"]);
    for (const absl::string_view system : kSystems) {
      const Measured median = MedianOf(measured[std::string(system)]);
      std::cout << absl::StrFormat("%7d  %-14s %8.0f %8.1f %8.1f  %.2f  %.2f\n", threads, system,
                                   median.calls_per_second, median.p50_us, median.p99_us,
                                   median.calls_per_second / beside.calls_per_second, median.p50_us / beside.p50_us);
    }
  }
}

int Main(int argc, char** argv) {
  int rounds = 5;
  double seconds = 2;
  for (int i = 1; i < argc; ++i) {
    absl::string_view flag = argv[i];
    if (absl::ConsumePrefix(&flag, "--serve=")) {
      flag == "gateway" ? ServeGateway() : ServeGrpc();
      return 0;
    }
    const bool is_known = (absl::ConsumePrefix(&flag, "--rounds=") && absl::SimpleAtoi(flag, &rounds) && rounds > 0) ||
                          (absl::ConsumePrefix(&flag, "--seconds=") && absl::SimpleAtod(flag, &seconds) && seconds > 0);
    if (!is_known) {
      std::cerr << "unknown flag " << argv[i] << ": expected --rounds=N or --seconds=S\n";
      return 2;
    }
  }
  Run(rounds, absl::Seconds(seconds));
  return 0;
}

}  // namespace
}  // namespace understudy::bench

int main(int argc, char** argv) { return understudy::bench::Main(argc, argv); }
