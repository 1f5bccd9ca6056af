#include "understudy/supervision/spec_errors.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/limits.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/limits.h"
#include "understudy/supervision/pool_errors.h"

namespace understudy {
namespace {

std::string Text(absl::Duration duration) { return absl::FormatDuration(duration); }

bool IsPositiveAndFinite(absl::Duration d) { return d > absl::ZeroDuration() && d != absl::InfiniteDuration(); }

// What is wrong with an id or a name, or nothing.
std::string NameProblem(absl::string_view name) {
  if (name.size() > limits::kNameBytesMax) {
    return absl::StrCat("has ", name.size(), " bytes; at most ", limits::kNameBytesMax, " are allowed");
  }
  if (std::any_of(name.begin(), name.end(), [](unsigned char c) { return absl::ascii_iscntrl(c); })) {
    return "has a control character; names are read by people";
  }
  return "";
}

// A DNS label: letters, digits and inner hyphens (RFC 1035, with RFC 1123's
// leading digit).
bool IsDnsLabel(absl::string_view name) {
  if (name.empty() || name.size() > limits::kNodeNameBytesMax || name.front() == '-' || name.back() == '-')
    return false;
  return std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '-'; });
}

class Finder {
 public:
  void FindInSupervisor(const SupervisorSpec& spec, const std::string& where, int depth);
  void FindInChild(const ChildSpec& child, const SupervisorSpec& parent, const std::string& where, int depth);
  void FindRepeatedNames();
  std::vector<SpecError> Take() { return std::move(errors_); }

 private:
  void Add(const std::string& where, absl::string_view field, std::string what) {
    errors_.push_back({where, std::string(field), std::move(what)});
  }
  void FindInFlags(const SupervisorSpec& spec, const std::string& where);
  void FindInShutdown(const ChildSpec& child, const std::string& where);
  void FindInBackoff(const ChildSpec& child, const SupervisorSpec& parent, const std::string& where);
  void FindInNames(const ChildSpec& child, const std::string& where);
  void FindInProcess(const ChildSpec& child, const std::string& where);

  std::vector<SpecError> errors_;
  // Name to where it was used; a node's names and the cluster's are one space.
  std::map<std::string, std::vector<std::pair<std::string, std::string>>> names_;
};

std::string ChildAt(const std::string& where, const ChildSpec& child, size_t index) {
  const std::string label =
      child.id.empty() ? absl::StrCat("child number ", index + 1) : absl::StrCat("child '", child.id, "'");
  return where.empty() ? label : absl::StrCat(where, " / ", label);
}

void Finder::FindInFlags(const SupervisorSpec& spec, const std::string& where) {
  if (spec.intensity < 0) {
    Add(where, "intensity", absl::StrCat(spec.intensity, " is negative; 0 or more restarts may be allowed"));
  }
  if (spec.intensity > limits::kRestartIntensityMax) {
    Add(where, "intensity",
        absl::StrCat(spec.intensity, " is too large; at most ", limits::kRestartIntensityMax, " restarts are counted"));
  }
  if (!IsPositiveAndFinite(spec.period)) {
    Add(where, "period", absl::StrCat(Text(spec.period), " is not a period; it must be above 0 and finite"));
  }
  for (FieldProblem& problem : FindPoolProblems(spec)) Add(where, problem.field, std::move(problem.what));
  if (spec.children.size() > limits::kChildrenPerSupervisorMax) {
    Add(where, "children",
        absl::StrCat("there are ", spec.children.size(), "; at most ", limits::kChildrenPerSupervisorMax,
                     " are allowed"));
  }
}

void Finder::FindInSupervisor(const SupervisorSpec& spec, const std::string& where, int depth) {
  FindInFlags(spec, where);
  if (depth >= limits::kTreeDepthMax) {
    Add(where, "children", absl::StrCat("the tree is more than ", limits::kTreeDepthMax, " supervisors deep"));
    return;
  }
  if (spec.pool != nullptr) FindInChild(spec.pool->child, spec, ChildAt(where, spec.pool->child, 0), depth);
  std::map<std::string, int> ids;
  for (const ChildSpec& child : spec.children) ++ids[child.id];
  for (size_t i = 0; i < spec.children.size(); ++i) {
    const ChildSpec& child = spec.children[i];
    const std::string at = ChildAt(where, child, i);
    if (int& uses = ids[child.id]; !child.id.empty() && uses > 1) {
      Add(at, "id", absl::StrCat("given to ", uses, " children; each needs its own"));
      uses = 1;  // told once
    }
    FindInChild(child, spec, at, depth);
  }
}

void Finder::FindInChild(const ChildSpec& child, const SupervisorSpec& parent, const std::string& where, int depth) {
  if (child.id.empty()) {
    Add(where, "id", "is empty; a child needs one, for reports and requests");
  } else if (const std::string problem = NameProblem(child.id); !problem.empty()) {
    Add(where, "id", problem);
  }
  FindInShutdown(child, where);
  if (child.significant && child.restart == RestartType::kPermanent) {
    Add(where, "significant", "a permanent child is always restarted, so its end can have no significance");
  } else if (child.significant && parent.auto_shutdown == AutoShutdown::kNever) {
    Add(where, "significant", "has no effect: the supervisor's auto_shutdown is never");
  }
  if (child.start_within <= absl::ZeroDuration()) {
    Add(where, "start_within", absl::StrCat(Text(child.start_within), " is no time to start in; it must be above 0"));
  }
  FindInBackoff(child, parent, where);
  for (FieldProblem& problem : FindBudgetProblems(child, parent)) Add(where, problem.field, std::move(problem.what));
  FindInNames(child, where);
  FindInProcess(child, where);
  if (child.subtree != nullptr && child.kind != ChildKind::kSupervisor) {
    Add(where, "subtree", absl::StrCat("a ", ChildKindName(child.kind), " has no children of its own"));
  }
  if (child.subtree != nullptr) FindInSupervisor(*child.subtree, where, depth + 1);
}

void Finder::FindInShutdown(const ChildSpec& child, const std::string& where) {
  const ChildShutdown shutdown = ShutdownOf(child);
  if (shutdown.kind == ChildShutdown::Kind::kWithin && !IsPositiveAndFinite(shutdown.timeout)) {
    Add(where, "shutdown",
        absl::StrCat(Text(shutdown.timeout),
                     " is no time to stop in; it must be above 0 and finite, or BrutalKill or Infinity"));
    return;
  }
  if (child.subtree == nullptr || shutdown.kind == ChildShutdown::Kind::kInfinity) return;
  const absl::Duration needed = LongestStopOfChildren(*child.subtree);
  const bool has_children = !child.subtree->children.empty() || child.subtree->pool != nullptr;
  if (shutdown.kind == ChildShutdown::Kind::kBrutalKill && has_children) {
    Add(where, "shutdown", "BrutalKill of a supervisor does not stop its children in order; give it time, or Infinity");
  } else if (shutdown.kind == ChildShutdown::Kind::kWithin && shutdown.timeout <= needed) {
    const std::string time = needed == absl::InfiniteDuration() ? "any time" : Text(needed);
    Add(where, "shutdown",
        absl::StrCat(
            Text(shutdown.timeout), " is not more than its children may take to stop, ",
            child.subtree->pool != nullptr || child.subtree->stops_together ? "together (" : "one after another (",
            time, "); give it more, or Infinity"));
  }
}

void Finder::FindInBackoff(const ChildSpec& child, const SupervisorSpec& parent, const std::string& where) {
  if (!child.backoff.has_value()) return;
  const RestartBackoff& backoff = *child.backoff;
  if (child.restart == RestartType::kTemporary) {
    Add(where, "backoff", "a temporary child is never restarted");
  } else if (parent.intensity == 0) {
    Add(where, "backoff",
        "never begins: the first restart is immediate and counted, and with intensity 0 the supervisor gives up there");
  }
  if (!IsPositiveAndFinite(backoff.min)) {
    Add(where, "backoff.min", absl::StrCat(Text(backoff.min), " is no wait; it must be above 0 and finite"));
  }
  if (backoff.max < backoff.min || backoff.max == absl::InfiniteDuration()) {
    Add(where, "backoff.max",
        absl::StrCat(Text(backoff.max), " must be finite and not below backoff.min, ", Text(backoff.min)));
  }
  if (!(backoff.factor >= 1.0 && backoff.factor <= 1000.0)) {  // also for NaN
    Add(where, "backoff.factor", absl::StrCat(backoff.factor, " is not in [1, 1000]"));
  }
  if (!(backoff.jitter >= 0.0 && backoff.jitter <= 1.0)) {
    Add(where, "backoff.jitter", absl::StrCat(backoff.jitter, " is not in [0, 1]"));
  }
  if (backoff.reset_after <= absl::ZeroDuration()) {
    Add(where, "backoff.reset_after",
        absl::StrCat(Text(backoff.reset_after), ": a child would be healthy as it starts; it must be above 0"));
  }
  if (backoff.give_up_after_attempts < 2) {
    Add(where, "backoff.give_up_after_attempts",
        absl::StrCat(backoff.give_up_after_attempts, " gives up before the first wait; it must be 2 or more"));
  }
  if (backoff.give_up_after <= backoff.min) {
    Add(where, "backoff.give_up_after",
        absl::StrCat(Text(backoff.give_up_after), " gives up within the first wait; it must be more than backoff.min, ",
                     Text(backoff.min)));
  }
}

void Finder::FindInNames(const ChildSpec& child, const std::string& where) {
  const std::pair<absl::string_view, const std::string*> names[] = {{"registered_as", &child.registered_as},
                                                                    {"published_as", &child.published_as}};
  for (const auto& [field, name] : names) {
    if (name->empty()) continue;
    if (const std::string problem = NameProblem(*name); !problem.empty()) Add(where, field, problem);
    names_[*name].push_back({where, std::string(field)});
  }
}

void Finder::FindInProcess(const ChildSpec& child, const std::string& where) {
  if (child.process.has_value() != (child.kind == ChildKind::kProcess)) {
    Add(where, "process",
        child.process.has_value() ? absl::StrCat("given for a ", ChildKindName(child.kind), "; only a process has one")
                                  : std::string("is missing: which binary to run?"));
    return;
  }
  if (!child.process.has_value()) return;
  if (child.process->binary.empty())
    Add(where, "process.binary", "is empty; give a path, or a name beside this binary");
  if (child.process->node_name.empty()) {
    if (!child.id.empty() && !IsDnsLabel(child.id)) {
      Add(where, "process.node_name",
          absl::StrCat("is not given, and the id '", child.id,
                       "' cannot be the node's name: at most 63 small letters, digits and inner hyphens"));
    }
  } else if (!IsDnsLabel(child.process->node_name)) {
    Add(where, "process.node_name",
        absl::StrCat("'", child.process->node_name,
                     "' cannot be a node's name: at most 63 small letters, digits and inner hyphens"));
  }
  if (child.process->limits.memory_bytes < 0) {
    Add(where, "process.limits.memory_bytes",
        absl::StrCat(child.process->limits.memory_bytes, " is negative; 0 is no limit"));
  }
  if (child.process->limits.open_files < 0) {
    Add(where, "process.limits.open_files",
        absl::StrCat(child.process->limits.open_files, " is negative; 0 is no limit"));
  }
  for (const auto& [key, value] : child.process->environment) {
    if (key.empty() || key.find('=') != std::string::npos) {
      Add(where, "process.environment", absl::StrCat("'", key, "' cannot be the name of a variable"));
    }
  }
  if (!child.registered_as.empty() || !child.published_as.empty()) {
    Add(where, "process",
        "the actors of a process are named by its own tree; registered_as and published_as must be empty");
  }
}

void Finder::FindRepeatedNames() {
  for (const auto& [name, uses] : names_) {
    for (size_t i = 1; i < uses.size(); ++i) {
      Add(uses[i].first, uses[i].second,
          absl::StrCat("'", name, "' is already the name of ", uses[0].first == uses[i].first ? "it" : uses[0].first));
    }
  }
}

absl::Status StatusOf(const std::vector<SpecError>& errors) {
  if (errors.empty()) return absl::OkStatus();
  std::vector<std::string> lines;
  lines.reserve(errors.size());
  for (const SpecError& error : errors) lines.push_back(error.ToString());
  if (lines.size() == 1) return absl::InvalidArgumentError(absl::StrCat("error in the supervision tree: ", lines[0]));
  return absl::InvalidArgumentError(
      absl::StrCat(lines.size(), " errors in the supervision tree:\n  ", absl::StrJoin(lines, "\n  ")));
}

}  // namespace

std::string SpecError::ToString() const {
  return where.empty() ? absl::StrCat(field, ": ", what) : absl::StrCat(where, ": ", field, ": ", what);
}

std::vector<SpecError> FindSpecErrors(const SupervisorSpec& spec) {
  Finder finder;
  finder.FindInSupervisor(spec, "", 0);
  finder.FindRepeatedNames();
  return finder.Take();
}

std::vector<SpecError> FindSpecErrors(const ChildSpec& child, const SupervisorSpec& parent) {
  Finder finder;
  finder.FindInChild(child, parent, ChildAt("", child, 0), 0);
  finder.FindRepeatedNames();
  return finder.Take();
}

absl::Status ValidateSpec(const SupervisorSpec& spec) { return StatusOf(FindSpecErrors(spec)); }

absl::Status ValidateSpec(const ChildSpec& child, const SupervisorSpec& parent) {
  return StatusOf(FindSpecErrors(child, parent));
}

}  // namespace understudy
