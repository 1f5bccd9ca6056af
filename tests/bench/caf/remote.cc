// Measures one run between two processes of this machine, with the output of remote_bench. CAF's middleman carries the
// messages over loopback TCP:
//   caf_remote round_trip_1 20000 2
// The program starts itself once more as the server, which serves until its standard input ends:
//   caf_remote serve 0 2
// A message has a string of 64 bytes. The middleman has its defaults: no heartbeats, and workers of its own that
// deserialise.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <caf/io/all.hpp>
#include <cinttypes>
#include <string>

#include "caf_bench.h"

namespace bench {
namespace {

constexpr auto kPatience = std::chrono::seconds(60);
constexpr int kMessageBytes = 64;
constexpr auto kAskPause = std::chrono::milliseconds(1);

std::string Payload() { return std::string(kMessageBytes, 'x'); }

// Sends each ping back to its sender, and answers each ask.
caf::behavior Echo(caf::event_based_actor* self) {
  return {
      [=](ping_atom, const std::string& payload, const caf::actor& player) {
        self->send(player, pong_atom::value, payload);
      },
      [=](next_atom, const std::string& payload) { return payload; },
  };
}

struct CounterState {
  int64_t seen = 0;
  int64_t expected = -1;
  caf::response_promise waiting;
};

// Counts the messages of the senders; answers `total_atom` when it has that many.
caf::behavior Counter(caf::stateful_actor<CounterState>* self) {
  const auto look = [=] {
    if (self->state.seen == self->state.expected) self->state.waiting.deliver(self->state.seen);
  };
  return {
      [=](add_atom, const std::string& payload) {
        self->state.seen += payload.size() == kMessageBytes ? 1 : 0;
        look();
      },
      [=](total_atom, int64_t expected) {
        self->state.waiting = self->make_response_promise();
        self->state.expected = expected;
        look();
        return self->state.waiting;
      },
  };
}

// The actor that the server publishes. It spawns an echo or a counter for each client that asks for one.
caf::behavior Host(caf::event_based_actor* self) {
  return {
      [=](meet_atom) { return caf::actor_cast<caf::actor>(self->spawn(Echo)); },
      [=](count_atom) { return caf::actor_cast<caf::actor>(self->spawn(Counter)); },
  };
}

struct PlayerState {
  int64_t left = 0;
};

caf::behavior Player(caf::stateful_actor<PlayerState>* self, caf::actor echo, caf::actor main) {
  const std::string payload = Payload();
  return {
      [=](start_atom, int64_t rounds) {
        self->state.left = rounds;
        self->send(echo, ping_atom::value, payload, caf::actor_cast<caf::actor>(self));
      },
      [=](pong_atom, const std::string&) {
        if (--self->state.left == 0) {
          self->send(main, done_atom::value, int64_t{1});
        } else {
          self->send(echo, ping_atom::value, payload, caf::actor_cast<caf::actor>(self));
        }
      },
  };
}

caf::behavior Sender(caf::event_based_actor* self, caf::actor counter) {
  const std::string payload = Payload();
  return {
      [=](start_atom, int64_t messages) {
        for (int64_t i = 0; i < messages; ++i) self->send(counter, add_atom::value, payload);
      },
  };
}

// Asks with a pause after each answer.
struct AskerState {
  int64_t left = 0;
  std::vector<double>* micros = nullptr;
};

caf::behavior Asker(caf::stateful_actor<AskerState>* self, caf::actor echo, caf::actor main,
                    std::vector<double>* micros) {
  const std::string payload = Payload();
  self->state.micros = micros;
  return {
      [=](start_atom, int64_t asks) {
        self->state.left = asks;
        self->send(self, next_atom::value);
      },
      [=](next_atom) {
        const Stopwatch stopwatch;
        self->request(echo, std::chrono::seconds(5), next_atom::value, payload).then([=](const std::string&) {
          self->state.micros->push_back(stopwatch.Seconds() * 1e6);
          if (--self->state.left == 0) {
            self->send(main, done_atom::value, int64_t{1});
          } else {
            self->delayed_send(self, kAskPause, next_atom::value);
          }
        });
      },
  };
}

// Asks the server's host for the actor that `atom` names, and returns it.
template <class Atom>
caf::actor Make(caf::scoped_actor& self, const caf::actor& host, Atom atom) {
  caf::actor made;
  self->request(host, kPatience, atom)
      .receive([&](const caf::actor& actor) { made = actor; },
               [&](caf::error& error) { Check(false, self->system().render(error).c_str()); });
  return made;
}

double RoundTrips(caf::scoped_actor& self, const caf::actor& host, int pairs, int64_t operations) {
  std::vector<caf::actor> players;
  for (int i = 0; i < pairs; ++i) {
    const caf::actor echo = Make(self, host, meet_atom::value);
    players.push_back(self->system().spawn(Player, echo, caf::actor_cast<caf::actor>(self)));
  }
  const Stopwatch stopwatch;
  for (const caf::actor& player : players) self->send(player, start_atom::value, operations / pairs);
  for (int i = 0; i < pairs; ++i) AwaitDone(self);
  const double seconds = stopwatch.Seconds();
  EndAll(self, players);
  return seconds;
}

double OneWay(caf::scoped_actor& self, const caf::actor& host, int senders, int64_t operations) {
  const caf::actor counter = Make(self, host, count_atom::value);
  std::vector<caf::actor> actors;
  for (int i = 0; i < senders; ++i) actors.push_back(self->system().spawn(Sender, counter));
  const Stopwatch stopwatch;
  for (const caf::actor& sender : actors) self->send(sender, start_atom::value, operations / senders);
  self->request(counter, caf::infinite, total_atom::value, operations)
      .receive([&](int64_t seen) { Check(seen == operations, "messages were lost"); },
               [&](caf::error& error) { Check(false, self->system().render(error).c_str()); });
  const double seconds = stopwatch.Seconds();
  EndAll(self, actors);
  return seconds;
}

double Asks(caf::scoped_actor& self, const caf::actor& host, int64_t asks, std::vector<double>& micros) {
  const caf::actor echo = Make(self, host, meet_atom::value);
  const caf::actor asker = self->system().spawn(Asker, echo, caf::actor_cast<caf::actor>(self), &micros);
  const Stopwatch stopwatch;
  self->send(asker, start_atom::value, asks);
  AwaitDone(self);
  const double seconds = stopwatch.Seconds();
  EndAll(self, {asker});
  return seconds;
}

int Serve(caf::actor_system& system) {
  caf::scoped_actor self{system};
  const caf::actor host = system.spawn(Host);
  const auto port = system.middleman().publish(host, 0, "127.0.0.1");
  Check(static_cast<bool>(port), "the server does not listen");
  std::printf("%u\n", static_cast<unsigned>(*port));
  std::fflush(stdout);
  char byte = 0;
  while (read(STDIN_FILENO, &byte, 1) > 0) {
  }
  _exit(0);  // the actors live until the process ends
}

struct Server {
  pid_t pid = 0;
  int input = -1;
  uint16_t port = 0;
};

Server StartServer(const char* threads) {
  int to[2];
  int from[2];
  Check(pipe(to) == 0 && pipe(from) == 0, "no pipe");
  Server server;
  server.pid = fork();
  Check(server.pid >= 0, "no process");
  if (server.pid == 0) {
    dup2(to[0], STDIN_FILENO);
    dup2(from[1], STDOUT_FILENO);
    for (int descriptor : {to[0], to[1], from[0], from[1]}) close(descriptor);
    execl("/proc/self/exe", "caf_remote", "serve", "0", threads, nullptr);
    _exit(127);
  }
  close(to[0]);
  close(from[1]);
  server.input = to[1];
  FILE* const said = fdopen(from[0], "r");
  unsigned port = 0;
  Check(std::fscanf(said, "%u", &port) == 1, "the server did not say where it listens");
  std::fclose(said);
  server.port = static_cast<uint16_t>(port);
  return server;
}

int Client(caf::actor_system& system, const std::string& workload, int64_t operations, const Server& server) {
  caf::scoped_actor self{system};
  const auto host = system.middleman().remote_actor("127.0.0.1", server.port);
  Check(static_cast<bool>(host), "no connection to the server");
  double seconds = 0;
  std::vector<double> micros;
  if (workload == "round_trip_1" || workload == "round_trip_100") {
    seconds = RoundTrips(self, *host, workload == "round_trip_1" ? 1 : 100, operations);
  } else if (workload == "one_way_1" || workload == "one_way_8") {
    seconds = OneWay(self, *host, workload == "one_way_1" ? 1 : 8, operations);
  } else if (workload == "ask_1ms") {
    seconds = Asks(self, *host, operations, micros);
  } else {
    Check(false, "no such workload");
  }
  std::printf("workload=%s count=%" PRId64 " seconds=%.6f bytes=0 capacity=unbounded", workload.c_str(), operations,
              seconds);
  if (!micros.empty()) {
    std::sort(micros.begin(), micros.end());
    std::printf(" median_us=%.3f p99_us=%.3f", micros[micros.size() / 2], micros[micros.size() * 99 / 100]);
  }
  std::printf("\n");
  std::fflush(stdout);
  close(server.input);
  waitpid(server.pid, nullptr, 0);
  _exit(0);  // does not wait for the middleman to release its connections
}

int Main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: %s WORKLOAD OPERATIONS THREADS\n", argv[0]);
    return 2;
  }
  const std::string workload = argv[1];
  // The process is forked before CAF starts threads.
  const Server server = workload == "serve" ? Server() : StartServer(argv[3]);
  caf::actor_system_config config;
  config.load<caf::io::middleman>();
  config.set("scheduler.max-threads", static_cast<size_t>(std::atoi(argv[3])));
  caf::actor_system system{config};
  return workload == "serve" ? Serve(system) : Client(system, workload, std::atoll(argv[2]), server);
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) { return bench::Main(argc, argv); }
