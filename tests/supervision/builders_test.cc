// The builders of trees, process children, and the events of a supervisor.
#include "understudy/supervision/builders.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_spec.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/crash_report.h"
#include "understudy/actors/cut_text.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/mailbox.h"
#include "understudy/actors/seeded_executor.h"
#include "understudy/actors/spawner.h"
#include "understudy/actors/task.h"
#include "understudy/actors/test_system.h"
#include "understudy/actors/testing/kept_log.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/child_start.h"
#include "understudy/supervision/limits.h"
#include "understudy/supervision/supervision_event.h"
#include "understudy/supervision/supervisor.h"
#include "understudy/tests/supervision/workers.h"

namespace understudy {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr absl::Duration kSoon = absl::Seconds(1);

static_assert(Spawnable<SupervisorBuilder>);

class BuildersTest : public testing::Test {
 protected:
  ChildBuilder A(const std::string& name = "a") { return Of<Worker>(name, journal_); }

  // Returns a listener that records each event, such as "a: started".
  std::function<void(const SupervisionEvent&)> Tell() {
    return [this](const SupervisionEvent& event) {
      told_.push_back(event.child + ": " + std::string(SupervisionEventName(event.kind)));
    };
  }
  Children ChildrenOf(SupervisorRef supervisor) {
    return *system_.Ask(supervisor.which_children(), WhichChildren(), kSoon);
  }
  void CrashFirst(SupervisorRef supervisor) {
    Ref<Worker>(ChildrenOf(supervisor).children[0].pid)[&Worker::crash].Tell(Crash());
    system_.RunUntilIdle();
  }

  std::vector<std::string> told_;
  std::shared_ptr<Journal> journal_ = std::make_shared<Journal>();
  TestSystem system_{1};
};

TEST_F(BuildersTest, ABuilderFillsInEveryField) {
  const ChildSpec spec = A().RegisteredAs("n")
                             .PublishedAs("p")
                             .ShutdownWithin(absl::Seconds(2))
                             .Backoff({.min = absl::Seconds(1)})
                             .StartWithin(absl::Seconds(3))
                             .Significant()
                             .Spec("id");
  EXPECT_EQ(spec.id, "id");
  EXPECT_EQ(spec.kind, ChildKind::kWorker);
  EXPECT_EQ(spec.restart, RestartType::kPermanent);
  EXPECT_EQ(spec.registered_as, "n");
  EXPECT_EQ(spec.published_as, "p");
  EXPECT_EQ(spec.shutdown, ChildShutdown::Within(absl::Seconds(2)));
  EXPECT_EQ(spec.backoff->min, absl::Seconds(1));
  EXPECT_EQ(spec.start_within, absl::Seconds(3));
  EXPECT_TRUE(spec.significant);
  EXPECT_EQ(A().BrutalKill().Spec("").shutdown, ChildShutdown::BrutalKill());
  EXPECT_EQ(A().ShutdownWithoutLimit().Spec("").shutdown, ChildShutdown::Infinity());
  EXPECT_EQ((Of<Worker>("a", journal_).Transient().Spec("").restart), RestartType::kTransient);
  EXPECT_EQ((Of<Worker>("a", journal_).Temporary().Spec("").restart), RestartType::kTemporary);
}

TEST_F(BuildersTest, AProcessIsABinaryAndItsArguments) {
  const ChildSpec spec =
      Process("ledger_node", {"--db", "x"}).Transient().NodeNamed("ledger").Environment("A", "1").Spec("l");
  EXPECT_EQ(spec.kind, ChildKind::kProcess);
  EXPECT_EQ(spec.restart, RestartType::kTransient);
  EXPECT_EQ(
      *spec.process,
      (ProcessSpec{
          .binary = "ledger_node", .arguments = {"--db", "x"}, .environment = {{"A", "1"}}, .node_name = "ledger"}));
  EXPECT_EQ(Process("x").Spec("").restart, RestartType::kPermanent);
  EXPECT_EQ(Process("x").Temporary().Spec("").restart, RestartType::kTemporary);
}

TEST_F(BuildersTest, AClassAFactoryASpecAndATreeAreStartedAlike) {
  const auto factory = [journal = journal_] { return std::make_unique<Worker>("made", journal); };
  system_.Spawn(OneForOne()
                    .Child("class", A("class"))
                    .Child("factory", Of(factory))
                    .Child("spec", Of(MakeActorSpec<Worker>(std::string("spec"), journal_)))
                    .Child("tree", Of(RestForOne().Child("leaf", A("leaf"))))
                    .Child("data", Of(OneForOne().Child("deep", A("deep")).spec())));
  system_.RunUntilIdle();
  EXPECT_EQ(journal_->Take(), "start class, start made, start spec, start leaf, start deep");
}

TEST_F(BuildersTest, TheOptionsOfASpecAreKept) {
  auto spec = MakeActorSpec<Worker>(std::string("a"), journal_);
  EXPECT_FALSE(Of(spec).Spec("a").shutdown.has_value());
  spec.options.registered_as = "book";
  spec.options.published_as = "books";
  spec.options.start_within = kSoon;
  spec.options.shutdown_within = absl::Seconds(60);
  spec.options.thread = SpawnThread::kOwn;
  const ChildSpec child = Of(spec).Spec("a");
  EXPECT_EQ(child.registered_as, "book");
  EXPECT_EQ(child.published_as, "books");
  EXPECT_EQ(child.start_within, kSoon);
  EXPECT_EQ(child.shutdown, ChildShutdown::Within(absl::Seconds(60)));
  EXPECT_EQ(child.start->thread(), SpawnThread::kOwn);
  EXPECT_EQ(child.start->label(), spec.options.label);
  spec.options.shutdown_within = absl::InfiniteDuration();
  EXPECT_EQ(Of(spec).Spec("a").shutdown, ChildShutdown::Infinity());
}

TEST_F(BuildersTest, ShutdownOfTheSystemSaysWhetherAChildRanOutOfItsTime) {
  auto deaf = std::make_shared<Manner>();
  deaf->ignores_shutdown = true;
  for (const bool is_brutal : {true, false}) {
    TestSystem system;
    auto child = Of<Worker>("a", journal_, deaf).ShutdownWithin(absl::Seconds(2));
    if (is_brutal) child.BrutalKill();
    (void)system.Spawn(OneForOne().Child("a", child));
    system.RunUntilIdle();
    EXPECT_EQ(system.Shutdown(absl::Hours(1)), is_brutal) << "killed as it was meant to be, or because it had to be";
  }
}

TEST_F(BuildersTest, ASpecOfAChildHasNoLinkOrHandlersOfItsOwn) {
  auto spec = MakeActorSpec<Worker>(std::string("a"), journal_);
  spec.options.link = SpawnLink::kUnlinked;
  EXPECT_DEATH((void)Of(spec), "an ActorSpec that is a child has no link, handlers or unhandled mail of its own");
}

TEST_F(BuildersTest, ASupervisorSpecIsASupervisorLikeItsBuilder) {
  auto slow = std::make_shared<Manner>();
  slow->stop_takes = absl::Seconds(8);
  const SupervisorSpec inner =
      OneForOne().Child("a", Of<Worker>("a", journal_, slow).ShutdownWithin(absl::Seconds(20))).spec();
  const SupervisorRef root = system_.Spawn(OneForOne().OnEvent(Tell()).Child("inner", Of(inner).Transient()));
  system_.RunUntilIdle();
  EXPECT_EQ(system_.Ask(root.count_children(), CountChildren(), kSoon)->supervisors, 1);
  EXPECT_THAT(told_, ElementsAre("a: started", "inner: started"));
  journal_->Take();
  system_.RequestStop(root.pid(), ExitReason::Shutdown());
  system_.Advance(absl::Seconds(30));
  EXPECT_EQ(journal_->Take(), "asked a, end a Shutdown") << "the child may take 20 s to stop";
  const SupervisorSpec bad{.children = {{.id = ""}}};
  EXPECT_THAT(std::string(OneForOne().Child("inner", Of(bad).Temporary()).Validate().message()),
              HasSubstr("child 'inner' / child number 1: id: is empty"));
}

TEST_F(BuildersTest, ABuilderIsDataAndCanBeStartedManyTimes) {
  const auto tree = OneForOne().Child("a", A());
  const Ref<Supervisor> first = system_.Spawn(tree);
  const Ref<Supervisor> second = system_.Spawn(tree);
  system_.RunUntilIdle();
  EXPECT_NE(first, second);
  EXPECT_EQ(journal_->Take(), "start a, start a");
  EXPECT_EQ(DescribeTree(tree.spec()),
            "one_for_one, at most 1 restart in 5s\n  a: permanent worker, stopped within 5s\n");
}

TEST_F(BuildersTest, AnErrorDeepInATreeSaysWhere) {
  const auto tree = OneForOne().Child("lots", Of(OneForOne().Child("lot-1", A().StartWithin(absl::ZeroDuration()))));
  EXPECT_EQ(tree.Validate().message(),
            "error in the supervision tree: child 'lots' / child 'lot-1': start_within: 0 leaves no time to start; it "
            "must be above 0");
}

TEST_F(BuildersTest, NodeNamedOnAWorkerIsAnError) {
  EXPECT_EQ(OneForOne().Child("a", A().NodeNamed("n")).Validate().message(),
            "error in the supervision tree: child 'a': process: given for a worker; only a process has one");
}

TEST_F(BuildersTest, AWorkerOfDataAloneIsToldBeforeAnythingStarts) {
  auto life = std::make_shared<RootLife>();
  SupervisorSpec spec = OneForOne().Child("a", A()).spec();
  spec.children.push_back({.id = "b"});
  system_.Spawn<Launcher>(MakeSupervisor(spec), life);
  system_.RunUntilIdle();
  EXPECT_EQ(journal_->Take(), "");
  EXPECT_THAT(life->end().ToString(), HasSubstr("child 'b': start: is missing: what makes the actor?"));
}

// ---- Process children ----

TEST_F(BuildersTest, AProcessChildNeedsANode) {
  auto life = std::make_shared<RootLife>();
  system_.Spawn<Launcher>(OneForOne().Child("ledger", Process("ledger_node")), life);
  system_.RunUntilIdle();
  EXPECT_THAT(life->end().ToString(),
              HasSubstr("child 'ledger' is a process, but this system has no Node to start it"));
}

class FakeSpawner final : public Spawner {
 public:
  explicit FakeSpawner(std::shared_ptr<Journal> journal) : journal_(std::move(journal)) {}
  absl::StatusOr<std::function<std::unique_ptr<Actor>()>> ForProcess(const ProcessChild& child) override {
    if (is_missing || child.binary == "missing") return absl::NotFoundError("no binary 'missing'");
    asked.push_back(child);
    return [journal = journal_, name = child.node_name] { return std::make_unique<Worker>(name, journal); };
  }
  absl::StatusOr<std::function<std::unique_ptr<Actor>()>> ForNode(const NodeChild&) override {
    return absl::UnimplementedError("no other nodes");
  }
  bool Grants(Pid) override { return false; }
  std::vector<ProcessChild> asked;
  bool is_missing = false;

 private:
  const std::shared_ptr<Journal> journal_;
};

TEST_F(BuildersTest, AProcessChildIsStartedThroughTheSpawnerAndRestartedByItsStatus) {
  FakeSpawner spawner(journal_);
  system_.InstallSpawner(&spawner);
  const SupervisorRef root = system_.Spawn(OneForOne().OnEvent(Tell()).Child(
      "ledger", Process("ledger_node", {"--db", "x"}).ShutdownWithin(absl::Seconds(8)).SilentWithin(absl::Seconds(3))));
  system_.RunUntilIdle();
  ASSERT_EQ(spawner.asked.size(), 1u);
  EXPECT_EQ(spawner.asked[0].binary, "ledger_node");
  EXPECT_THAT(spawner.asked[0].arguments, ElementsAre("--db", "x"));
  EXPECT_EQ(spawner.asked[0].node_name, "ledger");
  EXPECT_EQ(spawner.asked[0].stop_within, absl::Seconds(4));
  EXPECT_EQ(spawner.asked[0].silent_within, absl::Seconds(3));
  Ref<Worker>(ChildrenOf(root).children[0].pid)[&Worker::end].Tell(End{ExitReason::OsSignal(11)});
  system_.RunUntilIdle();
  EXPECT_EQ(journal_->Take(), "start ledger, end ledger OsSignal, start ledger");
  EXPECT_THAT(told_, ElementsAre("ledger: started", "ledger: exited", "ledger: is restarted", "ledger: started"));
}

TEST_F(BuildersTest, AProcessIsSignalledByTheTimeThatItHasToStop) {
  FakeSpawner spawner(journal_);
  system_.InstallSpawner(&spawner);
  system_.Spawn(OneForOne()
                    .Child("a", Process("b").ShutdownWithin(absl::Seconds(8)))
                    .Child("b", Process("b").ShutdownWithoutLimit())
                    .Child("c", Process("b")));
  system_.RunUntilIdle();
  ASSERT_EQ(spawner.asked.size(), 3u);
  EXPECT_EQ(spawner.asked[0].stop_within, absl::Seconds(4));
  EXPECT_EQ(spawner.asked[1].stop_within, absl::InfiniteDuration());
  EXPECT_EQ(spawner.asked[2].stop_within, absl::Seconds(2.5));
}

TEST_F(BuildersTest, APoolsProcessesHaveTheirIdsAsNodeNames) {
  FakeSpawner spawner(journal_);
  system_.InstallSpawner(&spawner);
  auto pool = std::make_shared<PoolSpec>();
  pool->child = Process("b").Temporary().Spec("job");
  const SupervisorSpec spec{.pool = pool};
  const SupervisorRef root = system_.Spawn(MakeSupervisor(spec));
  for (const char* id : {"", "", "mine"}) {
    const auto started = system_.Ask(root.start_member(), StartMember{id}, kSoon);
    EXPECT_TRUE(started.ok()) << started.status();
  }
  EXPECT_EQ(journal_->Take(), "start job-1, start job-2, start mine");
  EXPECT_THAT(system_.Ask(root.start_member(), StartMember{"no node"}, kSoon).status().message(),
              HasSubstr("'no node' cannot be a node's name"));
}

// "job-1" may become the node name of the child job#1, which the pool may start at any time.
TEST_F(BuildersTest, NoGivenIdIsTheNodeNameOfOneThatIsMadeUp) {
  FakeSpawner spawner(journal_);
  system_.InstallSpawner(&spawner);
  for (const int shards : {1, 3}) {
    auto pool = std::make_shared<PoolSpec>();
    pool->child = Process("b").Temporary().Spec("job");
    pool->shards = shards;
    const SupervisorSpec spec{.pool = pool};
    const SupervisorRef root = system_.Spawn(MakeSupervisor(spec));
    const auto start = [&](const std::string& id) {
      return system_.Ask(root.start_member(), StartMember{id}, kSoon).status();
    };
    EXPECT_EQ(start("job-1").message(),
              "the id 'job-1' is the node name of the child that the pool may call 'job#1'; give another");
    EXPECT_TRUE(absl::IsInvalidArgument(start("job-18446744073709551616")));
    EXPECT_TRUE(absl::IsInvalidArgument(start("job#1")));
    for (const char* id : {"", "job", "job1", "job-x", "jobs-1", ""}) EXPECT_TRUE(start(id).ok()) << id;
    journal_->Take();
  }
  auto workers = std::make_shared<PoolSpec>();
  workers->child = A().Spec("job");
  const SupervisorRef root = system_.Spawn(MakeSupervisor(SupervisorSpec{.pool = workers}));
  EXPECT_TRUE(system_.Ask(root.start_member(), StartMember{"job-1"}, kSoon).ok()) << "without nodes there is no clash";
}

// Sends its supervisor a request at the first failed start that it is told of.
class Inquirer final : public Actor {
 public:
  Inquirer(SupervisorRef supervisor, std::vector<absl::Status>* answers) : supervisor_(supervisor), answers_(answers) {}
  Mailbox<"event", SupervisionEvent> event{this, {.capacity_messages = 1000}};
  StartResult Start() override { return listening_; }

 private:
  Task<> Hear(SupervisionEvent told) {
    if (told.kind != SupervisionEvent::Kind::kStartFailed || !answers_->empty()) co_return;
    auto asked = supervisor_.count_children().Ask(CountChildren(), kSoon);
    answers_->push_back((co_await asked).status());
  }
  const SupervisorRef supervisor_;
  std::vector<absl::Status>* const answers_;
  Behavior listening_{"listening", On(event, &Inquirer::Hear)};
};

TEST_F(BuildersTest, ASupervisorAnswersBetweenStartsThatFailAtOnce) {
  FakeSpawner spawner(journal_);
  system_.InstallSpawner(&spawner);
  const SupervisorRef root = system_.Spawn(OneForOne().Intensity(200, kSoon).Child("p", Process("b")));
  std::vector<absl::Status> answers;
  const Ref<Inquirer> inquirer = system_.Spawn<Inquirer>(root, &answers);
  system_.RunUntilIdle();
  ASSERT_TRUE(system_.Ask(root.subscribe(), Subscribe{inquirer[&Inquirer::event]}, kSoon).ok());
  spawner.is_missing = true;
  Ref<Worker>(ChildrenOf(root).children[0].pid)[&Worker::end].Tell(End{ExitReason::OsSignal(11)});
  system_.RunUntilIdle();
  EXPECT_THAT(answers, ElementsAre(absl::OkStatus()));
}

TEST_F(BuildersTest, AProcessThatCanNeverStartSaysWhy) {
  FakeSpawner spawner(journal_);
  system_.InstallSpawner(&spawner);
  auto life = std::make_shared<RootLife>();
  system_.Spawn<Launcher>(OneForOne().Child("m", Process("missing")), life);
  system_.RunUntilIdle();
  EXPECT_THAT(life->end().ToString(), HasSubstr("because of Failed(NOT_FOUND: no binary 'missing')"));
}

// ---- Supervision events ----

TEST_F(BuildersTest, EventsOfTheWholeTreeReachItsHandler) {
  system_.Spawn(OneForOne().OnEvent(Tell()).Child("s", Of(OneForOne().Child("a", A()))));
  system_.RunUntilIdle();
  EXPECT_THAT(told_, ElementsAre("a: started", "s: started"));
}

class Listener final : public Actor {
 public:
  explicit Listener(std::vector<SupervisionEvent>* heard) : heard_(heard) {}
  Mailbox<"event", SupervisionEvent> event{this};
  Mailbox<"end", End> end{this};
  StartResult Start() override { return listening_; }

 private:
  void Hear(const SupervisionEvent& told) { heard_->push_back(told); }
  void DoEnd(const End&) { context().Stop(); }
  std::vector<SupervisionEvent>* const heard_;
  Behavior listening_{"listening", On(event, &Listener::Hear), On(end, &Listener::DoEnd)};
};

TEST_F(BuildersTest, SubscribersGetEachEventUntilTheyEnd) {
  std::vector<SupervisionEvent> heard;
  const SupervisorRef root = system_.Spawn(OneForOne().Child("a", A().Backoff({.min = kSoon, .jitter = 0})));
  const Ref<Listener> listener = system_.Spawn<Listener>(&heard);
  system_.RunUntilIdle();
  ASSERT_TRUE(system_.Ask(root.subscribe(), Subscribe{listener[&Listener::event]}, kSoon).ok());
  CrashFirst(root);
  CrashFirst(root);
  ASSERT_EQ(heard.size(), 5u);
  EXPECT_EQ(heard[0].kind, SupervisionEvent::Kind::kExited);
  EXPECT_EQ(heard[0].supervisor, root.pid());
  EXPECT_EQ(heard[0].child, "a");
  EXPECT_EQ(heard[0].reason, ExitReason::Exception("std::logic_error", "a crashed"));
  EXPECT_EQ(heard[1].kind, SupervisionEvent::Kind::kRestarting);
  EXPECT_EQ(heard[1].restarts, 1);
  EXPECT_EQ(heard[2].kind, SupervisionEvent::Kind::kStarted);
  EXPECT_EQ(heard[3].kind, SupervisionEvent::Kind::kExited);
  EXPECT_EQ(heard[4].kind, SupervisionEvent::Kind::kBackoff);
  EXPECT_EQ(heard[4].wait, kSoon);
  EXPECT_EQ(heard[4].ToString(), "child 'a' is restarted later, in 1s, restart 2");
  listener[&Listener::end].Tell(End());
  system_.RunUntilIdle();
  int buried = 0;
  system_.SubscribeDeadLetters([&](const DeadLetter&) { ++buried; });
  system_.Advance(kSoon);
  CrashFirst(root);
  EXPECT_EQ(buried, 0) << "the supervisor still sends events to an ended subscriber";
}

TEST_F(BuildersTest, AnEventHasTheOffendersSpec) {
  std::vector<SupervisionEvent> events;
  const SupervisorRef root = system_.Spawn(OneForOne()
                                               .OnEvent([&](const SupervisionEvent& event) { events.push_back(event); })
                                               .Child("a", A().RegisteredAs("a").ShutdownWithin(kSoon)));
  system_.RunUntilIdle();
  CrashFirst(root);
  ASSERT_EQ(events.size(), 4u);
  for (const SupervisionEvent& event : events) {
    ASSERT_NE(event.spec, nullptr);
    EXPECT_EQ(event.spec->id, "a");
    EXPECT_EQ(event.spec->registered_as, "a");
    EXPECT_EQ(event.spec->shutdown, ChildShutdown::Within(kSoon));
  }
  EXPECT_EQ(events[0].reason.crash(), nullptr);
  ASSERT_EQ(events[1].kind, SupervisionEvent::Kind::kExited);
  ASSERT_NE(events[1].reason.crash(), nullptr);
  EXPECT_EQ(events[1].reason.crash()->pid, events[1].pid);
  EXPECT_EQ(events[1].reason.crash()->parent, root.pid());
  ASSERT_EQ(events[1].reason.crash()->messages.size(), 1u);
  EXPECT_EQ(events[1].reason.crash()->messages[0].mailbox, "crash");
  system_.Exit(root.pid(), ExitReason::Shutdown());
  system_.RunUntilIdle();
  ASSERT_EQ(events[4].kind, SupervisionEvent::Kind::kShutdown);
  EXPECT_EQ(events[4].spec, nullptr);
}

// OTP SUP-70
TEST_F(BuildersTest, AnEventPrintsAsOneLineAndAsAReport) {
  std::vector<SupervisionEvent> events;
  const SupervisorRef root =
      system_.Spawn(OneForOne()
                        .Intensity(0, kSoon)
                        .OnEvent([&](const SupervisionEvent& event) { events.push_back(event); })
                        .Child("a", Of(MakeActorSpec<Worker>(std::string("a"), journal_, std::make_shared<Manner>()))));
  system_.RunUntilIdle();
  CrashFirst(root);
  ASSERT_EQ(events[2].kind, SupervisionEvent::Kind::kGaveUp);
  const std::string a = events[1].pid.ToString();
  EXPECT_EQ(events[1].ToString(), "child 'a' " + a + " exited: Exception(std::logic_error: a crashed)");
  EXPECT_EQ(events[0].ToReport(), "supervisor: " + root.pid().ToString() + "\nevent: child 'a' started\noffender: " +
                                      a + ", a: permanent worker, stopped within 5s, restarts: 0\n");
  EXPECT_EQ(events[2].ToReport(),
            "supervisor: " + root.pid().ToString() +
                "\nevent: child 'a' is given up\n"
                "reason: RestartsExhausted(child 'a' needed 1 restart within 1s; 0 are allowed)\n"
                "  because of: Exception(std::logic_error: a crashed)\n"
                "    of " +
                a +
                " (a (understudy::Worker)) in mailbox crash handling a understudy::Crash from <no actor>\n"
                "    handled a understudy::Crash of 1 byte in mailbox crash\n"
                "offender: a: permanent worker, stopped within 5s, restarts: 0\n");
  const SupervisionEvent lines{.kind = SupervisionEvent::Kind::kExited,
                               .child = "b",
                               .reason = ExitReason::Failed(absl::InternalError("two\nlines"))};
  EXPECT_EQ(lines.ToString(), "child 'b' exited: Failed(INTERNAL: two\\nlines)");
  EXPECT_EQ(events[2].ToReport(40), CutText(events[2].ToReport(), 40));
}

TEST_F(BuildersTest, SubscribersAreBounded) {
  std::vector<SupervisionEvent> heard;
  const SupervisorRef root = system_.Spawn(OneForOne());
  for (size_t i = 0; i < limits::kSupervisionSubscribersMax; ++i) {
    const Ref<Listener> listener = system_.Spawn<Listener>(&heard);
    ASSERT_TRUE(system_.Ask(root.subscribe(), Subscribe{listener[&Listener::event]}, kSoon).ok());
    ASSERT_TRUE(system_.Ask(root.subscribe(), Subscribe{listener[&Listener::event]}, kSoon).ok()) << "again";
  }
  const Ref<Listener> one_more = system_.Spawn<Listener>(&heard);
  EXPECT_EQ(system_.Ask(root.subscribe(), Subscribe{one_more[&Listener::event]}, kSoon).status().message(),
            "Full: the supervisor has 100 subscribers, its limit");
}

TEST(SupervisionLog, EachEventIsALineThatNamesSupervisorChildAndReason) {
  SeededExecutor executor(1);
  KeptLog log;
  ActorSystem system({.name = "house", .executor = &executor, .seed = 1, .log = &log});
  auto journal = std::make_shared<Journal>();
  const SupervisorRef root = system.Spawn(OneForOne().Intensity(0, kSoon).Child("a", Of<Worker>("a", journal)));
  executor.RunUntilIdle();
  const Children children = *system.Ask(root.which_children(), WhichChildren(), kSoon);
  const std::string a = children.children[0].pid.ToString();
  Ref<Worker>(children.children[0].pid)[&Worker::crash].Tell(Crash());
  executor.RunUntilIdle();
  const std::string prefix = "supervisor " + root.pid().ToString();
  std::vector<std::string> lines;
  for (const std::string& line : log.lines()) {
    if (absl::StartsWith(line, prefix)) lines.push_back(line.substr(prefix.size()));
  }
  const std::string gave_up =
      "RestartsExhausted(child 'a' needed 1 restart within 1s; 0 are allowed); because of "
      "Exception(std::logic_error: a crashed)";
  EXPECT_THAT(lines, ElementsAre(": child 'a' " + a + " started",
                                 ": child 'a' " + a + " exited: Exception(std::logic_error: a crashed)",
                                 ": child 'a' is given up: " + gave_up, " stops its children: " + gave_up));
}

}  // namespace
}  // namespace understudy
