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
#include "understudy/supervision/internal/field_errors.h"
#include "understudy/supervision/internal/member_ids.h"
#include "understudy/supervision/limits.h"

namespace understudy {
namespace {

std::string Text(absl::Duration duration) { return absl::FormatDuration(duration); }

bool IsPositiveAndFinite(absl::Duration d) { return d > absl::ZeroDuration() && d != absl::InfiniteDuration(); }

// Returns a description of the problem of an id or a name; empty if it has none.
std::string NameProblem(absl::string_view name) {
  if (name.size() > limits::kNameBytesMax) {
    return absl::StrCat("has ", name.size(), " bytes; at most ", limits::kNameBytesMax, " are allowed");
  }
  if (std::any_of(name.begin(), name.end(), [](unsigned char c) { return absl::ascii_iscntrl(c); })) {
    return "has a control character; names are read by people";
  }
  return "";
}

// Returns true if give_up_after_attempts cannot be reached, because the waits before
// the last attempt, with the most jitter, add up to give_up_after or more. The default
// number of attempts is not reported, because it was not chosen by the user.
bool CannotReachAttempts(const RestartBackoff& backoff) {
  if (backoff.give_up_after_attempts <= 2 ||
      backoff.give_up_after_attempts == RestartBackoff().give_up_after_attempts ||
      backoff.give_up_after == absl::InfiniteDuration() || !IsPositiveAndFinite(backoff.min) ||
      !(backoff.factor >= 1.0) || !(backoff.jitter >= 0.0 && backoff.jitter < 1.0)) {
    return false;
  }
  const double limit = absl::FDivDuration(backoff.give_up_after, backoff.min) / (1.0 - backoff.jitter);
  const double longest = absl::FDivDuration(backoff.max, backoff.min);
  constexpr int kTermsMax = 10000;  // bounds the loop; later waits count as equal to the last one
  double sum = 0;                   // in units of `min`
  double wait = 1;
  int left = backoff.give_up_after_attempts - 2;
  for (int i = 0; i < kTermsMax && left > 0 && sum < limit; ++i, --left) {
    sum += std::min(wait, longest);
    wait = std::min(wait * backoff.factor, longest);
  }
  return sum + left * std::min(wait, longest) >= limit;
}

class Finder {
 public:
  void FindInSupervisor(const SupervisorSpec& spec, int depth);
  // `index` is the child's among its siblings.
  void FindInChild(const ChildSpec& child, size_t index, const SupervisorSpec& parent, int depth);
  void FindRepeatedNames();
  void FindRepeatedNodes();
  std::vector<SpecError> Take() { return std::move(errors_); }

 private:
  // The place of a child in the tree: the indices from the root, and a text for people.
  struct Place {
    std::vector<size_t> path;
    std::string text;
  };
  Place Here() const;
  void Add(absl::string_view field, std::string what) { Add(Here(), field, std::move(what)); }
  void Add(Place at, absl::string_view field, std::string what) {
    errors_.push_back({std::move(at.text), std::string(field), std::move(what), std::move(at.path)});
  }
  // Reports a `value` that is no enumerator, as a number that was cast may be. `last` is the last enumerator.
  template <class E>
  void FindInEnum(absl::string_view field, absl::string_view type, E value, E last);
  void FindInFlags(const SupervisorSpec& spec);
  void FindInShutdown(const ChildSpec& child);
  void FindInBackoff(const ChildSpec& child, const SupervisorSpec& parent);
  void FindInNames(const ChildSpec& child);
  void FindInFactory(const ChildSpec& child);
  void FindInStart(const ChildSpec& child);
  void FindInProcess(const ChildSpec& child);

  std::vector<std::pair<size_t, const ChildSpec*>> path_;  // from the root to the child that is checked now
  std::vector<SpecError> errors_;
  // From each name to the places that use it. Registered and published names share one namespace.
  std::map<std::string, std::vector<std::pair<Place, std::string>>> names_;
  // From each node name of a process to the places that give it, as an id or as a node name.
  std::map<std::string, std::vector<std::pair<Place, std::string>>> nodes_;
  std::map<std::string, Place> templates_;  // by id, of pools of processes
};

std::string ChildText(const ChildSpec& child, size_t index) {
  if (index == SpecError::kTemplate && child.id.empty()) return "the template";
  if (child.id.empty()) return absl::StrCat("child number ", index + 1);
  constexpr size_t kShownMax = limits::kNameBytesMax + 1;  // only an id that is too long is cut
  const absl::string_view id = child.id;
  return absl::StrCat("child '", id.substr(0, kShownMax), id.size() > kShownMax ? "…" : "", "'");
}

Finder::Place Finder::Here() const {
  Place here;
  for (const auto& [index, child] : path_) {
    here.path.push_back(index);
    absl::StrAppend(&here.text, here.text.empty() ? "" : " / ", ChildText(*child, index));
  }
  return here;
}

template <class E>
void Finder::FindInEnum(absl::string_view field, absl::string_view type, E value, E last) {
  const int number = static_cast<int>(value);
  if (number >= 0 && number <= static_cast<int>(last)) return;
  Add(field, absl::StrCat(number, " is not ", type, ": expected 0 to ", static_cast<int>(last)));
}

void Finder::FindInFlags(const SupervisorSpec& spec) {
  FindInEnum("strategy", "a RestartStrategy", spec.strategy, RestartStrategy::kRestForOne);
  FindInEnum("auto_shutdown", "an AutoShutdown", spec.auto_shutdown, AutoShutdown::kAllSignificant);
  if (spec.intensity < 0) {
    Add("intensity", absl::StrCat(spec.intensity, " is negative; 0 or more restarts may be allowed"));
  }
  if (spec.intensity > limits::kRestartIntensityMax) {
    Add("intensity",
        absl::StrCat(spec.intensity, " is too large; at most ", limits::kRestartIntensityMax, " restarts are counted"));
  }
  if (!IsPositiveAndFinite(spec.period)) {
    Add("period", absl::StrCat(Text(spec.period), " is not a period; it must be above 0 and finite"));
  }
  for (FieldProblem& problem : FindPoolProblems(spec)) Add(problem.field, std::move(problem.what));
  if (spec.children.size() > limits::kChildrenPerSupervisorMax) {
    Add("children", absl::StrCat("there are ", spec.children.size(), "; at most ", limits::kChildrenPerSupervisorMax,
                                 " are allowed"));
  }
}

void Finder::FindInSupervisor(const SupervisorSpec& spec, int depth) {
  FindInFlags(spec);
  if (depth >= limits::kTreeDepthMax) {
    Add("children", absl::StrCat("the tree is more than ", limits::kTreeDepthMax, " supervisors deep"));
    return;
  }
  if (spec.pool != nullptr) FindInChild(spec.pool->child, SpecError::kTemplate, spec, depth);
  std::map<std::string, int> ids;
  for (const ChildSpec& child : spec.children) ++ids[child.id];
  for (size_t i = 0; i < spec.children.size(); ++i) {
    const ChildSpec& child = spec.children[i];
    path_.emplace_back(i, &child);
    if (int& uses = ids[child.id]; !child.id.empty() && uses > 1) {
      Add("id", absl::StrCat("given to ", uses, " children; each needs its own"));
      uses = 1;  // reported once
    }
    path_.pop_back();
    FindInChild(child, i, spec, depth);
  }
}

void Finder::FindInChild(const ChildSpec& child, size_t index, const SupervisorSpec& parent, int depth) {
  path_.emplace_back(index, &child);
  if (child.id.empty()) {
    Add("id", "is empty; a child needs one, for reports and requests");
  } else if (const std::string problem = NameProblem(child.id); !problem.empty()) {
    Add("id", problem);
  }
  FindInEnum("kind", "a ChildKind", child.kind, ChildKind::kProcess);
  FindInEnum("restart", "a RestartType", child.restart, RestartType::kTemporary);
  FindInShutdown(child);
  if (child.significant && child.restart == RestartType::kPermanent) {
    Add("significant",
        "a permanent child is always restarted, so its end never shuts the supervisor down; make it transient or "
        "temporary");
  } else if (child.significant && parent.auto_shutdown == AutoShutdown::kNever) {
    Add("significant", "has no effect: the supervisor's auto_shutdown is never");
  }
  if (child.start_within <= absl::ZeroDuration()) {
    Add("start_within", absl::StrCat(Text(child.start_within), " leaves no time to start; it must be above 0"));
  }
  FindInBackoff(child, parent);
  for (FieldProblem& problem : FindBudgetProblems(child, parent)) Add(problem.field, std::move(problem.what));
  FindInNames(child);
  FindInFactory(child);
  if (index != SpecError::kTemplate) FindInStart(child);  // the class of a pool makes its children
  FindInProcess(child);
  const ChildSpec* pool = index == SpecError::kTemplate && path_.size() > 1 ? path_[path_.size() - 2].second : nullptr;
  const bool is_made_by_class = pool != nullptr && (pool->start != nullptr || pool->factory.has_value());
  for (FieldProblem& problem : FindPlacementProblems(child, is_made_by_class)) {
    Add(problem.field, std::move(problem.what));
  }
  for (const auto& [place, above] : path_) {
    if (!child.placement.has_value() || above == &child || !above->exclusive) continue;
    Add("placement",
        absl::StrCat("is below '", above->id, "', which is exclusive; that cannot be promised on another node: ",
                     "when that node is lost, a handler of the child may still run there"));
    break;
  }
  if (child.subtree != nullptr && child.kind != ChildKind::kSupervisor) {
    Add("subtree", absl::StrCat("a ", ChildKindName(child.kind), " has no children of its own"));
  }
  if (child.subtree != nullptr) FindInSupervisor(*child.subtree, depth + 1);
  path_.pop_back();
}

void Finder::FindInShutdown(const ChildSpec& child) {
  const ChildShutdown shutdown = ShutdownOf(child);
  FindInEnum("shutdown", "a ChildShutdown::Kind", shutdown.kind, ChildShutdown::Kind::kInfinity);
  if (shutdown.kind == ChildShutdown::Kind::kWithin && !IsPositiveAndFinite(shutdown.timeout)) {
    Add("shutdown", absl::StrCat(Text(shutdown.timeout),
                                 " is not a time to stop in; give a finite time above 0, BrutalKill or Infinity"));
    return;
  }
  if (child.subtree == nullptr || shutdown.kind == ChildShutdown::Kind::kInfinity) return;
  const absl::Duration needed = LongestStopOfChildren(*child.subtree);
  const bool has_children = !child.subtree->children.empty() || child.subtree->pool != nullptr;
  if (shutdown.kind == ChildShutdown::Kind::kBrutalKill && has_children) {
    Add("shutdown", "BrutalKill of a supervisor does not stop its children in order; give it time, or Infinity");
  } else if (shutdown.kind == ChildShutdown::Kind::kWithin && shutdown.timeout <= needed) {
    const std::string time = needed == absl::InfiniteDuration() ? "any time" : Text(needed);
    Add("shutdown", absl::StrCat(Text(shutdown.timeout), " is not more than its children may take to stop, ",
                                 child.subtree->pool != nullptr || child.subtree->stop_together ? "together ("
                                                                                                : "one after another (",
                                 time, "); give it more, or Infinity"));
  }
}

void Finder::FindInBackoff(const ChildSpec& child, const SupervisorSpec& parent) {
  if (!child.backoff.has_value()) return;
  const RestartBackoff& backoff = *child.backoff;
  if (child.restart == RestartType::kTemporary) {
    Add("backoff", "a temporary child is never restarted");
  } else if (parent.intensity == 0) {
    Add("backoff",
        "never begins: the first restart is immediate and counted, and with intensity 0 the supervisor gives up there");
  } else if (child.budget.has_value() && child.budget->intensity == 0) {
    Add("backoff", "never begins: the first restart is immediate and counted, and the child's own budget allows none");
  }
  if (!IsPositiveAndFinite(backoff.min)) {
    Add("backoff.min", absl::StrCat(Text(backoff.min), " must be above 0 and finite"));
  }
  if (backoff.max < backoff.min || backoff.max == absl::InfiniteDuration()) {
    Add("backoff.max",
        absl::StrCat(Text(backoff.max), " must be finite and not below backoff.min, ", Text(backoff.min)));
  }
  if (!(backoff.factor >= 1.0 && backoff.factor <= 1000.0)) {  // also for NaN
    Add("backoff.factor", absl::StrCat(backoff.factor, " is not in [1, 1000]"));
  }
  if (!(backoff.jitter >= 0.0 && backoff.jitter <= 1.0)) {
    Add("backoff.jitter", absl::StrCat(backoff.jitter, " is not in [0, 1]"));
  }
  if (backoff.reset_after <= absl::ZeroDuration()) {
    Add("backoff.reset_after",
        absl::StrCat(Text(backoff.reset_after),
                     " would count a child as healthy as soon as it starts; it must be above 0"));
  }
  if (backoff.give_up_after_attempts < 2) {
    Add("backoff.give_up_after_attempts",
        absl::StrCat(backoff.give_up_after_attempts, " gives up before the first wait; it must be 2 or more"));
  }
  if (backoff.give_up_after <= backoff.min) {
    Add("backoff.give_up_after",
        absl::StrCat(Text(backoff.give_up_after), " gives up within the first wait; it must be more than backoff.min, ",
                     Text(backoff.min)));
  }
  if (CannotReachAttempts(backoff)) {
    Add("backoff.give_up_after_attempts",
        absl::StrCat(backoff.give_up_after_attempts,
                     " restarts are never reached: the waits before them are longer than "
                     "backoff.give_up_after, ",
                     Text(backoff.give_up_after)));
  }
}

void Finder::FindInNames(const ChildSpec& child) {
  const std::pair<absl::string_view, const std::string*> names[] = {{"registered_as", &child.registered_as},
                                                                    {"published_as", &child.published_as}};
  for (const auto& [field, name] : names) {
    if (name->empty()) continue;
    if (const std::string problem = NameProblem(*name); !problem.empty()) Add(field, problem);
    names_[*name].push_back({Here(), std::string(field)});
  }
}

void Finder::FindInFactory(const ChildSpec& child) {
  if (!child.factory.has_value()) return;
  const bool is_pool = child.subtree != nullptr && child.subtree->pool != nullptr;
  if (child.kind != ChildKind::kWorker && !is_pool) {
    Add("factory", absl::StrCat("given for a ", ChildKindName(child.kind), "; only a worker and a pool have one"));
  } else if (child.factory->name.empty()) {
    Add("factory", "has no name; give the name of a registered factory");
  }
}

void Finder::FindInStart(const ChildSpec& child) {
  if (child.start != nullptr || child.factory.has_value() || child.placement.has_value()) return;
  if (child.kind == ChildKind::kWorker) {
    Add("start", "is missing: what makes the actor? Give a start function or a registered factory");
  } else if (child.kind == ChildKind::kSupervisor && child.subtree == nullptr) {
    Add("start", "is missing: what makes the supervisor? Give its subtree");
  }
}

void Finder::FindInProcess(const ChildSpec& child) {
  if (child.process.has_value() != (child.kind == ChildKind::kProcess)) {
    Add("process", child.process.has_value()
                       ? absl::StrCat("given for a ", ChildKindName(child.kind), "; only a process has one")
                       : std::string("is missing; give the binary to run"));
    return;
  }
  if (!child.process.has_value()) return;
  if (child.process->binary.empty()) Add("process.binary", "is empty; give a path, or a name beside this binary");
  if (child.process->node_name.empty()) {
    if (!child.id.empty() && !IsDnsLabel(child.id)) {
      Add("process.node_name",
          absl::StrCat("is not given, and the id '", child.id,
                       "' cannot be the node's name: at most 63 small letters, digits and inner hyphens"));
    }
  } else if (!IsDnsLabel(child.process->node_name)) {
    Add("process.node_name",
        absl::StrCat("'", child.process->node_name,
                     "' cannot be a node's name: at most 63 small letters, digits and inner hyphens"));
  }
  if (child.process->limits.memory_bytes < 0) {
    Add("process.limits.memory_bytes", absl::StrCat(child.process->limits.memory_bytes, " is negative; 0 is no limit"));
  }
  if (child.process->limits.open_files < 0) {
    Add("process.limits.open_files", absl::StrCat(child.process->limits.open_files, " is negative; 0 is no limit"));
  }
  const absl::Duration silence = child.process->silent_within;
  if (silence < limits::kProcessChildSilenceMin || silence > limits::kProcessChildSilenceMax) {
    Add("process.silent_within", absl::StrCat(absl::FormatDuration(silence), " is not in [",
                                              absl::FormatDuration(limits::kProcessChildSilenceMin), ", ",
                                              absl::FormatDuration(limits::kProcessChildSilenceMax), "]"));
  }
  const bool is_named = !child.process->node_name.empty();
  nodes_[is_named ? child.process->node_name : child.id].push_back({Here(), is_named ? "process.node_name" : "id"});
  if (path_.back().first == SpecError::kTemplate) templates_.emplace(child.id, Here());
  for (const auto& [key, value] : child.process->environment) {
    if (key.empty() || key.find('=') != std::string::npos) {
      Add("process.environment",
          absl::StrCat("'", key, "' cannot be the name of a variable: a name is not empty and has no '='"));
    }
  }
  if (!child.registered_as.empty() || !child.published_as.empty()) {
    Add("process", "the actors of a process are named by its own tree; registered_as and published_as must be empty");
  }
}

void Finder::FindRepeatedNames() {
  for (const auto& [name, uses] : names_) {
    for (size_t i = 1; i < uses.size(); ++i) {
      Add(uses[i].first, uses[i].second,
          absl::StrCat("'", name, "' is already ",
                       uses[0].first.path == uses[i].first.path
                           ? absl::StrCat("its ", uses[0].second, "; leave one of them out")
                           : absl::StrCat("the name of ", uses[0].first.text)));
    }
  }
}

void Finder::FindRepeatedNodes() {
  for (const auto& [node, uses] : nodes_) {
    const absl::optional<absl::string_view> made_up_by = TemplateOfNode(node);
    const auto made_up = made_up_by.has_value() ? templates_.find(std::string(*made_up_by)) : templates_.end();
    if (made_up != templates_.end()) {
      Add(uses[0].first, uses[0].second,
          absl::StrCat("'", node, "' is the node name of a child whose id the pool of ", made_up->second.text,
                       " makes up; a process child needs its own"));
    }
    for (size_t i = 1; i < uses.size() && !node.empty(); ++i) {
      std::vector<size_t> parent = uses[i].first.path;
      parent.pop_back();
      std::vector<size_t> first_parent = uses[0].first.path;
      first_parent.pop_back();
      // For siblings with the same id, FindInSupervisor has reported the id itself.
      if (uses[i].second == "id" && uses[0].second == "id" && parent == first_parent) continue;
      Add(uses[i].first, uses[i].second,
          absl::StrCat("'", node, "' is already the node name of ", uses[0].first.text,
                       "; a process child needs its own"));
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
  finder.FindInSupervisor(spec, 0);
  finder.FindRepeatedNames();
  finder.FindRepeatedNodes();
  return finder.Take();
}

std::vector<SpecError> FindSpecErrors(const ChildSpec& child, const SupervisorSpec& parent) {
  Finder finder;
  finder.FindInChild(child, 0, parent, 0);
  finder.FindRepeatedNames();
  finder.FindRepeatedNodes();
  return finder.Take();
}

std::string PlaceOf(const SupervisorSpec& root, const std::vector<size_t>& path) {
  std::string text;
  const SupervisorSpec* spec = &root;
  for (const size_t index : path) {
    const bool is_template = spec != nullptr && index == SpecError::kTemplate && spec->pool != nullptr;
    if (spec == nullptr || (!is_template && index >= spec->children.size())) break;
    const ChildSpec& child = is_template ? spec->pool->child : spec->children[index];
    absl::StrAppend(&text, text.empty() ? "" : " / ", ChildText(child, index));
    spec = child.subtree.get();
  }
  return text;
}

absl::Status ValidateSpec(const SupervisorSpec& spec) { return StatusOf(FindSpecErrors(spec)); }

absl::Status ValidateSpec(const ChildSpec& child, const SupervisorSpec& parent) {
  return StatusOf(FindSpecErrors(child, parent));
}

}  // namespace understudy
