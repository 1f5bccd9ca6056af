// The command line of `understudy`, and the text that it prints for fixed replies.
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/proto/ops.pb.h"
#include "understudy/tools/understudy/arguments.h"
#include "understudy/tools/understudy/dot.h"
#include "understudy/tools/understudy/screen.h"
#include "understudy/tools/understudy/tables.h"

namespace understudy::tool {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

proto::ActorDetails Actor(const std::string& pid, proto::ActorStateValue state, int waiting) {
  proto::ActorDetails actor;
  actor.set_pid(pid);
  actor.set_state(state);
  actor.set_waiting(waiting);
  actor.set_is_complete(true);
  actor.set_class_name("shop::Clerk");
  return actor;
}

TEST(TablesTest, ActorsAreColumnsWithNumbersToTheRightAndDashesForNothing) {
  proto::ActorDetails stuck = Actor("<desk.10.2>", proto::STUCK, 120);
  stuck.set_doing("shop.Clerk/File");
  stuck.set_doing_for_nanos(3'260'000'000);
  stuck.add_names("clerk");
  stuck.set_behavior("working");
  stuck.set_oldest_age_nanos(61'270'000'000);
  stuck.set_waiting_bytes(4'096);
  proto::ActorDetails awaiting = Actor("<desk.7.2>", proto::AWAITING, 0);
  awaiting.add_awaiting("shop.Clerk/Buy");
  EXPECT_EQ(FormatActors({stuck, awaiting}),
            "PID          STATE     WAITING  BYTES  AGE     BEHAVIOR  CLASS        NAME   DOING\n"
            "<desk.10.2>  stuck         120   4096  1m1.2s  working   shop::Clerk  clerk  shop.Clerk/File for 3.2s\n"
            "<desk.7.2>   awaiting        0      -  -       -         shop::Clerk  -      shop.Clerk/Buy\n");
}

TEST(TablesTest, AnActorIsShownWithItsMailboxesAndWhatBecameOfTheirMessages) {
  proto::ActorDetails actor = Actor("<desk.10.2>", proto::IDLE, 5);
  actor.set_label("the clerk");
  actor.add_links("<desk.1.1>");
  actor.add_links("<desk.2.1>");
  actor.set_link_count(5);
  actor.add_monitored_by("<desk.1.1>");
  actor.set_monitored_by_count(1);
  proto::MailboxDetails& file = *actor.add_mailboxes();
  file.set_name("file");
  file.set_request("shop.File");
  file.set_reply("shop.Receipt");
  file.set_closed_by("guard");
  file.set_waiting(5);
  file.set_accepted(7);
  file.set_handled(2);
  file.set_capacity_messages(1000);
  file.set_oldest_age_nanos(250'000'000);
  EXPECT_EQ(FormatActor(actor),
            "<desk.10.2>: idle\n"
            "label: the clerk\n"
            "class: shop::Clerk\n"
            "links: <desk.1.1> <desk.2.1> and 3 more\n"
            "monitored by: <desk.1.1>\n"
            "\n"
            "MAILBOX  OPEN   WAITING  OLDEST AGE  CAPACITY  BYTES  BYTES MAX  TYPE\n"
            "file     guard        5  250ms           1000  -      -          shop.File -> shop.Receipt\n"
            "\n"
            "MAILBOX  ACCEPTED  HANDLED  REJECTED  FAILED  EXPIRED  CANCELLED  DROPPED  DEAD LETTERS  FORWARDED\n"
            "file            7        2         0       0        0          0        0             0          0\n");
}

TEST(TablesTest, ASuspendedActorIsShownWithItsTime) {
  proto::ActorDetails actor;
  actor.set_pid("<desk.10.2>");
  actor.set_state(proto::IDLE);
  actor.set_is_complete(true);
  actor.set_suspended_for_nanos(absl::ToInt64Nanoseconds(absl::Milliseconds(20'550)));
  actor.set_timers(2);
  actor.set_next_timer_nanos(absl::ToInt64Nanoseconds(absl::Milliseconds(1'550)));
  EXPECT_EQ(FormatActor(actor),
            "<desk.10.2>: idle, suspended for 20.5s more\ntimers: 2, the next in 1.5s\nno mailboxes\n");
  EXPECT_THAT(FormatActors({actor}), HasSubstr("suspended for 20.5s more"));
}

TEST(TablesTest, AQueuedActorIsShownWithTheAgeOfWhatIsKnownOfIt) {
  proto::ActorDetails actor;
  actor.set_pid("<desk.10.2>");
  actor.set_state(proto::QUEUED);
  EXPECT_EQ(FormatActor(actor),
            "<desk.10.2>: queued\n"
            "incomplete: the actor waits for a worker, so only its counters could be read\nno mailboxes\n");
  actor.set_class_name("shop::Clerk");
  actor.set_behavior("closed");
  actor.set_noted_within_nanos(absl::ToInt64Nanoseconds(absl::Milliseconds(3'250)));
  EXPECT_EQ(FormatActor(actor),
            "<desk.10.2>: queued\nclass: shop::Clerk\nbehavior: closed\n"
            "incomplete: the actor waits for a worker; its behavior and mailboxes are as its last turn left them, at "
            "most 3.2s ago\nno mailboxes\n");
  EXPECT_THAT(FormatActors({actor}),
              AllOf(HasSubstr("closed"), HasSubstr("shop::Clerk"), HasSubstr("as noted at most 3.2s ago")));
}

TEST(TablesTest, AnEntryOfAStreamIsALineAndSaysHowManyAreLost) {
  proto::DeadLetterEntry letter;
  letter.set_lost(2);
  letter.set_time_unix_nanos(absl::ToUnixNanos(absl::FromUnixMillis(1'500)));
  letter.set_why("NOT_FOUND: no such actor");
  letter.set_to("<desk.1.1>");
  letter.set_mailbox("file");
  letter.set_type("int");
  EXPECT_EQ(FormatEntry(letter, absl::UTCTimeZone()),
            "(2 lost)\n"
            "1970-01-01T00:00:01.500  int to file of <desk.1.1> from outside any actor: NOT_FOUND: no such actor\n");
  proto::EventEntry event;
  event.set_supervisor("<desk.1.1>");
  event.set_child("clerk");
  event.set_pid("<desk.2.1>");
  event.set_kind("exited");
  event.set_reason("Killed");
  EXPECT_EQ(FormatEntry(event, absl::UTCTimeZone()),
            "1970-01-01T00:00:00.000  <desk.1.1>: child 'clerk' <desk.2.1> exited: Killed\n");
}

TEST(TablesTest, ACrashIsALineWithALineForEachOfItsMessages) {
  proto::CrashEntry crash;
  crash.set_time_unix_nanos(absl::ToUnixNanos(absl::FromUnixMillis(2'500)));
  crash.set_pid("<desk.2.1>");
  crash.set_label("clerk");
  crash.set_doing("mailbox file handling a int from <>");
  crash.set_reason("Failed(INTERNAL: torn)");
  crash.set_parent("<desk.1.1>");
  proto::CrashMessage& last = *crash.add_messages();
  last.set_mailbox("file");
  last.set_type("int");
  last.set_bytes(4);
  last.set_time_unix_nanos(absl::ToUnixNanos(absl::FromUnixMillis(2'400)));
  proto::CrashMessage& first = *crash.add_messages();
  first.set_mailbox("desk.Clerk/Note");
  first.set_type("desk.Note");
  first.set_from("<desk.9.1>");
  EXPECT_EQ(FormatEntry(crash, absl::UTCTimeZone()),
            "1970-01-01T00:00:02.500  <desk.2.1> (clerk) in mailbox file handling a int from <>: "
            "Failed(INTERNAL: torn); a child of <desk.1.1>\n"
            "    1970-01-01T00:00:02.400  file  int  4 bytes from outside any actor\n"
            "    at an unknown time  desk.Clerk/Note  desk.Note  unknown size from <desk.9.1>\n");
  proto::CrashEntry process;
  process.set_lost(3);
  process.set_is_process(true);
  process.set_label("house");
  process.set_pid("<desk.3.1>");
  process.set_reason("OsSignal(6)");
  EXPECT_EQ(FormatEntry(process, absl::UTCTimeZone()),
            "(3 lost)\n1970-01-01T00:00:00.000  process 'house' <desk.3.1>: OsSignal(6)\n");
}

TEST(TablesTest, AWaitIsALineForEachCallWithoutAnAnswer) {
  proto::ActorDetails asker = Actor("<desk.7.2>", proto::AWAITING, 0);
  asker.add_names("orders");
  asker.add_awaiting("shop.Orders/Place");
  asker.add_asks("<desk.9.1>");
  asker.add_asks("<desk.10.1>");
  EXPECT_EQ(FormatWaits({asker, Actor("<desk.8.2>", proto::IDLE, 0)}),
            "PID         NAME    IN                 WAITS FOR\n"
            "<desk.7.2>  orders  shop.Orders/Place  <desk.9.1>\n"
            "<desk.7.2>  orders  shop.Orders/Place  <desk.10.1>\n");
}

TEST(TablesTest, TimesOfHandlersHaveThreeDigits) {
  proto::ListHandlerTimesReply reply;
  proto::HandlerTimesDetails& handler = *reply.add_handlers();
  handler.set_class_name("shop::Stock");
  handler.set_mailbox("shop.Stock/Audit");
  handler.set_samples(3);
  handler.set_sum_nanos(3 * 1'234'567);
  handler.set_half_within_nanos(1'000'000);
  handler.set_most_within_nanos(42'123'456'789);
  handler.set_longest_nanos(42'123'456'789);
  EXPECT_EQ(FormatHandlerTimes(reply),
            "CLASS        MAILBOX           SAMPLES  MEAN    HALF  99%    LONGEST\n"
            "shop::Stock  shop.Stock/Audit        3  1.23ms  1ms   42.1s  42.1s\n"
            "about one of 128 runs of handlers is timed\n");
}

TEST(ArgumentsTest, TopTakesAnOrder) {
  EXPECT_EQ(ParseArguments({"top", "--by=handler-time", "--watch"}, "/run/ops")->by, "handler-time");
  EXPECT_EQ(ParseArguments({"top", "--by=size"}, "/run/ops").status().message(),
            "'size' is no order: expected waiting, age, waiting-bytes or handler-time; see understudy top --help");
  EXPECT_EQ(ParseArguments({"ps", "--by=waiting"}, "/run/ops").status().message(),
            "'ps' takes no --by=waiting; see understudy ps --help");
}

TEST(TablesTest, AMessageOfATraceIsALine) {
  proto::TraceEntry entry;
  entry.set_number(7);
  entry.set_lost(2);
  entry.set_mailbox("file");
  entry.set_type("shop.File");
  entry.set_bytes(12);
  EXPECT_EQ(FormatEntry(entry, absl::UTCTimeZone()),
            "(2 lost)\n1970-01-01T00:00:00.000  #7  file  shop.File  12 bytes from outside any actor\n");
  entry.set_lost(0);
  entry.set_from("<desk.1.1>");
  entry.set_contents("id: 3");
  EXPECT_EQ(FormatEntry(entry, absl::UTCTimeZone()),
            "1970-01-01T00:00:00.000  #7  file  shop.File  12 bytes from <desk.1.1>: id: 3\n");
}

TEST(TablesTest, APeerIsShownWithItsSessionAndWhatBecameOfItsEnvelopes) {
  proto::ListPeersReply peers;
  proto::PeerDetails& up = *peers.add_peers();
  up.set_node("b");
  up.set_address("127.0.0.1:7001");
  up.set_is_live(true);
  up.set_is_up(true);
  up.set_epoch(2);
  up.set_heartbeat_interval_nanos(1'000'000'000);
  up.set_silence_timeout_nanos(4'000'000'000);
  up.set_grace_period_nanos(5'000'000'000);
  up.set_credit_held_messages(16);
  up.set_claims_refused(1);
  up.set_bytes_waiting(90);
  up.set_envelopes_accepted(12);
  up.set_envelopes_acknowledged(6);
  up.set_envelopes_refused(4);
  up.set_envelopes_waiting(2);
  proto::RefusedMessages& full = *up.add_refused_by_peer();
  full.set_why("Full");
  full.set_count(3);
  proto::RefusedMessages& unknown = *up.add_refused_by_peer();
  unknown.set_why("NoMailbox");
  unknown.set_count(1);
  peers.add_peers()->set_node("c");
  EXPECT_EQ(FormatPeers(peers),
            "PEER  STATE  EPOCH  ADDRESS         HEARTBEAT  SILENCE  GRACE  CREDIT HELD  CREDIT GIVEN  WITHOUT CREDIT  "
            "FORBIDDEN  NAMES REFUSED\n"
            "b     up         2  127.0.0.1:7001  1s         4s       5s              16             0               0  "
            "        0              1\n"
            "c     down       0  -               -          -        -                0             0               0  "
            "        0              0\n"
            "\n"
            "PEER  UNACKNOWLEDGED BYTES  ACCEPTED  ACKNOWLEDGED  REFUSED  UNCONFIRMED  WAITING  WHY REFUSED\n"
            "b                       90        12             6        4            0        2  Full 3, NoMailbox 1\n"
            "c                        0         0             0        0            0        0  -\n");
}

TEST(TablesTest, PeersOfSeveralNodesAreOneTable) {
  std::vector<proto::NodePeers> nodes(2);
  nodes[0].set_node("a");
  nodes[0].add_peers()->set_node("b");
  nodes[1].set_node("b");
  nodes[1].add_peers()->set_node("a");
  const std::string text = FormatNodePeers(nodes);
  EXPECT_THAT(text, StartsWith("NODE  PEER  STATE"));
  EXPECT_THAT(text, HasSubstr("\na     b     down"));
  EXPECT_THAT(text, HasSubstr("\nb     a     down"));
}

// A text that ends a DOT label and begins an attribute, an escape, an entity and a comment.
constexpr char kHostileInDot[] = "a\"]; n9 [shape=none] /* \\N\\ &lt; <b>";
constexpr char kHostileAsLabel[] = R"(a\"]; n9 [shape=none] /* \\N\\ &amp;lt; <b>)";

TEST(DotTest, AWaitIsAnEdgeWithTheHandlerThatWaits) {
  proto::ActorDetails orders = Actor("<desk.7.2>", proto::AWAITING, 0);
  orders.add_names("orders");
  orders.add_awaiting(kHostileInDot);
  orders.add_asks("<desk.9.1>");
  orders.add_asks("<desk.8.2>");
  proto::ActorDetails stock = Actor("<desk.8.2>", proto::AWAITING, 0);
  stock.set_label("the stock");
  stock.add_awaiting("Reserve");
  stock.add_asks("<desk.7.2>");
  EXPECT_EQ(WaitsDot({orders, stock, Actor("<desk.6.2>", proto::IDLE, 0)}), absl::StrCat(R"dot(digraph waits {
  node [shape=box];
  n0 [label="orders\n<desk.7.2>"];
  n1 [label="the stock\n<desk.8.2>"];
  n2 [label="<desk.9.1>"];
  n0 -> n2 [label=")dot",
                                                                                         kHostileAsLabel, R"dot("];
  n0 -> n1 [label=")dot",
                                                                                         kHostileAsLabel, R"dot("];
  n1 -> n0 [label="Reserve"];
}
)dot"));
}

TEST(DotTest, ASessionIsAnEdgeThatIsDashedUnlessItIsUp) {
  std::vector<proto::NodePeers> nodes(2);
  nodes[0].set_node("a");
  proto::PeerDetails& up = *nodes[0].add_peers();
  up.set_node("b");
  up.set_is_live(true);
  up.set_is_up(true);
  up.set_epoch(2);
  nodes[0].add_peers()->set_node(kHostileInDot);
  nodes[1].set_node("b");
  proto::PeerDetails& suspect = *nodes[1].add_peers();
  suspect.set_node("a");
  suspect.set_is_live(true);
  suspect.set_epoch(2);
  EXPECT_EQ(PeersDot(nodes), absl::StrCat(R"dot(digraph peers {
  node [shape=box];
  n0 [label="a"];
  n1 [label="b"];
  n2 [label=")dot",
                                          kHostileAsLabel, R"dot("];
  n0 -> n1 [label="up, epoch 2"];
  n0 -> n2 [label="down", style=dashed];
  n1 -> n0 [label="suspect, epoch 2", style=dashed];
}
)dot"));
}

TEST(ArgumentsTest, GraphsAreOfTreeWaitsAndPeers) {
  for (const char* command : {"tree", "waits", "peers"}) {
    EXPECT_TRUE(ParseArguments({command, "--dot"}, "/run/ops")->dot) << command;
    EXPECT_THAT(HelpText(command), HasSubstr("  --dot  writes a graph for Graphviz"));
  }
  EXPECT_TRUE(ParseArguments({"cluster", "tree", "/a", "--dot"}, "")->dot);
  EXPECT_EQ(ParseArguments({"ps", "--dot"}, "/run/ops").status().message(),
            "'ps' takes no --dot; see understudy ps --help");
  EXPECT_EQ(ParseArguments({"tree", "--dot", "--json"}, "/run/ops").status().message(),
            "'tree' takes --json or --dot, not both; see understudy tree --help");
}

TEST(ScreenTest, ATextIsCutToTheWindow) {
  constexpr char kClear[] = "\033[H\033[2J";
  EXPECT_EQ(Screen("a\nb\n", {.rows = 3, .columns = 80}), absl::StrCat(kClear, "a\nb\n"));
  EXPECT_EQ(Screen("a\nb\nc\n", {.rows = 3, .columns = 80}), absl::StrCat(kClear, "a\n(2 more lines)\n"));
  EXPECT_EQ(Screen("a\nb\n", {.rows = 1, .columns = 3}), absl::StrCat(kClear, "(2 \n"));
  EXPECT_EQ(Screen("\u00e4\u00f6\u00fc.\n", {.rows = 9, .columns = 3}), absl::StrCat(kClear, "\u00e4\u00f6\u00fc\n"));
}

TEST(ScreenTest, AWideCharacterTakesTwoColumnsOfTheWindowAndOfATable) {
  constexpr char kClear[] = "\033[H\033[2J";
  EXPECT_EQ(Screen("\u4e2d\u6587.\n", {.rows = 9, .columns = 3}), absl::StrCat(kClear, "\u4e2d\n"));
  EXPECT_EQ(Screen("\u4e2d\u6587.\n", {.rows = 9, .columns = 4}), absl::StrCat(kClear, "\u4e2d\u6587\n"));
  EXPECT_EQ(Columns("a\u00e4\u4e2d\U0001f600\xff"), 7U);
  proto::ListNamesReply names;
  names.add_names()->set_name("\u4e2d\u6587");
  names.add_names()->set_name("four");
  EXPECT_EQ(FormatNames(names),
            "NAME  PID  SCOPE  KEPT BY\n"
            "\u4e2d\u6587  -    node   -\n"
            "four  -    node   -\n");
}

TEST(ArgumentsTest, OptionsMayStandAnywhereAndTheSocketMayComeFromTheEnvironment) {
  absl::StatusOr<Arguments> arguments = ParseArguments({"--yes", "kill", "clerk"}, "/run/ops");
  ASSERT_TRUE(arguments.ok()) << arguments.status();
  EXPECT_EQ(arguments->command, "kill");
  EXPECT_THAT(arguments->operands, ElementsAre("clerk"));
  EXPECT_EQ(arguments->ops, "/run/ops");
  EXPECT_TRUE(arguments->yes);
  arguments = ParseArguments({"ps", "--ops=unix:/run/other", "--json"}, "/run/ops");
  ASSERT_TRUE(arguments.ok()) << arguments.status();
  EXPECT_EQ(arguments->ops, "/run/other");
  EXPECT_TRUE(arguments->json);
  arguments = ParseArguments({"--ops", "/run/third", "ps", "--", "-x"}, "");
  ASSERT_TRUE(arguments.ok()) << arguments.status();
  EXPECT_EQ(arguments->ops, "/run/third");
  EXPECT_THAT(arguments->operands, ElementsAre("-x"));
  EXPECT_EQ(ParseArguments({"lint", "house.textproto"}, "/run/ops")->ops, "");
}

TEST(ArgumentsTest, AWrongCommandLineIsToldWithWhatIsExpected) {
  const auto error = [](const std::vector<std::string>& words, const char* environment = "/run/ops") {
    return std::string(ParseArguments(words, environment).status().message());
  };
  EXPECT_EQ(error({}), "no command is given; see understudy --help");
  EXPECT_EQ(error({"frob"}), "unknown command 'frob'; see understudy --help");
  EXPECT_EQ(error({"frob", "--help"}), "unknown command 'frob'; see understudy --help");
  EXPECT_EQ(error({"\x1b[2J"}), "unknown command '\\x1b[2J'; see understudy --help");
  EXPECT_EQ(error({"pers"}), "unknown command 'pers': did you mean 'peers'?; see understudy --help");
  EXPECT_EQ(error({"dead"}), "unknown command 'dead': did you mean 'dead-letters'?; see understudy --help");
  EXPECT_EQ(error({"ps", "-j"}), "unknown option -j; see understudy ps --help");
  EXPECT_EQ(error({"ps", "--ops="}), "--ops names no node: expected --ops=ADDRESS; see understudy ps --help");
  EXPECT_EQ(error({"ps", "--ops"}), "--ops names no node: expected --ops=ADDRESS; see understudy ps --help");
  EXPECT_EQ(error({"lint", "a", "--ops=b"}), "'lint' takes no --ops=b; see understudy lint --help");
  EXPECT_EQ(error({"ps", "--frob"}), "unknown option --frob; see understudy ps --help");
  EXPECT_EQ(error({"ps", "--yes"}), "'ps' takes no --yes; see understudy ps --help");
  EXPECT_EQ(error({"kill"}), "'kill' takes PID|NAME, got nothing; see understudy kill --help");
  EXPECT_EQ(error({"suspend", "clerk", "10x"}),
            "'10x' is not a time: expected a number above 0 with a unit, such as 30s; see understudy suspend --help");
  EXPECT_EQ(error({"suspend", "clerk", "inf"}).substr(0, 5), "'inf'");
  EXPECT_EQ(error({"suspend", "clerk"}), "'suspend' takes PID|NAME TIME, got 'clerk'; see understudy suspend --help");
  EXPECT_EQ(error({"tree", "house"}), "'tree' takes no operand, got 'house'; see understudy tree --help");
  EXPECT_EQ(error({"ps"}, ""),
            "no node is named: expected --ops=ADDRESS, or the variable UNDERSTUDY_OPS; see understudy --help");
  EXPECT_EQ(error({"completion", "zsh"}), "'completion' takes bash, got 'zsh'; see understudy completion --help");
}

TEST(ArgumentsTest, ObserveTakesSocketsAndAPort) {
  const auto parse = [](const std::vector<std::string>& words, const char* environment = "") {
    return ParseArguments(words, environment).value_or(Arguments());
  };
  EXPECT_THAT(parse({"observe", "/a", "unix:/b", "--port=80"}, "/c").operands, ElementsAre("/a", "/b"));
  EXPECT_EQ(parse({"observe", "/a", "--port", "80"}).port, 80);
  EXPECT_THAT(parse({"observe"}, "/c").operands, ElementsAre("/c"));
  EXPECT_THAT(parse({"observe", "--ops=/d", "/a"}, "/c").operands, ElementsAre("/a", "/d"));
  const auto error = [](const std::vector<std::string>& words) {
    return std::string(ParseArguments(words, "").status().message());
  };
  EXPECT_EQ(error({"observe"}),
            "no node is named: expected --ops=ADDRESS, or the variable UNDERSTUDY_OPS; see understudy --help");
  EXPECT_EQ(error({"observe", "/a", "--port=x"}),
            "'x' is not a port: expected --port=N, from 0 to 65535; see understudy observe --help");
  EXPECT_EQ(error({"observe", "/a", "--json"}), "'observe' takes no --json; see understudy observe --help");
  EXPECT_EQ(error({"tree", "--port=1"}), "'tree' takes no --port=1; see understudy tree --help");
  EXPECT_EQ(error({"observe", "/a", "tls://desk@127.0.0.1:1", "--cert=c", "--key=k"}),
            "tls://desk@127.0.0.1:1 needs your certificate: expected --ca=FILE too; see understudy observe --help");
}

TEST(ArgumentsTest, TraceTakesItsBoundsAndClusterSeveralNodes) {
  absl::StatusOr<Arguments> trace =
      ParseArguments({"trace", "clerk", "--messages=5", "--for", "2m", "--every=10", "--contents"}, "/c");
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_EQ(trace->messages, 5);
  EXPECT_EQ(trace->time, absl::Minutes(2));
  EXPECT_EQ(trace->every, 10);
  EXPECT_TRUE(trace->contents);
  EXPECT_EQ(trace->ops, "/c");
  const absl::StatusOr<Arguments> cluster =
      ParseArguments({"cluster", "tree", "unix:/a", "tls://b@h:1", "--cert=c", "--key=k", "--ca", "a"}, "/c");
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  EXPECT_THAT(cluster->operands, ElementsAre("tree", "/a", "tls://b@h:1"));
  EXPECT_EQ(cluster->tls.certificate_file, "c");
  EXPECT_EQ(cluster->tls.key_file, "k");
  EXPECT_EQ(cluster->tls.ca_file, "a");
  const auto error = [](const std::vector<std::string>& words) {
    return std::string(ParseArguments(words, "/c").status().message());
  };
  EXPECT_EQ(error({"trace", "clerk", "--messages=0"}),
            "'0' is not a number of messages: expected a number above 0; see understudy trace --help");
  EXPECT_EQ(error({"trace", "clerk", "--for"}),
            "'' is not a time: expected a number above 0 with a unit, such as 30s; see understudy trace --help");
  EXPECT_EQ(error({"ps", "--contents"}), "'ps' takes no --contents; see understudy ps --help");
  EXPECT_EQ(error({"ps", "--json=yes"}), "unknown option --json=yes; see understudy ps --help");
  EXPECT_EQ(error({"ps", "--cert="}), "a file is missing: expected the path of a PEM file; see understudy ps --help");
  EXPECT_EQ(error({"cluster", "tree"}),
            "'cluster' takes tree|top|ps|waits|peers|names ADDRESS..., got 'tree'; see understudy cluster --help");
  EXPECT_THAT(error({"cluster", "frob", "/a"}), StartsWith("cluster does not show 'frob': expected tree, top, ps, "));
  EXPECT_THAT(error({"cluster", "ps", "/a", "--dot"}),
              StartsWith("'cluster ps' takes no --dot: expected tree, waits or peers;"));
  for (const char* view : {"top", "ps"}) {
    EXPECT_THAT(
        error({"cluster", view, "/a", "--by=handler-time"}),
        StartsWith(absl::StrCat("'cluster ", view, "' takes no --by=handler-time: expected top with waiting, ")));
  }
}

TEST(ArgumentsTest, EachCommandHasItsHelp) {
  EXPECT_THAT(HelpText(""), HasSubstr("Exit status: 0, 1 after an error, 2 after a wrong command line."));
  EXPECT_EQ(ParseArguments({"--help"}, "")->command, "");
  EXPECT_EQ(ParseArguments({"help"}, "")->command, "");
  for (const char* command :
       {"node",    "tree",         "ps",        "top",     "actor",   "waits", "names",     "peers",
        "workers", "dead-letters", "events",    "crashes", "stop",    "kill",  "restart",   "suspend",
        "resume",  "drain",        "log-level", "cluster", "observe", "lint",  "completion"}) {
    EXPECT_THAT(HelpText(""), HasSubstr(std::string("\n  ") + command));
    EXPECT_THAT(HelpText(command), StartsWith(std::string("usage: understudy ") + command));
    for (const std::vector<std::string>& words :
         std::vector<std::vector<std::string>>{{command, "--help"}, {"-h", command}, {"help", command}}) {
      const absl::StatusOr<Arguments> arguments = ParseArguments(words, "");
      ASSERT_TRUE(arguments.ok()) << arguments.status();
      EXPECT_TRUE(arguments->help);
      EXPECT_EQ(arguments->command, command);
    }
  }
  EXPECT_EQ(HelpText("kill"),
            "usage: understudy kill PID|NAME [--yes] [--ops=ADDRESS] [--cert=FILE --key=FILE --ca=FILE] [--json]\n\n"
            "kill: kill an actor.\n\n"
            "  --yes  does not ask\n");
}

}  // namespace
}  // namespace understudy::tool
