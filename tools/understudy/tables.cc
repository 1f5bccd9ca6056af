#include "understudy/tools/understudy/tables.h"

#include <google/protobuf/repeated_field.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/tools/understudy/screen.h"

namespace understudy::tool {
namespace {

// Rows of cells below a heading. Columns that are made of numbers are aligned to the right; an empty cell is a dash.
class Table {
 public:
  explicit Table(std::vector<std::string> heading) { rows_.push_back(std::move(heading)); }
  void Add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

  std::string Text() const {
    const size_t columns = rows_[0].size();
    std::vector<size_t> widths(columns, 0);
    for (size_t r = 0; r < rows_.size(); ++r) {
      for (size_t c = 0; c < columns; ++c) widths[c] = std::max(widths[c], Columns(CellOf(r, c)));
    }
    std::string text;
    for (size_t r = 0; r < rows_.size(); ++r) {
      std::string line;
      for (size_t c = 0; c < columns; ++c) {
        const absl::string_view cell = CellOf(r, c);
        const std::string space(widths[c] - Columns(cell), ' ');
        absl::StrAppend(&line, c == 0 ? "" : "  ", IsNumber(c) ? space : "", cell, IsNumber(c) ? "" : space);
      }
      absl::StrAppend(&text, absl::StripTrailingAsciiWhitespace(line), "\n");
    }
    return text;
  }

 private:
  // True if the column has a number, and nothing else but empty cells.
  bool IsNumber(size_t column) const {
    bool has_number = false;
    for (size_t r = 1; r < rows_.size(); ++r) {
      const std::string& cell = rows_[r][column];
      if (!std::all_of(cell.begin(), cell.end(), absl::ascii_isdigit)) return false;
      has_number = has_number || !cell.empty();
    }
    return has_number;
  }
  absl::string_view CellOf(size_t row, size_t column) const {
    const std::string& cell = rows_[row][column];
    return cell.empty() ? "-" : absl::string_view(cell);
  }

  std::vector<std::vector<std::string>> rows_;
};

// To three digits.
absl::Duration RoundedDuration(absl::Duration time) {
  absl::Duration unit = absl::Nanoseconds(1);
  while (time / unit >= 1000) unit *= 10;
  return absl::Trunc(time, unit);
}

std::string StateText(proto::ActorStateValue state) {
  return absl::AsciiStrToLower(proto::ActorStateValue_Name(state));
}

// To a tenth of a second from one second on, else to milliseconds.
std::string DurationText(int64_t nanos) {
  const absl::Duration duration = absl::Nanoseconds(nanos);
  const absl::Duration unit = duration < absl::Seconds(1) ? absl::Milliseconds(1) : absl::Milliseconds(100);
  return absl::FormatDuration(absl::Trunc(duration, unit));
}

// Empty if no message waits.
std::string AgeText(int64_t nanos) { return nanos == 0 ? "" : DurationText(nanos); }

// "suspended for 20s more", or nothing.
std::string SuspendedText(const proto::ActorDetails& actor) {
  if (actor.suspended_for_nanos() == 0) return "";
  return absl::StrCat("suspended for ", DurationText(actor.suspended_for_nanos()), " more");
}

// The pids, and how many more there are.
std::string PidsText(const google::protobuf::RepeatedPtrField<std::string>& pids, int64_t count) {
  const int64_t more = count - pids.size();
  return absl::StrCat(absl::StrJoin(pids, " "), more > 0 ? absl::StrCat(" and ", more, " more") : "");
}

std::string IncompleteText(const proto::ActorDetails& actor) {
  if (actor.noted_within_nanos() == 0) return "the actor waits for a worker, so only its counters could be read";
  return absl::StrCat(
      "the actor waits for a worker; its behavior and mailboxes are as its last turn left them, at most ",
      DurationText(actor.noted_within_nanos()), " ago");
}

std::string YesNo(bool yes) { return yes ? "yes" : "no"; }

std::string TimeText(int64_t unix_nanos, absl::TimeZone zone) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3S", absl::FromUnixNanos(unix_nanos), zone);
}

std::string LostText(uint64_t lost) { return lost == 0 ? "" : absl::StrCat("(", lost, " lost)\n"); }

// "Full 3, NoMailbox 1"
std::string RefusedText(const proto::PeerDetails& peer) {
  return absl::StrJoin(peer.refused_by_peer(), ", ", [](std::string* out, const proto::RefusedMessages& refused) {
    absl::StrAppend(out, refused.why(), " ", refused.count());
  });
}

// Returns an empty text if `nanos` is zero, which stands for an unknown duration.
std::string KnownDurationText(int64_t nanos) { return nanos == 0 ? "" : DurationText(nanos); }

// Two tables: the sessions with peers, and below them how many envelopes each peer acknowledged, refused and so on.
class PeerTables {
 public:
  enum class Nodes { kShown, kOne };
  explicit PeerTables(Nodes nodes) : nodes_(nodes) {}

  void Add(const std::string& node, const proto::PeerDetails& peer) {
    AddRow(sessions_, node,
           {peer.node(), PeerStateText(peer), absl::StrCat(peer.epoch()), peer.address(),
            KnownDurationText(peer.heartbeat_interval_nanos()), KnownDurationText(peer.silence_timeout_nanos()),
            KnownDurationText(peer.grace_period_nanos()), absl::StrCat(peer.credit_held_messages()),
            absl::StrCat(peer.credit_given_messages()), absl::StrCat(peer.without_credit()),
            absl::StrCat(peer.forbidden()), absl::StrCat(peer.claims_refused())});
    AddRow(envelopes_, node,
           {peer.node(), absl::StrCat(peer.bytes_waiting()), absl::StrCat(peer.envelopes_accepted()),
            absl::StrCat(peer.envelopes_acknowledged()), absl::StrCat(peer.envelopes_refused()),
            absl::StrCat(peer.envelopes_unconfirmed()), absl::StrCat(peer.envelopes_waiting()), RefusedText(peer)});
  }
  std::string Text() const { return absl::StrCat(sessions_.Text(), "\n", envelopes_.Text()); }

 private:
  static std::vector<std::string> Row(Nodes nodes, const std::string& node, std::vector<std::string> cells) {
    if (nodes == Nodes::kShown) cells.insert(cells.begin(), node);
    return cells;
  }
  void AddRow(Table& table, const std::string& node, std::vector<std::string> cells) const {
    table.Add(Row(nodes_, node, std::move(cells)));
  }

  const Nodes nodes_;
  Table sessions_{Row(nodes_, "NODE",
                      {"PEER", "STATE", "EPOCH", "ADDRESS", "HEARTBEAT", "SILENCE", "GRACE", "CREDIT HELD",
                       "CREDIT GIVEN", "WITHOUT CREDIT", "FORBIDDEN", "NAMES REFUSED"})};
  Table envelopes_{Row(nodes_, "NODE",
                       {"PEER", "UNACKNOWLEDGED BYTES", "ACCEPTED", "ACKNOWLEDGED", "REFUSED", "UNCONFIRMED", "WAITING",
                        "WHY REFUSED"})};
};

std::string Sender(const std::string& pid) { return pid.empty() ? "outside any actor" : pid; }

class TreeText {
 public:
  static constexpr size_t kDepthMax = 100;  // limits::kTreeDepthMax; more is not a node's

  explicit TreeText(const proto::GetTreeReply& tree) : clock_(absl::Nanoseconds(tree.clock_nanos())) {
    for (const proto::SupervisorDetails& supervisor : tree.supervisors()) by_pid_[supervisor.pid()] = &supervisor;
    const std::map<std::string, const proto::SupervisorDetails*> all = by_pid_;
    for (const proto::SupervisorDetails& supervisor : tree.supervisors()) {
      if (all.contains(supervisor.parent())) continue;
      table_.Add({absl::StrJoin(supervisor.names(), ", ") + (supervisor.names().empty() ? "supervisor" : ""), "", "",
                  "", supervisor.pid(), "", SupervisesText(supervisor), ""});
      AddChildren(supervisor, 1);
    }
  }
  std::string Text() const { return table_.Text(); }

 private:
  // "one_for_one, 1 of 3 restarts in 10s"
  static std::string SupervisesText(const proto::SupervisorDetails& supervisor) {
    return absl::StrCat(supervisor.is_pool() ? "pool" : supervisor.strategy(), ", ", supervisor.restarts_in_period(),
                        " of ", supervisor.intensity(), " restarts in ",
                        absl::FormatDuration(absl::Nanoseconds(supervisor.period_nanos())));
  }
  // "restarting in 1.5s"
  std::string StateText(const proto::ChildDetails& child) const {
    if (child.starts_at_nanos() == 0) return child.state();
    const absl::Duration left = absl::Nanoseconds(child.starts_at_nanos()) - clock_;
    return absl::StrCat(child.state(), " in ", DurationText(std::max<int64_t>(absl::ToInt64Nanoseconds(left), 0)));
  }
  // "1.5s ago: Failed(…)"
  std::string LastExitText(const proto::ChildDetails& child) const {
    if (child.last_exit().empty()) return "";
    const absl::Duration ago = clock_ - absl::Nanoseconds(child.exited_at_nanos());
    return absl::StrCat(DurationText(std::max<int64_t>(absl::ToInt64Nanoseconds(ago), 0)), " ago: ", child.last_exit());
  }

  void AddChildren(const proto::SupervisorDetails& supervisor, size_t depth) {
    const std::string indent(2 * depth, ' ');
    for (const proto::ChildDetails& child : supervisor.children()) {
      const auto below = by_pid_.find(child.pid());
      table_.Add({indent + child.id(), StateText(child), child.kind(), child.restart(), child.pid(),
                  absl::StrCat(child.restarts()), below == by_pid_.end() ? "" : SupervisesText(*below->second),
                  LastExitText(child)});
      if (below == by_pid_.end() || depth == kDepthMax) continue;
      const proto::SupervisorDetails& inner = *below->second;
      by_pid_.erase(below);  // each is shown once, also if the listener says that they are below one another
      AddChildren(inner, depth + 1);
    }
  }

  const absl::Duration clock_;  // the node's
  std::map<std::string, const proto::SupervisorDetails*> by_pid_;
  Table table_{{"CHILD", "STATE", "KIND", "RESTART", "PID", "RESTARTS", "SUPERVISES", "LAST EXIT"}};
};

}  // namespace

std::string FormatJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string json;
  (void)google::protobuf::util::MessageToJsonString(message, &json, options);
  return json + "\n";
}

std::string DoingText(const proto::ActorDetails& actor) {
  if (!actor.doing().empty()) {
    return actor.doing_for_nanos() == 0 ? actor.doing()
                                        : absl::StrCat(actor.doing(), " for ", DurationText(actor.doing_for_nanos()));
  }
  return absl::StrJoin(actor.awaiting(), ", ");
}

std::string PeerStateText(const proto::PeerDetails& peer) {
  return !peer.is_live() ? "down" : peer.is_up() ? "up" : "suspect";
}

std::string FormatNode(const proto::NodeDetails& node) {
  std::vector<std::string> actions;
  for (const int action : node.actions()) {
    const std::string name = absl::AsciiStrToLower(proto::Action_Name(static_cast<proto::Action>(action)));
    actions.push_back(absl::StrReplaceAll(name, {{"_", "-"}}));
  }
  return absl::StrCat(node.has_node() ? "node " : "system ", node.name(), ", process ", node.pid(),
                      node.address().empty() ? "" : absl::StrCat(", listens on ", node.address()),
                      "\nactors: ", node.live_actors(), " (", node.fenced_actors(),
                      " fenced); dead letters: ", node.dead_letters(), "; late replies: ", node.late_replies(),
                      "; call cycles: ", node.call_cycles(),
                      "\nlog level: ", node.log_level().empty() ? "none" : node.log_level(),
                      "; log lines left out: ", node.log_lines_left_out(),
                      "\nallowed actions: ", actions.empty() ? "none" : absl::StrJoin(actions, ", "), "\n");
}

std::string FormatActors(const std::vector<proto::ActorDetails>& actors) {
  Table table({"PID", "STATE", "WAITING", "BYTES", "AGE", "BEHAVIOR", "CLASS", "NAME", "DOING"});
  const auto doing = [](const proto::ActorDetails& actor) {
    const std::string text = DoingText(actor);
    if (!text.empty()) return text;
    if (actor.noted_within_nanos() == 0) return SuspendedText(actor);
    return absl::StrCat("as noted at most ", DurationText(actor.noted_within_nanos()), " ago");
  };
  for (const proto::ActorDetails& actor : actors) {
    table.Add({actor.pid(), StateText(actor.state()), absl::StrCat(actor.waiting()),
               actor.waiting_bytes() == 0 ? "" : absl::StrCat(actor.waiting_bytes()), AgeText(actor.oldest_age_nanos()),
               actor.behavior(), actor.class_name(),
               actor.names().empty() ? actor.label() : absl::StrJoin(actor.names(), ", "), doing(actor)});
  }
  return table.Text();
}

std::string FormatActor(const proto::ActorDetails& actor) {
  std::string text = absl::StrCat(actor.pid(), ": ", StateText(actor.state()));
  if (const std::string doing = DoingText(actor); !doing.empty()) {
    absl::StrAppend(&text, actor.doing().empty() ? ", in " : " ", doing);
  }
  if (const std::string suspended = SuspendedText(actor); !suspended.empty()) absl::StrAppend(&text, ", ", suspended);
  absl::StrAppend(&text, "\n");
  const auto line = [&](absl::string_view what, const std::string& value) {
    if (!value.empty()) absl::StrAppend(&text, what, ": ", value, "\n");
  };
  line("names", absl::StrJoin(actor.names(), ", "));
  line("label", actor.label());
  line("class", actor.class_name());
  line("parent", actor.parent());
  line("links", PidsText(actor.links(), actor.link_count()));
  line("monitors", PidsText(actor.monitors(), actor.monitor_count()));
  line("monitored by", PidsText(actor.monitored_by(), actor.monitored_by_count()));
  line("behavior", actor.behavior());
  if (actor.timers() != 0) {
    line("timers", absl::StrCat(actor.timers(), ", the next in ", DurationText(actor.next_timer_nanos())));
  }
  line("waits for the answers of", absl::StrJoin(actor.asks(), " "));
  if (!actor.is_complete()) line("incomplete", IncompleteText(actor));
  if (actor.mailboxes().empty()) return absl::StrCat(text, "no mailboxes\n");
  Table waiting({"MAILBOX", "OPEN", "WAITING", "OLDEST AGE", "CAPACITY", "BYTES", "BYTES MAX", "TYPE"});
  Table fates({"MAILBOX", "ACCEPTED", "HANDLED", "REJECTED", "FAILED", "EXPIRED", "CANCELLED", "DROPPED",
               "DEAD LETTERS", "FORWARDED"});
  for (const proto::MailboxDetails& mailbox : actor.mailboxes()) {
    const bool has_bytes = mailbox.capacity_bytes() != 0;
    waiting.Add(
        {mailbox.name(), mailbox.closed_by(), absl::StrCat(mailbox.waiting()), AgeText(mailbox.oldest_age_nanos()),
         absl::StrCat(mailbox.capacity_messages()), has_bytes ? absl::StrCat(mailbox.bytes()) : "",
         has_bytes ? absl::StrCat(mailbox.capacity_bytes()) : "",
         mailbox.reply().empty() ? mailbox.request() : absl::StrCat(mailbox.request(), " -> ", mailbox.reply())});
    fates.Add({mailbox.name(), absl::StrCat(mailbox.accepted()), absl::StrCat(mailbox.handled()),
               absl::StrCat(mailbox.rejected()), absl::StrCat(mailbox.failed()), absl::StrCat(mailbox.expired()),
               absl::StrCat(mailbox.cancelled()), absl::StrCat(mailbox.dropped()), absl::StrCat(mailbox.dead_letters()),
               absl::StrCat(mailbox.forwarded())});
  }
  return absl::StrCat(text, "\n", waiting.Text(), "\n", fates.Text());
}

std::string FormatNames(const proto::ListNamesReply& names) {
  Table table({"NAME", "PID", "SCOPE", "KEPT BY"});
  for (const proto::NameDetails& name : names.names()) {
    table.Add({name.name(), name.pid(), name.is_of_cluster() ? "cluster" : "node", name.kept_by()});
  }
  return table.Text();
}

std::string FormatPeers(const proto::ListPeersReply& peers) {
  PeerTables tables(PeerTables::Nodes::kOne);
  for (const proto::PeerDetails& peer : peers.peers()) tables.Add("", peer);
  return tables.Text();
}

std::string FormatNodePeers(const std::vector<proto::NodePeers>& nodes) {
  PeerTables tables(PeerTables::Nodes::kShown);
  for (const proto::NodePeers& node : nodes) {
    for (const proto::PeerDetails& peer : node.peers()) tables.Add(node.node(), peer);
  }
  return tables.Text();
}

std::string FormatWaits(const std::vector<proto::ActorDetails>& actors) {
  Table table({"PID", "NAME", "IN", "WAITS FOR"});
  for (const proto::ActorDetails& actor : actors) {
    for (const std::string& callee : actor.asks()) {
      table.Add({actor.pid(), actor.names().empty() ? actor.label() : absl::StrJoin(actor.names(), ", "),
                 DoingText(actor), callee});
    }
  }
  return table.Text();
}

std::string FormatHandlerTimes(const proto::ListHandlerTimesReply& times) {
  Table table({"CLASS", "MAILBOX", "SAMPLES", "MEAN", "HALF", "99%", "LONGEST"});
  const auto text = [](int64_t nanos) { return absl::FormatDuration(RoundedDuration(absl::Nanoseconds(nanos))); };
  for (const proto::HandlerTimesDetails& handler : times.handlers()) {
    table.Add({handler.class_name(), handler.mailbox(), absl::StrCat(handler.samples()),
               text(handler.samples() == 0 ? 0 : handler.sum_nanos() / handler.samples()),
               text(handler.half_within_nanos()), text(handler.most_within_nanos()), text(handler.longest_nanos())});
  }
  return absl::StrCat(table.Text(), "about one of 128 runs of handlers is timed\n");
}

std::string FormatWorkers(const proto::ListWorkersReply& workers) {
  Table table({"WORKER", "PARKED", "STUCK", "QUEUE", "STEALS", "HANDLERS", "DOING"});
  for (int i = 0; i < workers.workers_size(); ++i) {
    const proto::WorkerDetails& worker = workers.workers(i);
    std::string doing = worker.doing();
    if (worker.running_for_nanos() != 0) absl::StrAppend(&doing, " for ", DurationText(worker.running_for_nanos()));
    table.Add({absl::StrCat(i + 1), YesNo(worker.is_parked()), YesNo(worker.is_taken_over()),
               absl::StrCat(worker.waiting_turns()), absl::StrCat(worker.steals()),
               absl::StrCat(worker.handlers_entered()), doing});
  }
  return table.Text();
}

std::string FormatTree(const proto::GetTreeReply& tree) {
  if (tree.supervisors().empty()) return "no supervisors\n";
  return TreeText(tree).Text();
}

std::string FormatEntry(const proto::DeadLetterEntry& entry, absl::TimeZone zone) {
  return absl::StrCat(LostText(entry.lost()), TimeText(entry.time_unix_nanos(), zone), "  ", entry.type(), " to ",
                      entry.mailbox(), " of ", entry.to(), " from ", Sender(entry.from()), ": ", entry.why(), "\n");
}

std::string FormatEntry(const proto::TraceEntry& entry, absl::TimeZone zone) {
  const auto lost = static_cast<uint64_t>(std::max<int64_t>(entry.lost(), 0));
  return absl::StrCat(LostText(lost), TimeText(entry.time_unix_nanos(), zone), "  #", entry.number(), "  ",
                      entry.mailbox(), "  ", entry.type(), "  ", entry.bytes(), " bytes from ", Sender(entry.from()),
                      entry.contents().empty() ? "" : absl::StrCat(": ", entry.contents()), "\n");
}

std::string FormatEntry(const proto::EventEntry& entry, absl::TimeZone zone) {
  return absl::StrCat(LostText(entry.lost()), TimeText(entry.time_unix_nanos(), zone), "  ", entry.supervisor(), ": ",
                      entry.child().empty() ? "" : absl::StrCat("child '", entry.child(), "' "),
                      entry.pid().empty() ? "" : absl::StrCat(entry.pid(), " "), entry.kind(),
                      entry.reason().empty() ? "" : absl::StrCat(": ", entry.reason()), "\n");
}

std::string FormatEntry(const proto::CrashEntry& entry, absl::TimeZone zone) {
  std::string text = absl::StrCat(
      LostText(entry.lost()), TimeText(entry.time_unix_nanos(), zone), "  ", entry.is_process() ? "process '" : "",
      entry.is_process() ? absl::StrCat(entry.label(), "' ") : "", entry.pid(),
      entry.is_process() || entry.label().empty() ? "" : absl::StrCat(" (", entry.label(), ")"),
      entry.doing().empty() ? "" : absl::StrCat(" in ", entry.doing()), ": ", entry.reason(),
      entry.parent().empty() ? "" : absl::StrCat("; a child of ", entry.parent()),
      entry.trace_id().empty() ? "" : absl::StrCat("; trace ", entry.trace_id()), "\n");
  for (const proto::CrashMessage& message : entry.messages()) {
    absl::StrAppend(&text, "    ",
                    message.time_unix_nanos() == 0 ? "at an unknown time" : TimeText(message.time_unix_nanos(), zone),
                    "  ", message.mailbox(), "  ", message.type(), "  ",
                    message.bytes() == 0 ? "unknown size" : absl::StrCat(message.bytes(), " bytes"), " from ",
                    Sender(message.from()), "\n");
  }
  return text;
}

}  // namespace understudy::tool
