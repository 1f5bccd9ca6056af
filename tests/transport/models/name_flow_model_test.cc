// How names travel under flow control, explored: a node tells another node more names than may be under way at once,
// each of which fills a part, while names are released and claimed anew. Parts arrive, are entered and are acknowledged
// in every order that a session allows.
//
// No more parts are under way than the bound allows; a Down never comes before the release of its actor's name; and
// when everything has been told, the other node knows exactly the names that exist. Each rule is left out once, and the
// model finds a failure.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/fault_point.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/testing/seeds.h"
#include "understudy/proto/names.pb.h"
#include "understudy/transport/names/name_feed.h"
#include "understudy/transport/names/name_limits.h"
#include "understudy/transport/names/name_table.h"

namespace understudy {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Two more than may be on their way.
constexpr int kNames = static_cast<int>(limits::kNamePartsUntakenMax) + 2;
// The first is told when changes begin, the last is not, and the one behind it is not owned.
constexpr int kChanging[] = {0, kNames - 1, kNames};

// A set of mailboxes of its own, so large that the claim travels in a part of its own.
std::vector<proto::MailboxSignature> MailboxesOf(int name) {
  std::vector<proto::MailboxSignature> mailboxes(limits::kSmallSignatureBytes / 1000 + 1);
  for (size_t i = 0; i < mailboxes.size(); ++i) {
    mailboxes[i].set_name(absl::StrCat(name, "/", i, std::string(1000, 'm')));
  }
  return mailboxes;
}

enum class Bug : uint8_t {
  kNone,
  kHoldsNoSignal,  // what PeerCore does with MustHold
  kEntersNothing,  // what it does with OnChangesEntered
};

// A message between the nodes: a part of names, or the Down of an owner, by the owner's serial.
struct Message {
  std::shared_ptr<const std::string> part;
  size_t hash = 0;  // of the part
  uint64_t down = 0;
};

struct World {
  NameTable teller{"a", [](absl::string_view, absl::string_view) { return true; }};
  NameTable listener{"b", [](absl::string_view, absl::string_view) { return true; }};
  std::deque<Message> told;          // to the listener
  std::deque<Message> acknowledged;  // to the teller
  int arrived = 0;                   // parts that the listener has not entered
  int changes_left = 0;
  uint64_t last_serial = 0;
  std::string failure;

  void Expect(bool holds, absl::string_view what) {
    if (!holds && failure.empty()) failure = std::string(what);
  }
  std::string Key() const {
    std::string key = absl::StrCat(teller.DebugString(), "\n", listener.DebugString(), "\n", arrived, " ", changes_left,
                                   " ", last_serial);
    for (const auto* queue : {&told, &acknowledged}) {
      absl::StrAppend(&key, "\n");
      for (const Message& message : *queue) absl::StrAppend(&key, message.hash, ":", message.down, " ");
    }
    return key;
  }
};

class Model {
 public:
  explicit Model(Bug bug = Bug::kNone) : bug_(bug) {}

  // The first failure, or nothing.
  std::string Explore(int changes) {
    std::vector<World> open(1);
    World& first = open.back();
    first.changes_left = changes;
    for (int name = 0; name < kNames; ++name) Claim(first, name);
    first.teller.OnSessionBegun("b", 2, MonotonicTime());
    first.listener.OnSessionBegun("a", 1, MonotonicTime());
    Tell(first);
    while (!open.empty()) {
      const World world = std::move(open.back());
      open.pop_back();
      bool is_over = true;
      for (size_t step = 0; step < kSteps; ++step) {
        World next = world;
        if (!Take(next, step)) continue;
        is_over = is_over && step >= kFirstChange;
        next.Expect(next.teller.feed("b")->parts_untaken() <= limits::kNamePartsUntakenMax,
                    "too many parts are on their way");
        if (!next.failure.empty()) return next.failure;
        if (seen_.insert(next.Key()).second) open.push_back(std::move(next));
      }
      if (is_over && !AtEnd(world).empty()) return AtEnd(world);
    }
    return "";
  }
  size_t states() const { return seen_.size(); }

 private:
  static constexpr size_t kFirstChange = 3;
  static constexpr size_t kSteps = kFirstChange + std::size(kChanging);

  static std::string NameOf(int name) { return absl::StrCat("n", 10 + name); }

  // False when it is not possible now.
  bool Take(World& world, size_t step) const {
    switch (step) {
      case 0:
        return Arrive(world);
      case 1:
        return Enter(world);
      case 2:
        return Acknowledge(world);
      default:
        return Change(world, kChanging[step - kFirstChange]);
    }
  }
  static void Claim(World& world, int name) {
    const uint64_t serial = ++world.last_serial;
    EXPECT_TRUE(world.teller.Claim(NameOf(name), Pid(1, 1, serial), MonotonicTime(), MailboxesOf(name)).ok());
  }
  // An owner ends, or one begins.
  bool Change(World& world, int name) const {
    if (world.changes_left == 0) return false;
    --world.changes_left;
    const auto owner = world.teller.Find(NameOf(name));
    if (!owner.has_value()) {
      Claim(world, name);
      Tell(world);
      return true;
    }
    const uint64_t serial = owner->pid.serial();
    EXPECT_TRUE(world.teller.Release(NameOf(name), owner->pid));
    Tell(world);
    if (world.teller.MustHold("b") && bug_ != Bug::kHoldsNoSignal) {
      auto down = std::make_shared<const Signal>(Signal{.kind = SignalKind::kDown, .id = serial});
      EXPECT_TRUE(world.teller.Hold("b", std::move(down), 1).ok());
      Tell(world);
    } else {
      world.told.push_back({.down = serial});
    }
    return true;
  }
  static Message MessageOf(const NameFeed::Part& part) {
    if (part.held != nullptr) return {.down = part.held->id};
    auto bytes = std::make_shared<const std::string>(part.changes.SerializeAsString());
    const size_t hash = std::hash<std::string>()(*bytes);
    return {.part = std::move(bytes), .hash = hash};
  }
  static void Tell(World& world) {
    while (const absl::optional<NameFeed::Part> part = world.teller.TakePart("b")) {
      world.told.push_back(MessageOf(*part));
    }
    while (const absl::optional<NameFeed::Part> part = world.listener.TakePart("a")) {
      world.acknowledged.push_back(MessageOf(*part));
    }
    world.teller.TakeChanges();
    world.listener.TakeChanges();
  }
  static bool Arrive(World& world) {
    if (world.told.empty()) return false;
    const Message message = std::move(world.told.front());
    world.told.pop_front();
    if (message.part == nullptr) {
      for (int name = 0; name <= kNames; ++name) {
        const auto shown = world.listener.Find(NameOf(name));
        world.Expect(!shown.has_value() || shown->pid.serial() != message.down,
                     "a Down comes before its name's release");
      }
      return true;
    }
    const absl::Status taken = world.listener.OnChanges("a", *message.part);
    world.Expect(taken.ok(), taken.message());
    ++world.arrived;
    Tell(world);
    return true;
  }
  bool Enter(World& world) const {
    if (world.arrived == 0 || bug_ == Bug::kEntersNothing) return false;
    --world.arrived;
    world.listener.OnChangesEntered("a");
    Tell(world);
    return true;
  }
  static bool Acknowledge(World& world) {
    if (world.acknowledged.empty()) return false;
    const absl::Status taken = world.teller.OnChanges("b", *world.acknowledged.front().part);
    world.Expect(taken.ok(), taken.message());
    world.acknowledged.pop_front();
    Tell(world);
    return true;
  }

  // Nothing goes on but by changes.
  static std::string AtEnd(const World& world) {
    for (int name = 0; name <= kNames; ++name) {
      const auto owned = world.teller.Find(NameOf(name));
      const auto shown = world.listener.Find(NameOf(name));
      if (owned.has_value() != shown.has_value()) return absl::StrCat("the tables differ in ", NameOf(name));
      if (owned.has_value() && owned->pid.serial() != shown->pid.serial()) {
        return absl::StrCat("another owner is shown of ", NameOf(name));
      }
    }
    return "";
  }

  const Bug bug_;
  std::unordered_set<std::string> seen_;
};

// UNDERSTUDY_ROUNDS_FACTOR=2 or more explores more than ten seconds of histories (.ci/long seeds).
int Changes() { return RoundsOf(1) > 1 ? 3 : 2; }

TEST(NameFlowModelTest, InTheEndTheOtherNodeKnowsExactlyTheNamesThatThereAre) {
  Model model;
  EXPECT_THAT(model.Explore(Changes()), IsEmpty());
  printf("%zu states\n", model.states());
  EXPECT_GT(model.states(), 10'000U);
}

TEST(NameFlowModelTest, EachRuleThatIsLeftOutIsFound) {
  const auto failure = [](const char* rule, int changes) {
    FaultPoint::Scope broken(rule);
    return Model().Explore(changes);
  };
  EXPECT_THAT(failure("names_know_no_window", 0), HasSubstr("too many parts are on their way"));
  EXPECT_THAT(failure("names_skip_what_did_not_fit", 0), HasSubstr("the tables differ"));
  EXPECT_THAT(failure("names_forget_what_the_peer_knows", 3), HasSubstr("a Down comes before"));
  EXPECT_THAT(Model(Bug::kHoldsNoSignal).Explore(1), HasSubstr("a Down comes before"));
  EXPECT_THAT(Model(Bug::kEntersNothing).Explore(1), HasSubstr("the tables differ"));
}

}  // namespace
}  // namespace understudy
