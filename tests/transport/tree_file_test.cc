// A tree read from a text: the tree that it becomes, the errors of a bad text, and a tree that runs.
#include "understudy/transport/tree_file.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "google/protobuf/wrappers.pb.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/mailbox.h"
#include "understudy/actors/ref.h"
#include "understudy/actors/test_system.h"
#include "understudy/supervision/actor_factories.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/limits.h"
#include "understudy/supervision/pool.h"
#include "understudy/supervision/supervisor.h"

namespace understudy {
namespace {

using google::protobuf::Int64Value;
using google::protobuf::StringValue;
using testing::HasSubstr;

struct Ask {};
// Answers with the text that its constructor got.
class Speaker final : public Actor {
 public:
  explicit Speaker(std::string text = "nothing") : text_(std::move(text)) {}
  Mailbox<"say", Call<Ask, std::string>> say{this};
  Mailbox<"fail", Ask> fail{this};
  StartResult Start() override { return speaking_; }

 private:
  std::string Say(const Ask&) { return text_; }
  void DoFail(const Ask&) { Fail(absl::DataLossError("told to")); }

  const std::string text_;
  Behavior speaking_{"speaking", On(say, &Speaker::Say), On(fail, &Speaker::DoFail)};
};

using Speakers = Pool<Speaker(std::string)>;

ActorFactories Factories() {
  ActorFactories factories;
  factories.AddPool<Speakers>("speakers")
      .Add<Speaker>("plain")
      .Add<StringValue>("speaker", [](const StringValue& text) { return std::make_unique<Speaker>(text.value()); });
  return factories;
}

absl::StatusOr<SupervisorSpec> Parse(absl::string_view text) { return ParseTree(text, "t", Factories()); }

std::string ErrorOf(absl::string_view text) { return std::string(Parse(text).status().message()); }

TEST(TreeFile, EveryFieldIsRead) {
  const absl::StatusOr<SupervisorSpec> tree = Parse(R"(
    strategy: REST_FOR_ONE intensity: 7 period: "1m30s" auto_shutdown: ANY_SIGNIFICANT
    child {
      id: "a" restart: TRANSIENT shutdown: "brutal_kill" significant: true start_within: "250ms"
      registered_as: "here" published_as: "everywhere"
      actor { factory: "speaker" argument { [type.googleapis.com/google.protobuf.StringValue] { value: "hi" } } }
      backoff {
        min: "1s" max: "1m" factor: 3 jitter: 0.5 reset_after: "2m" give_up_after_attempts: 9 give_up_after: "1h"
      }
    }
    child {
      id: "p" restart: TEMPORARY shutdown: "3s"
      process {
        binary: "b" argument: "x" argument: "y" node_name: "n" limits { memory_bytes: 1000000 open_files: 50 }
        environment { name: "A" value: "1" } environment { name: "B" } silent_within: "2s"
      }
    }
    child { id: "s" shutdown: "infinity" supervisor { strategy: ONE_FOR_ALL auto_shutdown: ALL_SIGNIFICANT } }
    child {
      id: "w"
      pool {
        factory: "speakers" intensity: 9 period: "1h" children_max: 50 shards: 2
        child { id: "each" restart: TRANSIENT exclusive: true budget { intensity: 2 period: "1m" } shutdown: "1s" }
      }
    }
    child { id: "t" supervisor { stop_together: true } }
    child {
      id: "e" actor { factory: "theirs" } placement { node: "n2" node: "n1" spread: true connect_within: "8s" }
    }
    child { id: "f" actor { factory: "theirs" } placement { node: "n1" } })");
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_EQ(tree->strategy, RestartStrategy::kRestForOne);
  EXPECT_EQ(tree->intensity, 7);
  EXPECT_EQ(tree->period, absl::Seconds(90));
  EXPECT_EQ(tree->auto_shutdown, AutoShutdown::kAnySignificant);
  ASSERT_EQ(tree->children.size(), 7u);
  const ChildSpec& a = tree->children[0];
  EXPECT_EQ(a.id, "a");
  EXPECT_EQ(a.kind, ChildKind::kWorker);
  EXPECT_EQ(a.restart, RestartType::kTransient);
  EXPECT_EQ(a.shutdown, ChildShutdown::BrutalKill());
  EXPECT_TRUE(a.significant);
  EXPECT_EQ(a.start_within, absl::Milliseconds(250));
  EXPECT_EQ(a.registered_as, "here");
  EXPECT_EQ(a.published_as, "everywhere");
  StringValue hi;
  hi.set_value("hi");
  EXPECT_EQ(a.factory, (FactoryCall{.name = "speaker",
                                    .argument_type = "google.protobuf.StringValue",
                                    .argument = hi.SerializeAsString()}));
  EXPECT_EQ(a.backoff, (RestartBackoff{.min = absl::Seconds(1),
                                       .max = absl::Minutes(1),
                                       .factor = 3,
                                       .jitter = 0.5,
                                       .reset_after = absl::Minutes(2),
                                       .give_up_after_attempts = 9,
                                       .give_up_after = absl::Hours(1)}));
  const ChildSpec& p = tree->children[1];
  EXPECT_EQ(p.kind, ChildKind::kProcess);
  EXPECT_EQ(p.restart, RestartType::kTemporary);
  EXPECT_EQ(p.shutdown, ChildShutdown::Within(absl::Seconds(3)));
  EXPECT_EQ(p.process, (ProcessSpec{.binary = "b",
                                    .arguments = {"x", "y"},
                                    .environment = {{"A", "1"}, {"B", ""}},
                                    .node_name = "n",
                                    .limits = {.memory_bytes = 1000000, .open_files = 50},
                                    .silent_within = absl::Seconds(2)}));
  const ChildSpec& e = tree->children[5];
  EXPECT_EQ(e.kind, ChildKind::kWorker);
  EXPECT_EQ(e.factory, FactoryCall{.name = "theirs"});  // not registered here
  EXPECT_EQ(e.placement, (NodePlacement{.nodes = {"n2", "n1"}, .spread = true, .connect_within = absl::Seconds(8)}));
  EXPECT_EQ(tree->children[6].placement, OnNode("n1"));
  const ChildSpec& s = tree->children[2];
  EXPECT_EQ(s.kind, ChildKind::kSupervisor);
  EXPECT_EQ(s.shutdown, ChildShutdown::Infinity());
  EXPECT_EQ(s.subtree->strategy, RestartStrategy::kOneForAll);
  EXPECT_EQ(s.subtree->auto_shutdown, AutoShutdown::kAllSignificant);
  const ChildSpec& w = tree->children[3];
  EXPECT_EQ(w.kind, ChildKind::kSupervisor);
  EXPECT_EQ(w.factory, FactoryCall{.name = "speakers"});
  EXPECT_EQ(w.subtree->intensity, 9);
  EXPECT_EQ(w.subtree->period, absl::Hours(1));
  ASSERT_NE(w.subtree->pool, nullptr);
  EXPECT_EQ(std::pair(w.subtree->pool->children_max, w.subtree->pool->shards), std::pair(50, 2));
  const ChildSpec& each = w.subtree->pool->child;
  EXPECT_EQ(each.id, "each");
  EXPECT_EQ(each.restart, RestartType::kTransient);
  EXPECT_TRUE(each.exclusive);
  EXPECT_EQ(each.budget, (RestartBudget{2, absl::Minutes(1)}));
  EXPECT_EQ(each.shutdown, ChildShutdown::Within(absl::Seconds(1)));
  EXPECT_FALSE(s.subtree->stop_together);
  EXPECT_TRUE(tree->children[4].subtree->stop_together);
}

TEST(TreeFile, WhatIsNotGivenHasTheDefaultsOfABuilder) {
  const absl::StatusOr<SupervisorSpec> tree = Parse(R"(child { id: "a" actor { factory: "plain" } backoff {} })");
  ASSERT_TRUE(tree.ok()) << tree.status();
  const SupervisorSpec none;
  EXPECT_EQ(tree->strategy, none.strategy);
  EXPECT_EQ(std::pair(tree->intensity, tree->period), std::pair(none.intensity, none.period));
  EXPECT_EQ(tree->auto_shutdown, none.auto_shutdown);
  const ChildSpec& a = tree->children[0];
  EXPECT_EQ(a.restart, RestartType::kPermanent);
  EXPECT_FALSE(a.shutdown.has_value());
  EXPECT_FALSE(a.significant);
  EXPECT_EQ(a.start_within, absl::InfiniteDuration());
  EXPECT_EQ(a.backoff, RestartBackoff());
}

TEST(TreeFile, EachBadFieldHasOneErrorWithItsPathAndItsLine) {
  EXPECT_EQ(ErrorOf(R"(period: "long"
child {
  id: "a"
  actor { factory: "plain" }
  shutdown: "soon"
  start_within: "-1s"
  backoff {
    min: "1"
    factor: 0.5
  }
}
child {
  id: "lots"
  supervisor {
    intensity: -1
    child {
      id: "x"
      actor { factory: "nobody" }
    }
    child {}
    child { id: "p" process { binary: "" node_name: "P!" limits { open_files: -1 } silent_within: "10ms" } }
  }
}
)"),
            "13 errors in t:\n"
            "  t:1: period: 'long' is not a time; write it as 1h30m, 10s, 250ms or inf\n"
            "  t:5: child 'a': shutdown: 'soon' is not a shutdown; write a time (5s), brutal_kill or infinity\n"
            "  t:6: child 'a': start_within: -1s leaves no time to start; it must be above 0\n"
            "  t:8: child 'a': backoff.min: '1' is not a time; write it as 1h30m, 10s, 250ms or inf\n"
            "  t:9: child 'a': backoff.factor: 0.5 is not in [1, 1000]\n"
            "  t:15: child 'lots': intensity: -1 is negative; 0 or more restarts may be allowed\n"
            "  t:18: child 'lots' / child 'x': actor.factory: there is no factory 'nobody'; registered: plain, "
            "speaker, speakers\n"
            "  t:20: child 'lots' / child number 2: actor: is missing: a child is an actor, a supervisor, a pool or a "
            "process\n"
            "  t:20: child 'lots' / child number 2: id: is empty; a child needs one, for reports and requests\n"
            "  t:21: child 'lots' / child 'p': process.binary: is empty; give a path, or a name beside this binary\n"
            "  t:21: child 'lots' / child 'p': process.node_name: 'P!' cannot be a node's name: at most 63 small "
            "letters, digits and inner hyphens\n"
            "  t:21: child 'lots' / child 'p': process.limits.open_files: -1 is negative; 0 is no limit\n"
            "  t:21: child 'lots' / child 'p': process.silent_within: 10ms is not in [40ms, 10m]");
}

TEST(TreeFile, ErrorsOfAPlacementHaveTheirLines) {
  EXPECT_EQ(
      ErrorOf(R"(child {
  id: "a"
  actor { factory: "theirs" }
  placement {
    node: "N!"
    connect_within: "soon"
  }
}
child {
  id: "b"
  process { binary: "b" }
  placement { node: "n" }
}
)"),
      "3 errors in t:\n"
      "  t:5: child 'a': placement.nodes: 'N!' cannot be a node's name: at most 63 small letters, digits and inner "
      "hyphens\n"
      "  t:6: child 'a': placement.connect_within: 'soon' is not a time; write it as 1h30m, 10s, 250ms or inf\n"
      "  t:12: child 'b': placement: given for a process; only a worker is started on another node (its factory "
      "may make a supervisor)");
}

TEST(TreeFile, OfTwoChildrenWithOneIdEachHasItsOwnLine) {
  EXPECT_EQ(ErrorOf(R"(child { id: "a" actor { factory: "plain" } }
child { id: "a" actor { factory: "plain" } start_within: "0s" }
)"),
            "2 errors in t:\n"
            "  t:1: child 'a': id: given to 2 children; each needs its own\n"
            "  t:2: child 'a': start_within: 0 leaves no time to start; it must be above 0");
}

TEST(TreeFile, AFieldThatIsNotGivenIsAtTheLineOfItsChild) {
  EXPECT_EQ(ErrorOf("intensity: 0\nchild {\n  id: 'a'\n  actor { factory: 'plain' }\n  backoff {}\n}\n"
                    "child { id: 'b' process {} }"),
            "2 errors in t:\n"
            "  t:5: child 'a': backoff: never begins: the first restart is immediate and counted, and with intensity 0 "
            "the supervisor gives up there\n"
            "  t:7: child 'b': process.binary: is empty; give a path, or a name beside this binary");
}

TEST(TreeFile, ATimeThatCannotBeReadMakesNoErrorElsewhere) {
  // With the default of 5 s for it, the supervisor's 2 s would be too short.
  EXPECT_EQ(ErrorOf(R"(child {
  id: "s" shutdown: "2s"
  supervisor { child { id: "a" shutdown: "x" actor { factory: "plain" } } }
})"),
            "error in t:3: child 's' / child 'a': shutdown: 'x' is not a shutdown; write a time (5s), brutal_kill or "
            "infinity");
  const auto lines_of = [](absl::string_view fields, absl::string_view flags = "") {
    const std::string error =
        ErrorOf(absl::StrCat(flags, " child { id: 'a' actor { factory: 'plain' } ", fields, " }"));
    return std::count(error.begin(), error.end(), '\n') + 1;
  };
  EXPECT_EQ(lines_of("backoff { min: '5x' max: '50ms' }"), 1);
  EXPECT_EQ(lines_of("backoff { min: '5x' give_up_after: '10ms' }"), 1);
  EXPECT_EQ(lines_of("backoff { max: '5x' min: '1h' }"), 1);
  EXPECT_EQ(lines_of("backoff { min: '1s' give_up_after: 'x' give_up_after_attempts: 500 }"), 1);
  EXPECT_EQ(lines_of("budget { intensity: 3 period: '4s' }", "period: 'x'"), 1);
  EXPECT_EQ(lines_of("budget { intensity: 3 period: 'x' }"), 1);
  EXPECT_EQ(lines_of("start_within: 'x'"), 1);
  EXPECT_EQ(ErrorOf(R"(child {
  id: "s" shutdown: "2s"
  supervisor { child { id: "t" shutdown: "x" supervisor { child { id: "a" actor { factory: "plain" } } } } }
})"),
            "error in t:3: child 's' / child 't': shutdown: 'x' is not a shutdown; write a time (5s), brutal_kill or "
            "infinity");
}

TEST(TreeFile, WhatIsWrongWhateverWasMeantIsToldWithIt) {
  EXPECT_EQ(ErrorOf("child { id: 'a' actor { factory: 'plain' }\n backoff { min: 'x'\n factor: 0 } }"),
            "2 errors in t:\n"
            "  t:2: child 'a': backoff.min: 'x' is not a time; write it as 1h30m, 10s, 250ms or inf\n"
            "  t:3: child 'a': backoff.factor: 0 is not in [1, 1000]");
}

TEST(TreeFile, UnknownFieldsAreAllTold) {
  const std::string error = ErrorOf("colour: 1\nchild { id: 'a' actor { factory: 'plain' }\n  size { x: 2 } }");
  EXPECT_THAT(error, HasSubstr("2 errors in t:\n  t:1: column "));
  EXPECT_THAT(error, HasSubstr("has no field named \"colour\""));
  EXPECT_THAT(error, HasSubstr("\n  t:3: column "));
  EXPECT_THAT(error, HasSubstr("has no field named \"size\""));
}

TEST(TreeFile, ASyntaxErrorIsToldWithItsPlace) {
  EXPECT_THAT(ErrorOf("intensity: 3\nchild { id: 'a'"), HasSubstr("error in t:2: column 16: Expected"));
  EXPECT_THAT(
      ErrorOf("\nstrategy: ONE_FOR_TWO"),
      HasSubstr("error in t:2: column 22: Unknown enumeration value of \"ONE_FOR_TWO\" for field \"strategy\""));
  EXPECT_THAT(ErrorOf("intensity: 99999999999"), HasSubstr("error in t:1: column 12: Integer out of range"));
}

TEST(TreeFile, WhatTheFileSaysStaysOnOneLineThatCanBePrinted) {
  EXPECT_EQ(ErrorOf(R"(child { id: "a" actor { factory: "plain" } shutdown: "1\n\033[2J\377\302\205\303\251" })"),
            "error in t:1: child 'a': shutdown: '1\\n\\x1b[2J\\xff\\xc2\\x85é' is not a shutdown; write a time (5s), "
            "brutal_kill or infinity");
  const std::string long_id(5000, 'i');
  const std::string error =
      ErrorOf(absl::StrCat("period: \"", std::string(5000, 'p'), "\" child { id: \"", long_id, "\" }"));
  for (const absl::string_view line : absl::StrSplit(error, '\n')) EXPECT_LT(line.size(), 1100U) << line;
  EXPECT_THAT(error, HasSubstr("… (cut)"));
  EXPECT_THAT(error, HasSubstr("iii…': actor: is missing"));
}

TEST(TreeFile, OfVeryManyErrorsTheFirstAreTold) {
  std::string text;
  for (int i = 0; i < 1500; ++i) absl::StrAppend(&text, "odd: 1\n");
  const std::string error = ErrorOf(text);
  EXPECT_THAT(error, testing::StartsWith("1500 errors in t, of which the first are:\n  t:1: "));
  EXPECT_EQ(std::count(error.begin(), error.end(), '\n'), 1000);
}

TEST(TreeFile, ATreeTooDeepIsRefusedAndDoesNotOverflowTheStack) {
  std::string text;
  for (int i = 0; i < 100000; ++i) absl::StrAppend(&text, "child { id: 's' supervisor { ");
  EXPECT_THAT(ErrorOf(text), HasSubstr("too deep"));
  // One level more than the rule permits, but not too deep for the parser.
  text.clear();
  for (int i = 0; i < limits::kTreeDepthMax; ++i) absl::StrAppend(&text, "child { id: 's' supervisor { ");
  for (int i = 0; i < limits::kTreeDepthMax; ++i) absl::StrAppend(&text, "} } ");
  EXPECT_THAT(ErrorOf(text), HasSubstr("the tree is more than 100 supervisors deep"));
}

TEST(TreeFile, ALongerFileThanItsBoundIsRefused) {
  const std::string text(limits::kTreeFileBytesMax + 1, ' ');
  EXPECT_EQ(Parse(text).status(), absl::ResourceExhaustedError("t has 16777217 bytes; a tree has at most 16777216"));
  EXPECT_TRUE(Parse(text.substr(1)).ok());
}

TEST(TreeFile, AnArgumentMustBeWhatTheFactoryTakes) {
  EXPECT_EQ(ErrorOf("child { id: 'a' actor { factory: 'speaker' } }"),
            "error in t:1: child 'a': actor.argument: factory 'speaker' takes a google.protobuf.StringValue, and is "
            "given none");
  EXPECT_EQ(ErrorOf("child { id: 'a' actor { factory: 'speaker'\n"
                    "argument { [type.googleapis.com/google.protobuf.Int64Value] { value: 1 } } } }"),
            "error in t:2: child 'a': actor.argument: factory 'speaker' takes a google.protobuf.StringValue, and is "
            "given a google.protobuf.Int64Value");
  EXPECT_EQ(ErrorOf("child { id: 'a' actor { factory: 'plain'\n"
                    "argument { [type.googleapis.com/google.protobuf.Int64Value] { value: 1 } } } }"),
            "error in t:2: child 'a': actor.argument: factory 'plain' takes no argument, and is given a "
            "google.protobuf.Int64Value");
  EXPECT_EQ(ErrorOf("child { id: 'a' actor { factory: 'speaker' argument {\n"
                    "type_url: 'type.googleapis.com/google.protobuf.StringValue' value: '\\377' } } }"),
            "error in t:1: child 'a': actor.argument: the argument of factory 'speaker' cannot be parsed as a "
            "google.protobuf.StringValue");
  EXPECT_THAT(ErrorOf("child { id: 'a' actor { factory: 'speaker'\n argument { [type.googleapis.com/no.Such] {} } } }"),
              HasSubstr("Could not find type \"type.googleapis.com/no.Such\""));
}

TEST(TreeFile, WithoutFactoriesItSaysThatNoneIsRegistered) {
  EXPECT_THAT(ParseTree("child { id: 'a' actor { factory: 'x' } }", "t", ActorFactories()).status().message(),
              HasSubstr("there is no factory 'x'; registered: none"));
}

TEST(TreeFile, AFactoryWithoutANameIsABadField) {
  EXPECT_EQ(ErrorOf("child { id: 'a' actor {} }"),
            "error in t:1: child 'a': factory: has no name; give the name of a registered factory");
}

TEST(TreeFile, ATreeThatWasReadRunsAndItsChildrenAreMadeAnew) {
  const absl::StatusOr<SupervisorSpec> tree = Parse(R"(
    child { id: "a" registered_as: "a" actor {
      factory: "speaker" argument { [type.googleapis.com/google.protobuf.StringValue] { value: "hello" } } } }
    child { id: "s" supervisor { child { id: "b" registered_as: "b" actor { factory: "plain" } } } })");
  ASSERT_TRUE(tree.ok()) << tree.status();
  TestSystem system(1);
  const SupervisorRef root = system.Spawn(MakeSupervisor(*tree));
  const auto say = [&](absl::string_view name) -> std::string {
    const absl::StatusOr<Ref<Speaker>> speaker = system.Lookup<Ref<Speaker>>(name, absl::Seconds(1));
    if (!speaker.ok()) return "nobody";
    return system.Ask((*speaker)[&Speaker::say], Ask(), absl::Seconds(1)).value_or("nobody");
  };
  EXPECT_EQ(say("a"), "hello");
  EXPECT_EQ(say("b"), "nothing");
  const Pid first = *system.WhereIs("a");
  Ref<Speaker>(first)[&Speaker::fail].Tell(Ask());
  system.RunUntilIdle();
  EXPECT_NE(system.WhereIs("a"), first);
  EXPECT_EQ(say("a"), "hello");
  EXPECT_EQ(system.Ask(root.get_child_spec(), GetChildSpec{"a"}, absl::Seconds(1))->factory->name, "speaker");
}

TEST(TreeFile, APoolIsReadWithItsDefaultsAndStartsChildren) {
  const absl::StatusOr<SupervisorSpec> tree = Parse(
      "child { id: 'w' registered_as: 'w' pool { factory: 'speakers' } }\n"
      "child { id: 'v' registered_as: 'v' pool { factory: 'speakers' child { restart: PERMANENT } } }");
  ASSERT_TRUE(tree.ok()) << tree.status();
  const SupervisorSpec usual = PoolTree({});
  const PoolSpec& pool = *tree->children[0].subtree->pool;
  EXPECT_EQ(pool.child.id, usual.pool->child.id);
  EXPECT_EQ(pool.child.restart, RestartType::kTemporary);
  EXPECT_EQ(pool.children_max, usual.pool->children_max);
  EXPECT_EQ(tree->children[1].subtree->pool->child.restart, RestartType::kPermanent);
  TestSystem system(1);
  system.Spawn(MakeSupervisor(*tree));
  const auto speakers = system.Lookup<PoolRef<Speaker(std::string)>>("w", absl::Seconds(1));
  ASSERT_TRUE(speakers.ok()) << speakers.status();
  const absl::StatusOr<Ref<Speaker>> speaker = system.Ask(speakers->start(), "from a pool", absl::Seconds(1));
  ASSERT_TRUE(speaker.ok()) << speaker.status();
  EXPECT_EQ(*system.Ask((*speaker)[&Speaker::say], Ask(), absl::Seconds(1)), "from a pool");
}

TEST(TreeFile, AnErrorInAPoolSaysWhere) {
  EXPECT_EQ(ErrorOf("child {\n  id: 'w'\n  pool {\n    factory: 'plain'\n    shards: 0\n    intensity: -1\n"
                    "    child {\n      start_within: '0'\n      actor {}\n    }\n  }\n}\n"
                    "child { id: 'a' actor { factory: 'speakers' } }"),
            "6 errors in t:\n"
            "  t:4: child 'w': pool.factory: factory 'plain' makes actors, not pools\n"
            "  t:5: child 'w': pool.shards: 0 is not in [1, 64]\n"
            "  t:6: child 'w': intensity: -1 is negative; 0 or more restarts may be allowed\n"
            "  t:8: child 'w' / child 'child': start_within: 0 leaves no time to start; it must be above 0\n"
            "  t:9: child 'w' / child 'child': actor: given for a template; the class of its pool makes its children\n"
            "  t:13: child 'a': actor.factory: factory 'speakers' makes pools, not actors");
}

TEST(TreeFile, AFileIsReadAndAMissingOneIsNotFound) {
  const std::string path = absl::StrCat(testing::TempDir(), "/tree.textproto");
  FILE* out = fopen(path.c_str(), "w");
  ASSERT_NE(out, nullptr);
  fputs("child { id: 'a' actor { factory: 'plain' } }\nperiod: '0s'", out);
  fclose(out);
  EXPECT_EQ(ReadTreeFile(path, Factories()).status().message(),
            absl::StrCat("error in ", path, ":2: period: 0 is not a period; it must be above 0 and finite"));
  const absl::Status missing = ReadTreeFile("no/such/file", Factories()).status();
  EXPECT_TRUE(absl::IsNotFound(missing)) << missing;
  EXPECT_THAT(missing.message(), HasSubstr("no/such/file"));
}

TEST(TreeText, IsWhatPeopleWrite) {
  const absl::StatusOr<SupervisorSpec> tree = Parse(
      "intensity: 3 child { id: 'ä' shutdown: '1500ms' actor { factory: 'speaker' argument { "
      "[type.googleapis.com/google.protobuf.StringValue] { value: 'hi' } } } }");
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_EQ(*TreeText(*tree),
            "intensity: 3\n"
            "child {\n"
            "  id: \"ä\"\n"
            "  actor {\n"
            "    factory: \"speaker\"\n"
            "    argument {\n"
            "      [type.googleapis.com/google.protobuf.StringValue] {\n"
            "        value: \"hi\"\n"
            "      }\n"
            "    }\n"
            "  }\n"
            "  shutdown: \"1.5s\"\n"
            "}\n");
}

TEST(TreeText, ATemplateThatNoClassOfAPoolMakesCannotBeWritten) {
  auto pool = std::make_shared<PoolSpec>();
  pool->child = {.id = "job", .kind = ChildKind::kProcess, .process = ProcessSpec{.binary = "b"}};
  const SupervisorSpec inner{.pool = pool};
  const SupervisorSpec tree{.children = {{.id = "jobs",
                                          .kind = ChildKind::kSupervisor,
                                          .subtree = std::make_shared<const SupervisorSpec>(inner),
                                          .factory = FactoryCall{.name = "speakers"}}}};
  EXPECT_EQ(TreeText(tree).status(),
            absl::InvalidArgumentError("child 'jobs' / child 'job': a pool in a file has a class that makes its "
                                       "children, so that its template cannot be written"));
}

TEST(TreeText, NamesTheChildrenThatNoFactoryMakes) {
  SupervisorSpec inner{.children = {{.id = "x"}}};
  const SupervisorSpec tree{
      .children = {
          {.id = "a"},
          {.id = "b", .factory = FactoryCall{.name = "plain"}},
          {.id = "s", .kind = ChildKind::kSupervisor, .subtree = std::make_shared<const SupervisorSpec>(inner)}}};
  EXPECT_EQ(TreeText(tree).status(),
            absl::InvalidArgumentError("child 'a': no registered factory makes it, so that it cannot be written\n"
                                       "child 's' / child 'x': no registered factory makes it, so that it cannot be "
                                       "written"));
}

}  // namespace
}  // namespace understudy
