// The Savina suite: what its programs have in common.
//
//   for (const Entry& program : Programs()) {
//     absl::StatusOr<std::string> result = RunProgram(system, program, program.size_small);
//   }
//
// A program is an actor. It starts the program's other actors, which are linked to it,
// and checks what they have done: its oracle. The program answers an ask of its mailbox
// `result` with its result, or with an error that says what is wrong with it. README.md
// has a table of the programs.
#ifndef UNDERSTUDY_EXAMPLES_SAVINA_SAVINA_H_
#define UNDERSTUDY_EXAMPLES_SAVINA_SAVINA_H_

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/actor.h"

namespace understudy {
class ActorSystem;
}  // namespace understudy

namespace understudy::savina {

struct GetResult {};

class Program : public Actor {
 public:
  // No behavior but Done's names this mailbox, so a call waits in it until the program is
  // done.
  Mailbox<"result", Call<GetResult, std::string>> result{this};

 protected:
  // The last behavior of a program, which answers with `outcome`.
  Behavior Done(absl::StatusOr<std::string> outcome) {
    outcome_ = std::move(outcome);
    return done_;
  }

 private:
  absl::StatusOr<std::string> Result(const GetResult& /*request*/) { return outcome_; }

  absl::StatusOr<std::string> outcome_ = std::string();
  Behavior done_{"done", On(result, &Program::Result)};
};

// The result of an oracle that counts: a line such as "40000 pongs", or an error that
// says which number was expected.
absl::StatusOr<std::string> Checked(absl::string_view what, int64_t got, int64_t expected);
// The result of another oracle: `line`, or an error if it `is_right` is false.
absl::StatusOr<std::string> Checked(std::string line, bool is_right);

// The deadline of asks and sends that are not expected to fail.
constexpr absl::Duration kPatience = absl::Minutes(10);

// The suite's generator of random numbers from 0 to 65,535, the same in all languages.
class Random {
 public:
  explicit Random(int64_t seed = 74755) : value_(seed) {}
  int64_t Next() { return value_ = (value_ * 1309 + 13849) & 65535; }
  int64_t Below(int64_t limit) { return Next() % limit; }

 private:
  int64_t value_;
};

// A program in the table.
struct Entry {
  absl::string_view name;
  absl::string_view size_of;  // what the size counts
  int64_t size;               // by default, as in the suite
  int64_t size_small;         // for a test
  std::unique_ptr<Actor> (*make)(int64_t size);

  friend void PrintTo(const Entry& entry, std::ostream* out) { *out << entry.name; }
};

const std::vector<Entry>& Programs();

// Runs a program with a size of at least 1, and returns when its actors have ended. Not in
// an actor's turn.
absl::StatusOr<std::string> RunProgram(ActorSystem& system, const Entry& program, int64_t size);

}  // namespace understudy::savina

#endif  // UNDERSTUDY_EXAMPLES_SAVINA_SAVINA_H_
