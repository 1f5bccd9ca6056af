// Each error of a tree's spec, with the text that a user reads.
#include "understudy/supervision/spec_errors.h"

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/tests/supervision/startable.h"

namespace understudy {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> ErrorsOf(const SupervisorSpec& spec) {
  std::vector<std::string> errors;
  for (const SpecError& error : FindSpecErrors(Startable(spec))) errors.push_back(error.ToString());
  return errors;
}

SupervisorSpec With(ChildSpec child) {
  if (child.id.empty()) child.id = "a";
  return SupervisorSpec{.children = {std::move(child)}};
}

ChildSpec Process(const std::string& id, ProcessSpec process) {
  return {.id = id, .kind = ChildKind::kProcess, .process = std::move(process)};
}

// OTP SUP-13: The defaults.
TEST(ChildSpec, TheDefaultsAreThoseOfOtp) {
  const ChildSpec child{.id = "a"};
  EXPECT_EQ(child.restart, RestartType::kPermanent);
  EXPECT_EQ(ShutdownOf(child), ChildShutdown::Within(absl::Seconds(5)));
  EXPECT_EQ(ShutdownOf({.id = "s", .kind = ChildKind::kSupervisor}), ChildShutdown::Infinity());
  EXPECT_EQ(SupervisorSpec().intensity, 1);
  EXPECT_EQ(SupervisorSpec().period, absl::Seconds(5));
  EXPECT_THAT(ErrorsOf(With(child)), IsEmpty());
}

// OTP SUP-24
TEST(SpecErrors, IntensityAndPeriodOutOfRangeAreRefused) {
  EXPECT_THAT(ErrorsOf({.intensity = -1}), ElementsAre("intensity: -1 is negative; 0 or more restarts may be allowed"));
  EXPECT_THAT(ErrorsOf({.intensity = 1000000}),
              ElementsAre("intensity: 1000000 is too large; at most 100000 restarts are counted"));
  EXPECT_THAT(ErrorsOf({.period = absl::ZeroDuration()}),
              ElementsAre("period: 0 is not a period; it must be above 0 and finite"));
  EXPECT_THAT(ErrorsOf({.period = absl::InfiniteDuration()}),
              ElementsAre("period: inf is not a period; it must be above 0 and finite"));
  EXPECT_THAT(ErrorsOf({.period = -absl::Seconds(1)}),
              ElementsAre("period: -1s is not a period; it must be above 0 and finite"));
}

// OTP SUP-15, SUP-23
TEST(SpecErrors, EmptyLongUnprintableAndRepeatedIdsAreRefused) {
  EXPECT_THAT(ErrorsOf({.children = {{.id = "a"}, {.id = ""}}}),
              ElementsAre("child number 2: id: is empty; a child needs one, for reports and requests"));
  EXPECT_THAT(ErrorsOf({.children = {{.id = "a"}, {.id = "b"}, {.id = "a"}, {.id = "a"}}}),
              ElementsAre("child 'a': id: given to 3 children; each needs its own"));
  EXPECT_THAT(ErrorsOf(With({.id = "a\nb"})),
              ElementsAre("child 'a\nb': id: has a control character; names are read by people"));
  EXPECT_THAT(ErrorsOf(With({.id = std::string(256, 'x')})),
              ElementsAre("child '" + std::string(256, 'x') + "': id: has 256 bytes; at most 255 are allowed"));
}

TEST(SpecErrors, AShutdownTimeoutThatIsNotPositiveIsRefused) {
  for (const absl::Duration bad : {absl::ZeroDuration(), -absl::Seconds(3)}) {
    EXPECT_THAT(ErrorsOf(With({.shutdown = ChildShutdown::Within(bad)})),
                ElementsAre("child 'a': shutdown: " + absl::FormatDuration(bad) +
                            " is not a time to stop in; give a finite time above 0, BrutalKill or Infinity"));
  }
  // OTP SUP-16
  EXPECT_EQ(ChildShutdown::Within(absl::InfiniteDuration()), ChildShutdown::Infinity());
}

TEST(SpecErrors, AStartTimeoutOfZeroIsRefused) {
  EXPECT_THAT(ErrorsOf(With({.start_within = absl::ZeroDuration()})),
              ElementsAre("child 'a': start_within: 0 leaves no time to start; it must be above 0"));
}

// OTP SUP-23
TEST(SpecErrors, SignificanceThatCannotWork) {
  EXPECT_THAT(
      ErrorsOf({.auto_shutdown = AutoShutdown::kAnySignificant, .children = {{.id = "a", .significant = true}}}),
      ElementsAre("child 'a': significant: a permanent child is always restarted, so its end never shuts the "
                  "supervisor down; make it transient or temporary"));
  EXPECT_THAT(ErrorsOf(With({.restart = RestartType::kTransient, .significant = true})),
              ElementsAre("child 'a': significant: has no effect: the supervisor's auto_shutdown is never"));
}

TEST(SpecErrors, ASupervisorNeedsMoreTimeThanItsChildrenOneAfterAnother) {
  SupervisorSpec lots{.children = {{.id = "x", .shutdown = ChildShutdown::Within(absl::Seconds(2))},
                                   {.id = "y", .shutdown = ChildShutdown::Within(absl::Seconds(3))},
                                   {.id = "z", .shutdown = ChildShutdown::BrutalKill()}}};
  ChildSpec child{.id = "lots",
                  .kind = ChildKind::kSupervisor,
                  .shutdown = ChildShutdown::Within(absl::Seconds(5)),
                  .subtree = std::make_shared<SupervisorSpec>(lots)};
  EXPECT_THAT(ErrorsOf(With(child)),
              ElementsAre("child 'lots': shutdown: 5s is not more than its children may take to stop, one after "
                          "another (5s); give it more, or Infinity"));
  child.shutdown = ChildShutdown::Within(absl::Seconds(6));
  EXPECT_THAT(ErrorsOf(With(child)), IsEmpty());
  child.shutdown = ChildShutdown::BrutalKill();
  EXPECT_THAT(ErrorsOf(With(child)), ElementsAre("child 'lots': shutdown: BrutalKill of a supervisor does not stop its "
                                                 "children in order; give it time, or Infinity"));
  lots.children[0].shutdown = ChildShutdown::Infinity();
  child.subtree = std::make_shared<SupervisorSpec>(lots);
  child.shutdown = ChildShutdown::Within(absl::Hours(1));
  EXPECT_THAT(ErrorsOf(With(child)),
              ElementsAre("child 'lots': shutdown: 1h is not more than its children may take to stop, one after "
                          "another (any time); give it more, or Infinity"));
}

TEST(SpecErrors, EachBackoffFieldOutOfRangeIsRefused) {
  RestartBackoff bad{.min = absl::ZeroDuration(),
                     .max = absl::InfiniteDuration(),
                     .factor = 0.5,
                     .jitter = 1.5,
                     .reset_after = absl::ZeroDuration(),
                     .give_up_after_attempts = 1,
                     .give_up_after = absl::ZeroDuration()};
  EXPECT_THAT(
      ErrorsOf(With({.backoff = bad})),
      ElementsAre(
          "child 'a': backoff.min: 0 must be above 0 and finite",
          "child 'a': backoff.max: inf must be finite and not below backoff.min, 0",
          "child 'a': backoff.factor: 0.5 is not in [1, 1000]", "child 'a': backoff.jitter: 1.5 is not in [0, 1]",
          "child 'a': backoff.reset_after: 0 would count a child as healthy as soon as it starts; it must be above 0",
          "child 'a': backoff.give_up_after_attempts: 1 gives up before the first wait; it must be 2 or more",
          "child 'a': backoff.give_up_after: 0 gives up within the first wait; it must be more than "
          "backoff.min, 0"));
  EXPECT_THAT(ErrorsOf(With({.backoff = RestartBackoff{.factor = std::numeric_limits<double>::quiet_NaN()}})),
              ElementsAre("child 'a': backoff.factor: nan is not in [1, 1000]"));
  EXPECT_THAT(ErrorsOf(With({.backoff = RestartBackoff{.min = absl::Seconds(2), .max = absl::Seconds(1)}})),
              ElementsAre("child 'a': backoff.max: 1s must be finite and not below backoff.min, 2s"));
}

TEST(SpecErrors, ANumberOfAttemptsThatTheWaitsNeverReach) {
  // The waits before the fourth attempt take at least 0.8 + 1.6 + 3.2 s. The fifth crash may happen at once.
  RestartBackoff backoff{.min = absl::Seconds(1), .give_up_after_attempts = 5, .give_up_after = absl::Seconds(5)};
  EXPECT_THAT(ErrorsOf(With({.backoff = backoff})),
              ElementsAre("child 'a': backoff.give_up_after_attempts: 5 restarts are never reached: the waits before "
                          "them are longer than backoff.give_up_after, 5s"));
  backoff.give_up_after_attempts = 4;
  EXPECT_THAT(ErrorsOf(With({.backoff = backoff})), IsEmpty());
  backoff.give_up_after_attempts = 5;
  backoff.jitter = 1;  // each wait may be zero
  EXPECT_THAT(ErrorsOf(With({.backoff = backoff})), IsEmpty());
  // The default number of attempts is only a backstop, so it is not an error that it cannot be reached.
  EXPECT_THAT(ErrorsOf(With({.backoff = RestartBackoff{.give_up_after = absl::Minutes(1)}})), IsEmpty());
  // Many waits that have reached their maximum.
  EXPECT_THAT(ErrorsOf(With({.backoff = RestartBackoff{.min = absl::Seconds(1),
                                                       .max = absl::Seconds(1),
                                                       .jitter = 0,
                                                       .give_up_after_attempts = 1000000,
                                                       .give_up_after = absl::Seconds(999998)}})),
              testing::SizeIs(1));
  EXPECT_THAT(ErrorsOf(With({.backoff = RestartBackoff{.min = absl::Seconds(1),
                                                       .max = absl::Seconds(1),
                                                       .jitter = 0,
                                                       .give_up_after_attempts = 1000000,
                                                       .give_up_after = absl::Seconds(999999)}})),
              IsEmpty());
}

TEST(SpecErrors, BackoffThatNeverBegins) {
  EXPECT_THAT(ErrorsOf({.intensity = 0, .children = {{.id = "a", .backoff = RestartBackoff{}}}}),
              ElementsAre("child 'a': backoff: never begins: the first restart is immediate and counted, and with "
                          "intensity 0 the supervisor gives up there"));
  EXPECT_THAT(ErrorsOf(With({.restart = RestartType::kTemporary, .backoff = RestartBackoff{}})),
              ElementsAre("child 'a': backoff: a temporary child is never restarted"));
  EXPECT_THAT(ErrorsOf(With({.backoff = RestartBackoff{}, .budget = RestartBudget{0, absl::Seconds(5)}})),
              ElementsAre("child 'a': backoff: never begins: the first restart is immediate and counted, and the "
                          "child's own budget allows none"));
}

TEST(SpecErrors, NamesGivenTwiceAnywhereInTheTree) {
  auto lots = std::make_shared<SupervisorSpec>(SupervisorSpec{.children = {{.id = "x", .registered_as = "book"}}});
  EXPECT_THAT(ErrorsOf({.children = {{.id = "a", .published_as = "book"},
                                     {.id = "lots", .kind = ChildKind::kSupervisor, .subtree = lots}}}),
              ElementsAre("child 'lots' / child 'x': registered_as: 'book' is already the name of child 'a'"));
  EXPECT_THAT(ErrorsOf(With({.registered_as = "n", .published_as = "n"})),
              ElementsAre("child 'a': published_as: 'n' is already its registered_as; leave one of them out"));
  EXPECT_THAT(ErrorsOf(With({.registered_as = "a\tb"})),
              ElementsAre("child 'a': registered_as: has a control character; names are read by people"));
}

TEST(SpecErrors, EachFieldOfAProcessThatCannotWorkIsRefused) {
  EXPECT_THAT(ErrorsOf({.children = {Process("ledger", {.binary = "ledger_node"})}}), IsEmpty());
  EXPECT_THAT(ErrorsOf(With(Process("Ledger 1", {.binary = ""}))),
              ElementsAre("child 'Ledger 1': process.binary: is empty; give a path, or a name beside this binary",
                          "child 'Ledger 1': process.node_name: is not given, and the id 'Ledger 1' cannot be the "
                          "node's name: at most 63 small letters, digits and inner hyphens"));
  EXPECT_THAT(
      ErrorsOf(With(Process("p", {.binary = "b", .environment = {{"A=B", ""}}, .node_name = "-x"}))),
      ElementsAre("child 'p': process.node_name: '-x' cannot be a node's name: at most 63 small letters, digits "
                  "and inner hyphens",
                  "child 'p': process.environment: 'A=B' cannot be the name of a variable: a name is not empty and has "
                  "no '='"));
  EXPECT_THAT(ErrorsOf(With({.kind = ChildKind::kProcess})),
              ElementsAre("child 'a': process: is missing; give the binary to run"));
  EXPECT_THAT(ErrorsOf(With({.process = ProcessSpec{.binary = "b"}})),
              ElementsAre("child 'a': process: given for a worker; only a process has one"));
  ChildSpec named = Process("p", {.binary = "b"});
  named.registered_as = "x";
  EXPECT_THAT(ErrorsOf(With(named)), ElementsAre("child 'p': process: the actors of a process are named by its own "
                                                 "tree; registered_as and published_as must be empty"));
}

TEST(SpecErrors, TwoProcessesWithOneNodeName) {
  auto lots = std::make_shared<SupervisorSpec>(
      SupervisorSpec{.children = {Process("ledger", {.binary = "b"}), Process("x", {.binary = "b", .node_name = "y"}),
                                  Process("y", {.binary = "b"})}});
  EXPECT_THAT(
      ErrorsOf({.children = {Process("ledger", {.binary = "b"}),
                             {.id = "lots", .kind = ChildKind::kSupervisor, .subtree = lots}}}),
      ElementsAre("child 'lots' / child 'ledger': id: 'ledger' is already the node name of child 'ledger'; a process "
                  "child needs its own",
                  "child 'lots' / child 'y': id: 'y' is already the node name of child 'lots' / child 'x'; a process "
                  "child needs its own"));
  // For two siblings the error is reported as an id that they share.
  EXPECT_THAT(ErrorsOf({.children = {Process("p", {.binary = "b"}), Process("p", {.binary = "b"})}}),
              ElementsAre("child 'p': id: given to 2 children; each needs its own"));
}

TEST(SpecErrors, AProcessWithTheNodeNameOfAPoolsMember) {
  auto pool = std::make_shared<PoolSpec>(PoolSpec{.child = Process("job", {.binary = "b"})});
  auto jobs = std::make_shared<SupervisorSpec>(SupervisorSpec{.pool = pool});
  const auto errors_with = [&](const ChildSpec& process) {
    return ErrorsOf({.children = {{.id = "jobs", .kind = ChildKind::kSupervisor, .subtree = jobs}, process}});
  };
  for (const std::string id : {"job-x", "job-1x", "job-1-2", "jobs-1", "job1", "x-job-1"}) {
    EXPECT_THAT(errors_with(Process(id, {.binary = "b"})), IsEmpty()) << id;
  }
  EXPECT_THAT(
      errors_with(Process("job-17", {.binary = "b"})),
      ElementsAre("child 'job-17': id: 'job-17' is the node name of a child whose id the pool of child 'jobs' / child "
                  "'job' makes up; a process child needs its own"));
  EXPECT_THAT(errors_with(Process("x", {.binary = "b", .node_name = "job-1"})),
              ElementsAre(HasSubstr("child 'x': process.node_name: 'job-1' is the node name of a child whose id")));
}

TEST(SpecErrors, AFactoryIsAWorkersAndHasAName) {
  EXPECT_THAT(ErrorsOf(With({.factory = FactoryCall{.name = "f"}})), IsEmpty());
  EXPECT_THAT(ErrorsOf(With({.factory = FactoryCall{}})),
              ElementsAre("child 'a': factory: has no name; give the name of a registered factory"));
  EXPECT_THAT(ErrorsOf(With({.kind = ChildKind::kSupervisor, .factory = FactoryCall{.name = "f"}})),
              ElementsAre("child 'a': factory: given for a supervisor; only a worker and a pool have one"));
}

TEST(SpecErrors, AnErrorHasThePathOfIndicesToo) {
  auto lots = std::make_shared<SupervisorSpec>(SupervisorSpec{.children = {{.id = "x"}, {.id = ""}}});
  const SupervisorSpec spec{.intensity = -1,
                            .children = {{.id = "a"}, {.id = "lots", .kind = ChildKind::kSupervisor, .subtree = lots}}};
  const std::vector<SpecError> errors = FindSpecErrors(Startable(spec));
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_THAT(errors[0].path, IsEmpty());
  EXPECT_THAT(errors[1].path, ElementsAre(1, 1));
  EXPECT_EQ(errors[1].where, "child 'lots' / child number 2");
  EXPECT_EQ(PlaceOf(spec, errors[1].path), errors[1].where);
}

TEST(SpecErrors, AChildWithNothingToStart) {
  auto errors = [](const ChildSpec& child) {
    std::vector<std::string> texts;
    for (const SpecError& error : FindSpecErrors(With(child))) texts.push_back(error.ToString());
    return texts;
  };
  EXPECT_THAT(errors({.kind = ChildKind::kWorker}),
              ElementsAre("child 'a': start: is missing: what makes the actor? Give a start function or a registered "
                          "factory"));
  EXPECT_THAT(errors({.kind = ChildKind::kSupervisor}),
              ElementsAre("child 'a': start: is missing: what makes the supervisor? Give its subtree"));
  EXPECT_THAT(errors({.factory = FactoryCall{.name = "f"}}), IsEmpty());
  EXPECT_THAT(errors({.kind = ChildKind::kSupervisor, .subtree = std::make_shared<SupervisorSpec>()}), IsEmpty());
}

TEST(SpecErrors, AWorkerHasNoChildren) {
  EXPECT_THAT(ErrorsOf(With({.subtree = std::make_shared<SupervisorSpec>()})),
              ElementsAre("child 'a': subtree: a worker has no children of its own"));
}

TEST(SpecErrors, AnEnumOutOfItsRangeIsRefused) {
  EXPECT_THAT(ErrorsOf({.strategy = static_cast<RestartStrategy>(3), .auto_shutdown = static_cast<AutoShutdown>(-1)}),
              ElementsAre("strategy: 3 is not a RestartStrategy: expected 0 to 2",
                          "auto_shutdown: -1 is not an AutoShutdown: expected 0 to 2"));
  EXPECT_THAT(ErrorsOf({.strategy = static_cast<RestartStrategy>(3), .stop_together = true}),
              ElementsAre("strategy: 3 is not a RestartStrategy: expected 0 to 2"));
  const ChildShutdown shutdown = {.kind = static_cast<ChildShutdown::Kind>(3)};
  EXPECT_THAT(ErrorsOf(With(
                  {.kind = static_cast<ChildKind>(3), .restart = static_cast<RestartType>(100), .shutdown = shutdown})),
              ElementsAre("child 'a': kind: 3 is not a ChildKind: expected 0 to 2",
                          "child 'a': restart: 100 is not a RestartType: expected 0 to 2",
                          "child 'a': shutdown: 3 is not a ChildShutdown::Kind: expected 0 to 2"));
}

TEST(SpecErrors, ATreeTooDeepIsRefused) {
  auto tree = std::make_shared<SupervisorSpec>();
  for (int i = 0; i < 150; ++i) {
    tree = std::make_shared<SupervisorSpec>(
        SupervisorSpec{.children = {{.id = "s", .kind = ChildKind::kSupervisor, .subtree = tree}}});
  }
  const std::vector<SpecError> errors = FindSpecErrors(*tree);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].what, "the tree is more than 100 supervisors deep");
}

TEST(SpecErrors, AllErrorsAreReportedTogether) {
  EXPECT_TRUE(ValidateSpec(SupervisorSpec()).ok());
  EXPECT_EQ(ValidateSpec({.intensity = -1}).ToString(),
            "INVALID_ARGUMENT: error in the supervision tree: intensity: -1 is negative; 0 or more restarts may be "
            "allowed");
  EXPECT_EQ(ValidateSpec({.intensity = -1, .period = absl::ZeroDuration()}).ToString(),
            "INVALID_ARGUMENT: 2 errors in the supervision tree:\n"
            "  intensity: -1 is negative; 0 or more restarts may be allowed\n"
            "  period: 0 is not a period; it must be above 0 and finite");
}

// OTP SUP-23: The validation must accept exactly the combinations of fields that the rule allows.
TEST(SpecErrors, TheCrossProductOfFieldsIsAcceptedExactlyByTheRule) {
  int specs = 0;
  for (const bool has_id : {false, true}) {
    for (const RestartType restart : {RestartType::kPermanent, RestartType::kTransient, RestartType::kTemporary}) {
      for (const int seconds : {-1, 0, 1, 5}) {
        for (const bool significant : {false, true}) {
          for (const AutoShutdown mode :
               {AutoShutdown::kNever, AutoShutdown::kAnySignificant, AutoShutdown::kAllSignificant}) {
            for (const bool has_backoff : {false, true}) {
              for (const int intensity : {-1, 0, 1}) {
                for (const int start_seconds : {0, 1}) {
                  SupervisorSpec spec{.intensity = intensity, .auto_shutdown = mode};
                  ChildSpec child{.id = has_id ? "a" : "", .restart = restart, .significant = significant};
                  child.shutdown = ChildShutdown::Within(absl::Seconds(seconds));
                  child.start_within = absl::Seconds(start_seconds);
                  if (has_backoff) child.backoff.emplace();
                  spec.children.push_back(child);
                  const bool is_significance_good =
                      !significant || (restart != RestartType::kPermanent && mode != AutoShutdown::kNever);
                  const bool is_backoff_good = !has_backoff || (restart != RestartType::kTemporary && intensity != 0);
                  const bool is_good = has_id && seconds > 0 && is_significance_good && is_backoff_good &&
                                       intensity >= 0 && start_seconds > 0;
                  ASSERT_EQ(ValidateSpec(Startable(spec)).ok(), is_good) << ValidateSpec(Startable(spec));
                  ++specs;
                }
              }
            }
          }
        }
      }
    }
  }
  EXPECT_EQ(specs, 1728);
}

TEST(DescribeTree, PrintsOneLineForEachActor) {
  auto lots = std::make_shared<SupervisorSpec>(SupervisorSpec{.strategy = RestartStrategy::kRestForOne,
                                                              .children = {{.id = "lot-1",
                                                                            .restart = RestartType::kTransient,
                                                                            .shutdown = ChildShutdown::BrutalKill(),
                                                                            .backoff = RestartBackoff{},
                                                                            .published_as = "auction/lot-1"}}});
  const SupervisorSpec spec{.intensity = 3,
                            .period = absl::Seconds(10),
                            .children = {Process("ledger", {.binary = "ledger_node"}),
                                         {.id = "lots", .kind = ChildKind::kSupervisor, .subtree = lots}}};
  EXPECT_EQ(DescribeTree(spec),
            "one_for_one, at most 3 restarts in 10s\n"
            "  ledger: permanent process ledger_node, stopped within 5s\n"
            "  lots: permanent supervisor, stopped without limit\n"
            "    rest_for_one, at most 1 restart in 5s\n"
            "      lot-1: transient worker, killed, backoff from 100ms to 30s, published as auction/lot-1\n");
}

}  // namespace
}  // namespace understudy
