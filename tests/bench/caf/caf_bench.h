// The code that the programs for CAF 0.17 share. They are built by compare.py, not by Bazel, because CAF's package is
// installed only for a comparison.
#ifndef UNDERSTUDY_TESTS_BENCH_CAF_CAF_BENCH_H_
#define UNDERSTUDY_TESTS_BENCH_CAF_CAF_BENCH_H_

#include <caf/all.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace bench {

using add_atom = caf::atom_constant<caf::atom("add")>;
using count_atom = caf::atom_constant<caf::atom("count")>;
using done_atom = caf::atom_constant<caf::atom("done")>;
using hello_atom = caf::atom_constant<caf::atom("hello")>;
using meet_atom = caf::atom_constant<caf::atom("meet")>;
using next_atom = caf::atom_constant<caf::atom("next")>;
using open_atom = caf::atom_constant<caf::atom("open")>;
using other_atom = caf::atom_constant<caf::atom("other")>;
using ping_atom = caf::atom_constant<caf::atom("ping")>;
using pong_atom = caf::atom_constant<caf::atom("pong")>;
using start_atom = caf::atom_constant<caf::atom("start")>;
using tick_atom = caf::atom_constant<caf::atom("tick")>;
using token_atom = caf::atom_constant<caf::atom("token")>;
using total_atom = caf::atom_constant<caf::atom("total")>;
using work_atom = caf::atom_constant<caf::atom("work")>;

struct Measurement {
  int64_t count = 0;
  double seconds = 0;
  int64_t bytes = 0;
};

// Each program defines Run. `operations` is a multiple of 600.
Measurement Run(caf::actor_system& system, int64_t operations);

class Stopwatch {
 public:
  double Seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count(); }

 private:
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

inline void Check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "caf: %s\n", what);
  std::abort();
}

// Waits for `done_atom` and returns its count.
inline int64_t AwaitDone(caf::scoped_actor& self) {
  int64_t count = 0;
  self->receive([&](done_atom, int64_t value) { count = value; });
  return count;
}

// Returns the actor's answer to `count_atom`.
inline int64_t AskCount(caf::scoped_actor& self, const caf::actor& target) {
  int64_t count = -1;
  self->request(target, std::chrono::seconds(60), count_atom::value)
      .receive([&](int64_t value) { count = value; }, [](caf::error&) { Check(false, "no answer"); });
  return count;
}

inline void EndAll(caf::scoped_actor& self, const std::vector<caf::actor>& actors) {
  for (const caf::actor& actor : actors) self->send_exit(actor, caf::exit_reason::user_shutdown);
  self->wait_for(actors);
}

}  // namespace bench

#endif  // UNDERSTUDY_TESTS_BENCH_CAF_CAF_BENCH_H_
