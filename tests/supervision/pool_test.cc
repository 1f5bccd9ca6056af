// Pools as actors on the seeded executor: pools of one shard, and pools of several shards that answer as one
// supervisor.
#include "understudy/supervision/pool.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/error.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/seeded_executor.h"
#include "understudy/actors/test_system.h"
#include "understudy/actors/testing/kept_log.h"
#include "understudy/supervision/builders.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/child_info.h"
#include "understudy/supervision/internal/existing_child.h"
#include "understudy/supervision/limits.h"
#include "understudy/supervision/supervision_event.h"
#include "understudy/supervision/supervisor.h"
#include "understudy/tests/actors/crash_by.h"
#include "understudy/tests/supervision/workers.h"

namespace understudy {
namespace {

using ::testing::HasSubstr;

constexpr absl::Duration kSoon = absl::Seconds(1);

// The arguments of a JobWorker.
struct Job {
  std::string name;
  std::shared_ptr<Journal> journal;
  std::shared_ptr<Manner> manner = std::make_shared<Manner>();
};

class JobWorker final : public Actor {
 public:
  explicit JobWorker(Job job) : job_(std::move(job)) {}

  Mailbox<"crash", Crash> crash{this};
  Mailbox<"end", End> end{this};

  StartResult Start() override {
    job_.journal->Add(absl::StrCat("start ", job_.name));
    if (job_.manner->ignores_shutdown) context().TrapExits([](const ExitEvent&) {}, [](const ExitEvent&) {});
    if (!job_.manner->start_fails.ok()) return job_.manner->start_fails;
    if (job_.manner->start_declines) return StartResult::Ignore();
    return job_.manner->start_hangs ? StartResult::Starting(working_) : StartResult(working_);
  }
  void OnExit(const ExitReason& reason) override {
    job_.journal->Add(absl::StrCat("end ", job_.name, " ", ExitKindName(reason.kind())));
  }

 private:
  void DoCrash(const Crash&) { CrashBy(context(), std::logic_error(absl::StrCat(job_.name, " crashed"))); }
  void DoEnd(const End& request) { context().Stop(request.reason); }

  const Job job_;
  Behavior working_{"working", On(crash, &JobWorker::DoCrash), On(end, &JobWorker::DoEnd)};
};

using Workers = Pool<JobWorker(Job)>;

struct Shape {
  int shards;
  uint64_t seed;
};
void PrintTo(const Shape& shape, std::ostream* out) { *out << shape.shards << " shards, seed " << shape.seed; }

std::vector<Shape> Shapes() {
  std::vector<Shape> shapes;
  for (uint64_t seed = 1; seed <= 25; ++seed) {
    shapes.push_back({1, seed});
    shapes.push_back({4, seed});
  }
  return shapes;
}

class PoolTest : public testing::TestWithParam<Shape> {
 protected:
  Workers::Ref SpawnPool(PoolOptions options, std::function<void(const SupervisionEvent&)> on_event = nullptr) {
    options.shards = GetParam().shards;
    launcher_ = system_.Spawn<Launcher>(
        OneForOne().Intensity(0, absl::Seconds(1)).OnEvent(std::move(on_event)).Child("pool", Of<Workers>(options)),
        life_);
    system_.RunUntilIdle();
    const absl::StatusOr<Children> root = system_.Ask(SupervisorRef(life_->pid()).which_children(), {}, kSoon);
    EXPECT_TRUE(root.ok() && root->children.size() == 1) << root.status();
    return root.ok() && !root->children.empty() ? Workers::Ref(root->children[0].pid) : Workers::Ref();
  }
  Job JobOf(const std::string& name) { return {name, journal_}; }
  absl::StatusOr<Ref<JobWorker>> Begin(Workers::Ref pool, const std::string& id) {
    return system_.Ask(pool.start_as(), {id, JobOf(id)}, kSoon);
  }
  ChildCounts CountOf(Workers::Ref pool) {
    const absl::StatusOr<ChildCounts> counts = system_.Ask(pool.count_children(), CountChildren(), kSoon);
    EXPECT_TRUE(counts.ok()) << counts.status();
    return counts.value_or(ChildCounts());
  }
  std::vector<ChildInfo> AllOf(Workers::Ref pool, size_t page) {
    std::vector<ChildInfo> all;
    uint64_t after = 0;
    do {
      const absl::StatusOr<Children> answer = system_.Ask(pool.which_children(), {after, page}, kSoon);
      EXPECT_TRUE(answer.ok()) << answer.status();
      if (!answer.ok()) break;
      EXPECT_LE(answer->children.size(), page);
      all.insert(all.end(), answer->children.begin(), answer->children.end());
      after = answer->next;
    } while (after != 0);
    return all;
  }
  ExitReason EndOfRoot() {
    for (int i = 0; i < 3600 && !life_->has_ended(); ++i) system_.Advance(absl::Seconds(1));
    EXPECT_TRUE(life_->has_ended());
    return life_->has_ended() ? life_->end() : ExitReason();
  }

  TestSystem system_{GetParam().seed};
  std::shared_ptr<RootLife> life_ = std::make_shared<RootLife>();
  std::shared_ptr<Journal> journal_ = std::make_shared<Journal>();
  understudy::Ref<Launcher> launcher_;
};

INSTANTIATE_TEST_SUITE_P(Seeds, PoolTest, testing::ValuesIn(Shapes()));

TEST(PoolLog, UsualEventsOfAPoolsChildrenAreLoggedForDebugging) {
  for (const LogSeverity least : {LogSeverity::kDebug, LogSeverity::kInfo}) {
    KeptLog log(least);
    SeededExecutor executor(1);
    ActorSystem system({.name = "house", .executor = &executor, .seed = 1, .log = &log});
    const SupervisorRef root = system.Spawn(OneForOne().Child("pool", Of<Workers>(PoolOptions())));
    executor.RunUntilIdle();
    const Workers::Ref pool(system.Ask(root.which_children(), {}, kSoon)->children[0].pid);
    auto journal = std::make_shared<Journal>();
    ASSERT_TRUE(system.Ask(pool.start_as(), {"a", Job{"a", journal}}, kSoon).ok());
    ASSERT_TRUE(system.Ask(pool.terminate_child(), TerminateChild{"a"}, kSoon).ok());
    const auto b = system.Ask(pool.start_as(), {"b", Job{"b", journal}}, kSoon);
    ASSERT_TRUE(b.ok()) << b.status();
    EXPECT_EQ(log.lines().size(), least == LogSeverity::kDebug ? 4U : 1U) << testing::PrintToString(log.lines());
    (*b)[&JobWorker::crash].Tell(Crash());
    executor.RunUntilIdle();
    EXPECT_THAT(log.lines(), testing::Contains(HasSubstr("child 'b' <house")));
  }
}

// OTP SUP-31
TEST_P(PoolTest, ChildrenAreStartedWithArgumentsAndEachHasARefAndAnId) {
  const Workers::Ref pool = SpawnPool({.id = "worker"});
  const absl::StatusOr<Ref<JobWorker>> first = system_.Ask(pool.start(), JobOf("x"), kSoon);
  const absl::StatusOr<Ref<JobWorker>> second = system_.Ask(pool.start(), JobOf("y"), kSoon);
  ASSERT_TRUE(first.ok() && second.ok()) << first.status() << second.status();
  EXPECT_EQ(journal_->Take(), "start x, start y");
  ASSERT_TRUE(Begin(pool, "z").ok());
  std::set<std::string> ids;
  std::set<Pid> pids;
  for (const ChildInfo& child : AllOf(pool, 2)) {
    ids.insert(child.id);
    pids.insert(child.pid);
  }
  EXPECT_EQ(ids, (std::set<std::string>{"worker#1", "worker#2", "z"}));
  EXPECT_TRUE(pids.contains(first->pid()) && pids.contains(second->pid()));
  EXPECT_EQ(CountOf(pool).active, 3);
  EXPECT_EQ(CountOf(pool).specs, 3);
  EXPECT_EQ(CountOf(pool).workers, 3);
}

TEST_P(PoolTest, AStartThatFailsSaysWhyAndOneThatDeclinesGivesNobody) {
  const Workers::Ref pool = SpawnPool({});
  Job bad = JobOf("bad");
  bad.manner->start_fails = absl::UnavailableError("the file is locked");
  const auto failed = system_.Ask(pool.start(), bad, kSoon);
  EXPECT_TRUE(absl::IsUnavailable(failed.status())) << failed.status();
  EXPECT_THAT(failed.status().message(), HasSubstr("the file is locked"));
  Job shy = JobOf("shy");
  shy.manner->start_declines = true;
  const auto declined = system_.Ask(pool.start(), shy, kSoon);
  ASSERT_TRUE(declined.ok()) << declined.status();
  EXPECT_TRUE(declined->pid().is_null());
  EXPECT_EQ(CountOf(pool).specs, 0);
}

TEST_P(PoolTest, IdsAreUniqueAndAnEmptyOrNumberedOneIsRefused) {
  const Workers::Ref pool = SpawnPool({});
  const auto first = Begin(pool, "a");
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(ExistingChild(Begin(pool, "a").status()), first->pid());
  EXPECT_TRUE(absl::IsInvalidArgument(Begin(pool, "").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Begin(pool, "child#1").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Begin(pool, std::string(300, 'x')).status()));
  EXPECT_EQ(CountOf(pool).specs, 1);
}

// OTP SUP-20
TEST_P(PoolTest, ChildrenAreTerminatedByIdAndByPidAndAgain) {
  const Workers::Ref pool = SpawnPool({.restart = RestartType::kPermanent});
  const Ref<JobWorker> a = Begin(pool, "a").value();
  const Ref<JobWorker> b = Begin(pool, "b").value();
  journal_->Take();
  const auto terminate = [&](TerminateChild request) {
    return system_.Ask(pool.terminate_child(), std::move(request), kSoon).status();
  };
  EXPECT_TRUE(terminate({.pid = a.pid()}).ok());
  EXPECT_EQ(journal_->Take(), "end a Shutdown");
  EXPECT_TRUE(terminate({.pid = a.pid()}).ok()) << "it is down";
  EXPECT_TRUE(terminate({.id = "b"}).ok());
  EXPECT_TRUE(absl::IsNotFound(terminate({.id = "b"})));
  EXPECT_TRUE(terminate({.pid = b.pid()}).ok());
  const absl::Status stranger = terminate({.pid = launcher_.pid()});
  EXPECT_TRUE(absl::IsNotFound(stranger)) << stranger;
  EXPECT_THAT(stranger.message(), HasSubstr("no child of this supervisor has the pid"));
  EXPECT_EQ(CountOf(pool).specs, 0);
  EXPECT_TRUE(absl::IsFailedPrecondition(system_.Ask(pool.restart_child(), {"a"}, kSoon).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(system_.Ask(pool.delete_child(), {"a"}, kSoon).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(
      system_.Ask(pool.start_child(), {Of<JobWorker>(JobOf("c")).Temporary().Spec("c")}, kSoon).status()));
}

TEST_P(PoolTest, ACrashedChildIsRestartedAloneWithACopyOfItsArguments) {
  const Workers::Ref pool = SpawnPool({.restart = RestartType::kTransient, .intensity = 3});
  const Ref<JobWorker> a = Begin(pool, "a").value();
  ASSERT_TRUE(Begin(pool, "b").ok());
  journal_->Take();
  a[&JobWorker::crash].Tell(Crash());
  system_.RunUntilIdle();
  EXPECT_EQ(journal_->Take(), "end a Exception, start a");
  bool seen = false;
  for (const ChildInfo& child : AllOf(pool, 10)) {
    if (child.id != "a") continue;
    seen = true;
    EXPECT_NE(child.pid, a.pid());
    EXPECT_EQ(child.restarts, 1);
    Ref<JobWorker>(child.pid)[&JobWorker::end].Tell(End{ExitReason::Normal()});
  }
  EXPECT_TRUE(seen);
  system_.RunUntilIdle();
  EXPECT_EQ(CountOf(pool).specs, 1) << "it ended normally, and is forgotten";
  EXPECT_EQ(system_.Ask(pool.get_child_spec(), {"b"}, kSoon)->restart, RestartType::kTransient);
}

// OTP SUP-31, SUP-34
TEST_P(PoolTest, SpentIntensityEndsThePoolAndTheChainSaysWhy) {
  const Workers::Ref pool = SpawnPool({.restart = RestartType::kPermanent, .intensity = 2});
  Job job = JobOf("a");
  const Ref<JobWorker> a = system_.Ask(pool.start_as(), {"a", job}, kSoon).value();
  ASSERT_TRUE(Begin(pool, "b").ok());
  job.manner->start_fails = absl::UnavailableError("the file is locked");
  a[&JobWorker::crash].Tell(Crash());
  const std::string end = EndOfRoot().ToString();
  EXPECT_THAT(end, HasSubstr("RestartsExhausted(child 'pool'"));
  EXPECT_THAT(end, HasSubstr("RestartsExhausted(child 'a' needed 3 restarts within 5s; 2 are allowed)"));
  EXPECT_THAT(end, HasSubstr("the file is locked"));
  EXPECT_EQ(system_.live_actors(), 0);
}

// OTP SUP-32
TEST_P(PoolTest, ChildrenAreStoppedAtOnceAndStragglersKilledAfterOneTimeout) {
  const Workers::Ref pool = SpawnPool({.shutdown = ChildShutdown::Within(absl::Seconds(2))});
  for (int i = 0; i < 20; ++i) {
    Job job = JobOf(absl::StrCat(i));
    job.manner->ignores_shutdown = i % 2 == 0;
    ASSERT_TRUE(system_.Ask(pool.start(), job, kSoon).ok());
  }
  const MonotonicTime before = system_.Now();
  launcher_[&Launcher::exit].Tell(End{ExitReason::Shutdown()});
  while (!life_->has_ended() && system_.Now() - before < absl::Minutes(1)) system_.Advance(absl::Milliseconds(10));
  EXPECT_EQ(EndOfRoot(), ExitReason::Shutdown());
  EXPECT_GE(system_.Now() - before, absl::Seconds(2));
  EXPECT_LT(system_.Now() - before, absl::Seconds(2.5)) << "one timeout, not ten";
  EXPECT_EQ(system_.live_actors(), 0);
}

TEST_P(PoolTest, AKilledPoolLeavesNoOrphan) {
  const Workers::Ref pool = SpawnPool({});
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(Begin(pool, absl::StrCat(i)).ok());
  system_.Kill(pool.pid());
  EXPECT_THAT(EndOfRoot().ToString(), HasSubstr("Killed"));
  EXPECT_EQ(system_.live_actors(), 0);
}

TEST_P(PoolTest, AShardThatEndsEndsThePool) {
  Pid last_shard;
  const Workers::Ref pool = SpawnPool({}, [&last_shard](const SupervisionEvent& event) {
    if (event.child == "worker") last_shard = event.supervisor;
  });
  ASSERT_TRUE(Begin(pool, "worker").ok());
  ASSERT_TRUE(Begin(pool, "another").ok());
  EXPECT_EQ(last_shard == pool.pid(), GetParam().shards == 1);
  system_.Kill(last_shard);
  EXPECT_THAT(EndOfRoot().ToString(), HasSubstr("RestartsExhausted(child 'pool'"));
  EXPECT_EQ(system_.live_actors(), 0);
}

TEST_P(PoolTest, EveryShardHasItsPartOfTheChildrenWithAndWithoutIds) {
  std::set<Pid> supervisors;
  const Workers::Ref pool = SpawnPool({}, [&supervisors](const SupervisionEvent& event) {
    if (event.kind == SupervisionEvent::Kind::kStarted && event.child != "pool") supervisors.insert(event.supervisor);
  });
  supervisors.clear();  // forget the supervisors of the shards themselves
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(system_.Ask(pool.start(), JobOf("x"), kSoon).ok());
  EXPECT_EQ(std::exchange(supervisors, {}).size(), static_cast<size_t>(GetParam().shards));
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(Begin(pool, absl::StrCat("named-", i)).ok());
  EXPECT_EQ(supervisors.size(), static_cast<size_t>(GetParam().shards));
  std::set<std::string> ids;
  uint64_t place = 0;
  for (const ChildInfo& child : AllOf(pool, 7)) {
    EXPECT_TRUE(ids.insert(child.id).second) << child.id;
    EXPECT_GT(child.place, std::exchange(place, child.place));
  }
  EXPECT_EQ(ids.size(), 80U);
}

TEST_P(PoolTest, TheMostChildrenAreCountedInEachShard) {
  const Workers::Ref pool = SpawnPool({.children_max = 8});
  int started = 0;
  for (int i = 0; i < 100; ++i) {
    const absl::Status status = Begin(pool, absl::StrCat("c", i)).status();
    started += status.ok() ? 1 : 0;
    EXPECT_TRUE(status.ok() || absl::IsResourceExhausted(status)) << status;
  }
  EXPECT_EQ(started, 8);
  EXPECT_EQ(CountOf(pool).specs, 8);
}

TEST_P(PoolTest, APageAfterNoChildIsEmptyOrAnError) {
  const Workers::Ref pool = SpawnPool({});
  ASSERT_TRUE(Begin(pool, "a").ok());
  const auto page = system_.Ask(pool.which_children(), {.after = UINT64_MAX}, kSoon);
  if (GetParam().shards == 1) {
    ASSERT_TRUE(page.ok()) << page.status();
    EXPECT_TRUE(page->children.empty());
  } else {
    EXPECT_TRUE(absl::IsInvalidArgument(page.status())) << page.status();
  }
}

TEST_P(PoolTest, ItsOwnEventHandlerHearsInsteadOfItsParents) {
  auto own = std::make_shared<Journal>();
  auto parents = std::make_shared<Journal>();
  const auto into = [](std::shared_ptr<Journal> journal) {
    return [journal](const SupervisionEvent& event) { journal->Add(event.child); };
  };
  PoolOptions options;
  options.on_event = into(own);
  const Workers::Ref pool = SpawnPool(options, into(parents));
  own->Take();
  ASSERT_TRUE(Begin(pool, "a").ok());
  EXPECT_EQ(own->Take(), "a");
  EXPECT_EQ(parents->Take(), "pool");
}

// The request has neither an id nor a pid.
TEST_P(PoolTest, AnEmptyTerminationIsNotFound) {
  const Workers::Ref pool = SpawnPool({});
  EXPECT_TRUE(absl::IsNotFound(system_.Ask(pool.terminate_child(), {}, kSoon).status()));
}

TEST_P(PoolTest, AStartThatHangsHoldsUpNobodyAndIsBounded) {
  const Workers::Ref pool = SpawnPool({.start_within = absl::Seconds(10)});
  Job slow = JobOf("slow");
  slow.manner->start_hangs = true;
  const auto hung = system_.Ask(pool.start(), slow, absl::Milliseconds(100));
  EXPECT_TRUE(IsExpired(hung.status())) << hung.status();
  EXPECT_TRUE(Begin(pool, "quick").ok());
  EXPECT_EQ(CountOf(pool).active, 1);
  EXPECT_EQ(CountOf(pool).specs, 2);
  system_.Advance(absl::Seconds(11));
  EXPECT_EQ(CountOf(pool).specs, 1);
}

TEST_P(PoolTest, ASubscriberHearsOfEveryChild) {
  std::shared_ptr<Journal> heard = std::make_shared<Journal>();
  class Listener final : public Actor {
   public:
    explicit Listener(std::shared_ptr<Journal> heard) : heard_(std::move(heard)) {}
    Mailbox<"event", SupervisionEvent> event{this};
    StartResult Start() override { return listening_; }

   private:
    void Hear(const SupervisionEvent& heard) {
      heard_->Add(absl::StrCat(heard.child, " ", SupervisionEventName(heard.kind)));
    }
    const std::shared_ptr<Journal> heard_;
    Behavior listening_{"listening", On(event, &Listener::Hear)};
  };
  const Workers::Ref pool = SpawnPool({});
  const auto listener = system_.Spawn<Listener>(heard);
  ASSERT_TRUE(system_.Ask(pool.subscribe(), {listener[&Listener::event]}, kSoon).ok());
  ASSERT_TRUE(Begin(pool, "a").ok());
  ASSERT_TRUE(system_.Ask(pool.terminate_child(), {.id = "a"}, kSoon).ok());
  system_.RunUntilIdle();
  EXPECT_EQ(heard->Take(), "a started, a was stopped");
  // Events of the supervisor of the shards are also reported.
  system_.RequestStop(pool.pid());
  system_.RunUntilIdle();
  EXPECT_THAT(heard->Take(), HasSubstr(GetParam().shards == 1 ? " stops its children" : "shard-0 was stopped"));
}

TEST(PoolForms, NoOrSeveralArgumentsAreATupleAndThePoolsFieldsAreChecked) {
  class Plain final : public Actor {
   public:
    StartResult Start() override {
      return Behavior("idle", After(absl::InfiniteDuration(), [] {}));
    }
  };
  class Pair final : public Actor {
   public:
    Pair(int number, const std::string& text) : sum_(absl::StrCat(number, text)) {}
    Mailbox<"ask", Call<int, std::string>> ask{this};
    StartResult Start() override { return answering_; }

   private:
    std::string Answer(int) { return sum_; }
    const std::string sum_;
    Behavior answering_{"answering", On(ask, &Pair::Answer)};
  };
  TestSystem system(1);
  const PoolRef<Plain()> plain = system.Spawn<Pool<Plain()>>();
  EXPECT_TRUE(system.Ask(plain.start(), std::tuple<>(), kSoon).ok());
  const PoolRef<Pair(int, const std::string&)> pairs = system.Spawn<Pool<Pair(int, const std::string&)>>();
  const Ref<Pair> pair = system.Ask(pairs.start(), {7, "up"}, kSoon).value();
  EXPECT_EQ(system.Ask(pair[&Pair::ask], 0, kSoon).value(), "7up");
  const absl::Status wrong = OneForOne().Child("pool", Of<Workers>(PoolOptions{.shards = 0}).BrutalKill()).Validate();
  EXPECT_THAT(wrong.message(), HasSubstr("child 'pool': pool.shards: 0 is not in [1, 64]"));
  EXPECT_THAT(wrong.message(), HasSubstr("child 'pool': shutdown: BrutalKill"));
  EXPECT_TRUE(absl::IsNotFound(system.Ask(plain.terminate_child(), {.pid = pair.pid()}, kSoon).status()));
}

// A pool that is given as data: its template says how its children are made.
TEST(PoolForms, ATreesPoolMakesChildrenOfItsTemplate) {
  TestSystem system(1);
  auto journal = std::make_shared<Journal>();
  auto pool = std::make_shared<PoolSpec>();
  pool->child = Of<Worker>("w", journal).Temporary().Spec("w");
  SupervisorSpec tree;
  tree.pool = pool;
  EXPECT_EQ(DescribeTree(tree), "pool, at most 1 restart in 5s\n  each w: temporary worker, stopped within 5s\n");
  const SupervisorRef ref = system.Spawn(MakeSupervisor(tree));
  EXPECT_TRUE(system.Ask(ref.start_member(), {}, kSoon).ok());
  EXPECT_TRUE(system.Ask(ref.start_member(), {"mine"}, kSoon).ok());
  const Children children = system.Ask(ref.which_children(), {}, kSoon).value();
  ASSERT_EQ(children.children.size(), 2U);
  EXPECT_EQ(children.children[0].id, "w#1");
  EXPECT_EQ(children.children[1].id, "mine");
  EXPECT_EQ(journal->Take(), "start w, start w");
}

TEST(PoolForms, WhichChildrenIsBoundedForEverySupervisor) {
  TestSystem system(1);
  auto journal = std::make_shared<Journal>();
  const PoolRef<Worker(std::string, std::shared_ptr<Journal>)> pool =
      system.Spawn<Pool<Worker(std::string, std::shared_ptr<Journal>)>>();
  const int count = static_cast<int>(limits::kChildrenPerAnswerMax) + 5;
  for (int i = 0; i < count; ++i) {
    ASSERT_TRUE(system.Ask(pool.start(), {absl::StrCat(i), journal}, kSoon).ok());
  }
  const Children first = system.Ask(pool.which_children(), {.at_most = 1000000}, kSoon).value();
  EXPECT_EQ(first.children.size(), limits::kChildrenPerAnswerMax);
  const Children rest = system.Ask(pool.which_children(), {.after = first.next}, kSoon).value();
  EXPECT_EQ(rest.children.size(), 5U);
  EXPECT_EQ(rest.next, 0U);
}

}  // namespace
}  // namespace understudy
