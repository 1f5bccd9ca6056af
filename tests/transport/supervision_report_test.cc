// Supervision events are written to the wire form and read back.
#include "understudy/transport/supervision_report.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/crash_report.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/mailbox.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/random.h"
#include "understudy/actors/test_system.h"
#include "understudy/actors/testing/seeds.h"
#include "understudy/supervision/builders.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/supervision_event.h"

namespace understudy {
namespace {

using testing::HasSubstr;

// Returns a text of all fields that a report must keep.
std::string Text(const SupervisionEvent& event) {
  std::string text = absl::StrCat(event.ToString(), "|", event.supervisor.ToString(), "|", event.pid.ToString(), "|",
                                  event.restarts, "|", absl::FormatDuration(event.wait), "|", event.time.nanos());
  for (const ExitReason* r = &event.reason; r != nullptr; r = r->cause()) {
    absl::StrAppend(&text, "|", r->ToString());
    if (r->crash() == nullptr) continue;
    const CrashReport& crash = *r->crash();
    absl::StrAppend(&text, "|crash ", crash.pid.ToString(), crash.label, crash.doing, crash.parent.ToString());
    for (const MessageNote& note : crash.messages) absl::StrAppend(&text, "|", note.ToString(), note.contents);
  }
  if (event.spec == nullptr) return text;
  const ChildSpec& spec = *event.spec;
  absl::StrAppend(&text, "|", spec.id, ChildKindName(spec.kind), RestartTypeName(spec.restart), spec.significant,
                  spec.registered_as, spec.published_as, static_cast<int>(ShutdownOf(spec).kind),
                  absl::FormatDuration(ShutdownOf(spec).timeout));
  if (spec.factory.has_value()) absl::StrAppend(&text, spec.factory->name);
  if (spec.process.has_value()) absl::StrAppend(&text, spec.process->binary);
  return text;
}

class RandomEvent {
 public:
  RandomEvent(uint64_t seed, std::vector<Pid> pids) : random_(seed), pids_(std::move(pids)) {}

  SupervisionEvent Make() {
    SupervisionEvent event;
    event.kind = static_cast<SupervisionEvent::Kind>(1 + random_.Below(SupervisionEvent::kKindMax));
    event.supervisor = SomePid();
    event.child = Word();
    event.pid = SomePid();
    event.reason = Reason();
    for (uint64_t i = random_.Below(4); i > 0; --i) event.reason = Reason().CausedBy(event.reason);
    event.restarts = static_cast<int>(random_.Below(1000));
    event.wait = absl::Nanoseconds(static_cast<int64_t>(random_.Below(100'000'000'000)));
    if (random_.Below(8) == 0) event.wait = absl::InfiniteDuration();
    event.time = MonotonicTime::FromNanos(static_cast<int64_t>(random_.Below(INT64_MAX)));
    if (random_.Below(4) != 0) event.spec = std::make_shared<const ChildSpec>(Spec(event.child));
    return event;
  }

 private:
  Pid SomePid() { return pids_[random_.Below(pids_.size())]; }
  // Not always UTF-8.
  std::string Word() {
    static constexpr const char* kWords[] = {"", "a", "lot 7", "\xff\xfe", "ä"};
    return kWords[random_.Below(5)];
  }
  ExitReason Reason() {
    ExitReason reason = ExitReason::Exception(Word(), Word());
    const uint64_t kind = random_.Below(4);
    if (kind == 1) reason = ExitReason::OsSignal(11);
    if (kind == 2) reason = ExitReason::Failed(absl::DataLossError(Word()));
    if (kind == 3) reason = ExitReason::KilledHandlerRunning();
    if (random_.Below(2) == 0) return reason;
    auto crash = std::make_shared<CrashReport>();
    crash->pid = SomePid();
    crash->label = Word();
    crash->doing = Word();
    crash->parent = SomePid();
    for (uint64_t i = random_.Below(3); i > 0; --i) {
      crash->messages.push_back(
          {.mailbox = Word(), .type = Word(), .bytes = random_.Below(1 << 30), .from = SomePid(), .contents = Word()});
    }
    return reason.WithCrash(crash);
  }
  ChildSpec Spec(const std::string& id) {
    ChildSpec spec{.id = id, .kind = static_cast<ChildKind>(random_.Below(3))};
    spec.restart = static_cast<RestartType>(random_.Below(3));
    if (random_.Below(2) == 0) spec.shutdown = ChildShutdown::Within(absl::Milliseconds(1 + random_.Below(9999)));
    if (random_.Below(4) == 0) spec.shutdown = ChildShutdown::BrutalKill();
    if (random_.Below(4) == 0) spec.shutdown = ChildShutdown::Infinity();
    spec.significant = random_.Below(2) == 0;
    spec.registered_as = Word();
    spec.published_as = Word();
    if (spec.kind != ChildKind::kProcess && random_.Below(2) == 0) spec.factory = FactoryCall{.name = "f"};
    if (spec.kind == ChildKind::kWorker && spec.factory.has_value() && random_.Below(2) == 0) {
      spec.placement = random_.Below(2) == 0 ? OnNode("n") : SpreadOver({"n", Word()});
    }
    if (spec.kind == ChildKind::kProcess) spec.process = ProcessSpec{.binary = Word()};
    return spec;
  }

  Random random_;
  const std::vector<Pid> pids_;
};

struct Nothing {};
class Sitter final : public Actor {
 public:
  Mailbox<"fail", Nothing> fail{this};
  StartResult Start() override { return sitting_; }

 private:
  void DoFail(const Nothing&) { Fail(absl::DataLossError("torn")); }
  Behavior sitting_{"sitting", On(fail, &Sitter::DoFail)};
};

TEST(SupervisionReport, AnEventThatWasSentIsTheSame) {
  TestSystem system(1);
  const std::vector<Pid> pids = {Pid(), system.Spawn<Sitter>().pid(), system.Spawn<Sitter>().pid()};
  ForEachSeed(2000, [&](uint64_t seed) {
    const SupervisionEvent event = RandomEvent(seed, pids).Make();
    proto::SupervisionReport wire;
    ASSERT_TRUE(wire.ParseFromString(ToProto(event).SerializeAsString()));
    const absl::StatusOr<SupervisionEvent> back = EventFromProto(wire, pids[1]);
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(Text(*back), Text(event));
    EXPECT_EQ(back->reason, event.reason);
  });
}

TEST(SupervisionReport, AWaitWithoutLimitAndAPoolsFactoryAreKept) {
  TestSystem system(1);
  const Pid pid = system.Spawn<Sitter>().pid();
  const ChildSpec spec{.id = "jobs", .kind = ChildKind::kSupervisor, .factory = FactoryCall{.name = "pool"}};
  const SupervisionEvent event{.kind = SupervisionEvent::Kind::kHeld,
                               .supervisor = pid,
                               .child = "jobs",
                               .reason = ExitReason::KilledHandlerRunning(),
                               .wait = absl::InfiniteDuration(),
                               .spec = std::make_shared<const ChildSpec>(spec)};
  const proto::SupervisionReport wire = ToProto(event);
  EXPECT_FALSE(wire.has_wait());
  const absl::StatusOr<SupervisionEvent> back = EventFromProto(wire, pid);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->wait, absl::InfiniteDuration());
  EXPECT_EQ(back->ToReport(), event.ToReport());
}

TEST(SupervisionReport, ACrashInATreeTravelsWithItsMessagesAndItsOffender) {
  std::vector<SupervisionEvent> events;
  TestSystem system(1);
  system.Spawn(OneForOne()
                   .OnEvent([&](const SupervisionEvent& event) { events.push_back(event); })
                   .Child("a", Of<Sitter>().Transient().RegisteredAs("sitter").ShutdownWithin(absl::Seconds(2))));
  system.RunUntilIdle();
  const Pid first = *system.WhereIs("sitter");
  Ref<Sitter>(first)[&Sitter::fail].Tell(Nothing());
  system.RunUntilIdle();
  ASSERT_GE(events.size(), 2U);
  ASSERT_EQ(events[1].kind, SupervisionEvent::Kind::kExited);
  const absl::StatusOr<SupervisionEvent> back = EventFromProto(ToProto(events[1]), first);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->child, "a");
  EXPECT_EQ(back->pid, first);
  EXPECT_EQ(back->spec->restart, RestartType::kTransient);
  EXPECT_EQ(back->spec->shutdown, ChildShutdown::Within(absl::Seconds(2)));
  EXPECT_EQ(back->spec->registered_as, "sitter");
  ASSERT_NE(back->reason.crash(), nullptr);
  EXPECT_THAT(back->reason.crash()->doing, HasSubstr("mailbox fail handling a"));
  ASSERT_EQ(back->reason.crash()->messages.size(), 1U);
  EXPECT_EQ(back->reason.crash()->messages[0].mailbox, "fail");
}

TEST(SupervisionReport, AReportThatCannotBeIsRefused) {
  TestSystem system(1);
  const Pid local = system.Spawn<Sitter>().pid();
  const auto refusal = [&](auto change) {
    SupervisionEvent event{.spec = std::make_shared<const ChildSpec>()};
    proto::SupervisionReport report = ToProto(event);
    change(report);
    return std::string(EventFromProto(report, local).status().message());
  };
  EXPECT_EQ(refusal([](proto::SupervisionReport&) {}), "");
  EXPECT_THAT(refusal([](auto& report) { report.set_kind(0); }), HasSubstr("the event is of kind"));
  EXPECT_THAT(refusal([](auto& report) { report.set_kind(SupervisionEvent::kKindMax + 1); }),
              HasSubstr("the event is of kind"));
  EXPECT_THAT(refusal([](auto& report) { report.mutable_offender()->set_shutdown("soon"); }),
              HasSubstr("the way to stop is missing or unknown"));
  EXPECT_THAT(refusal([](auto& report) { report.mutable_reason()->clear_links(); }), HasSubstr("reason"));
  EXPECT_THAT(refusal([](auto& report) { report.add_crashes()->set_link(1); }), HasSubstr("a crash is of reason"));
  EXPECT_THAT(refusal([](auto& report) { report.add_crashes()->set_link(-1); }), HasSubstr("a crash is of reason"));
  EXPECT_THAT(refusal([](auto& report) {
                proto::CrashNote& note = *report.add_crashes();
                for (int i = 0; i <= limits::kLastMessagesMax; ++i) note.add_messages();
              }),
              HasSubstr("101 messages: expected at most 100"));
  EXPECT_THAT(refusal([](auto& report) { report.mutable_pid()->set_serial(7); }), HasSubstr("names no actor"));
}

}  // namespace
}  // namespace understudy
