// TreeText (tree_file.h): prints a tree as text that ParseTree reads back as the same tree.
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/text_format.h"
#include "understudy/proto/supervision_tree.pb.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/limits.h"
#include "understudy/supervision/pool.h"
#include "understudy/supervision/spec_errors.h"
#include "understudy/transport/tree/tree_words.h"
#include "understudy/transport/tree_file.h"

namespace understudy {
namespace {

class Writer {
 public:
  explicit Writer(const SupervisorSpec& root) : root_(root) {}
  void Supervisor(const SupervisorSpec& spec, proto::SupervisionTree& out);
  // One line for each child that a file cannot describe, with the reason.
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  void Child(const ChildSpec& child, proto::SupervisedChild& out);
  void What(const ChildSpec& child, proto::SupervisedChild& out);
  void Pool(const ChildSpec& child, proto::ChildPool& out);
  void Problem(absl::string_view what) { problems_.push_back(absl::StrCat(PlaceOf(root_, path_), ": ", what)); }

  const SupervisorSpec& root_;
  std::vector<size_t> path_;
  std::vector<std::string> problems_;
};

void ToProto(const RestartBackoff& backoff, proto::ChildBackoff& out) {
  const RestartBackoff defaults;
  if (backoff.min != defaults.min) out.set_min(tree_words::TextOf(backoff.min));
  if (backoff.max != defaults.max) out.set_max(tree_words::TextOf(backoff.max));
  if (backoff.factor != defaults.factor) out.set_factor(backoff.factor);
  if (backoff.jitter != defaults.jitter) out.set_jitter(backoff.jitter);
  if (backoff.reset_after != defaults.reset_after) out.set_reset_after(tree_words::TextOf(backoff.reset_after));
  if (backoff.give_up_after_attempts != defaults.give_up_after_attempts) {
    out.set_give_up_after_attempts(backoff.give_up_after_attempts);
  }
  if (backoff.give_up_after != defaults.give_up_after) {
    out.set_give_up_after(tree_words::TextOf(backoff.give_up_after));
  }
}

void Writer::Supervisor(const SupervisorSpec& spec, proto::SupervisionTree& out) {
  const SupervisorSpec defaults;
  out.set_strategy(tree_words::StrategyOf(spec.strategy));
  if (spec.intensity != defaults.intensity) out.set_intensity(spec.intensity);
  if (spec.period != defaults.period) out.set_period(tree_words::TextOf(spec.period));
  out.set_auto_shutdown(tree_words::AutoShutdownOf(spec.auto_shutdown));
  out.set_stop_together(spec.stop_together);
  if (spec.pool != nullptr) problems_.emplace_back("the root is a pool, which a file has as a child only");
  if (path_.size() > limits::kTreeDepthMax) {
    Problem(absl::StrCat("the tree is more than ", limits::kTreeDepthMax, " supervisors deep"));
    return;
  }
  for (size_t i = 0; i < spec.children.size(); ++i) {
    path_.push_back(i);
    Child(spec.children[i], *out.add_child());
    path_.pop_back();
  }
}

void Writer::Child(const ChildSpec& child, proto::SupervisedChild& out) {
  const bool is_template = path_.back() == SpecError::kTemplate;
  const PoolOptions pool;
  if (!is_template || child.id != pool.id) out.set_id(child.id);
  const RestartType usual = is_template ? pool.restart : RestartType::kPermanent;
  if (child.restart != usual) out.set_restart(tree_words::RestartOf(child.restart));
  if (!is_template) {
    What(child, out);
  } else if (child.kind != ChildKind::kWorker || child.factory.has_value()) {
    Problem("a pool in a file has a class that makes its children, so that its template cannot be written");
  }
  if (child.shutdown.has_value()) out.set_shutdown(tree_words::TextOf(*child.shutdown));
  out.set_significant(child.significant);
  if (child.backoff.has_value()) ToProto(*child.backoff, *out.mutable_backoff());
  if (child.budget.has_value()) {
    out.mutable_budget()->set_intensity(child.budget->intensity);
    out.mutable_budget()->set_period(tree_words::TextOf(child.budget->period));
  }
  out.set_exclusive(child.exclusive);
  if (child.start_within != ChildSpec().start_within) {
    out.set_start_within(tree_words::TextOf(child.start_within));
  }
  if (child.placement.has_value()) {
    proto::ChildPlacement& placement = *out.mutable_placement();
    for (const std::string& node : child.placement->nodes) placement.add_node(node);
    placement.set_spread(child.placement->spread);
    if (child.placement->connect_within != NodePlacement().connect_within) {
      placement.set_connect_within(tree_words::TextOf(child.placement->connect_within));
    }
  }
  out.set_registered_as(child.registered_as);
  out.set_published_as(child.published_as);
}

void Writer::What(const ChildSpec& child, proto::SupervisedChild& out) {
  if (child.kind == ChildKind::kProcess && child.process.has_value()) {
    proto::ChildProcess& process = *out.mutable_process();
    process.set_binary(child.process->binary);
    for (const std::string& argument : child.process->arguments) process.add_argument(argument);
    for (const auto& [name, value] : child.process->environment) {
      proto::EnvironmentVariable& variable = *process.add_environment();
      variable.set_name(name);
      variable.set_value(value);
    }
    process.set_node_name(child.process->node_name);
    if (child.process->limits != ProcessSpec().limits) {
      process.mutable_limits()->set_memory_bytes(child.process->limits.memory_bytes);
      process.mutable_limits()->set_open_files(child.process->limits.open_files);
    }
    if (child.process->silent_within != ProcessSpec().silent_within) {
      process.set_silent_within(tree_words::TextOf(child.process->silent_within));
    }
  } else if (child.kind == ChildKind::kSupervisor && child.subtree != nullptr && child.subtree->pool != nullptr) {
    Pool(child, *out.mutable_pool());
  } else if (child.kind == ChildKind::kSupervisor && child.subtree != nullptr) {
    Supervisor(*child.subtree, *out.mutable_supervisor());
  } else if (child.kind == ChildKind::kWorker && child.factory.has_value()) {
    proto::FactoryActor& actor = *out.mutable_actor();
    actor.set_factory(child.factory->name);
    if (!child.factory->argument_type.empty()) {
      actor.mutable_argument()->set_type_url(absl::StrCat("type.googleapis.com/", child.factory->argument_type));
      actor.mutable_argument()->set_value(child.factory->argument);
    }
  } else {
    Problem("no registered factory makes it, so that it cannot be written");
  }
}

void Writer::Pool(const ChildSpec& child, proto::ChildPool& out) {
  const SupervisorSpec& spec = *child.subtree;
  const SupervisorSpec usual = PoolTree({});
  if (!child.factory.has_value()) Problem("no registered factory makes the pool, so that it cannot be written");
  if (spec.strategy != usual.strategy || spec.stop_together != usual.stop_together || !spec.children.empty()) {
    Problem("a pool in a file has neither a strategy nor children");
  }
  if (child.factory.has_value()) out.set_factory(child.factory->name);
  if (spec.intensity != usual.intensity) out.set_intensity(spec.intensity);
  if (spec.period != usual.period) out.set_period(tree_words::TextOf(spec.period));
  out.set_auto_shutdown(tree_words::AutoShutdownOf(spec.auto_shutdown));
  if (spec.pool->children_max != usual.pool->children_max) out.set_children_max(spec.pool->children_max);
  if (spec.pool->shards != usual.pool->shards) out.set_shards(spec.pool->shards);
  path_.push_back(SpecError::kTemplate);
  Child(spec.pool->child, *out.mutable_child());
  path_.pop_back();
}

}  // namespace

absl::StatusOr<std::string> TreeText(const SupervisorSpec& spec) {
  proto::SupervisionTree tree;
  Writer writer(spec);
  writer.Supervisor(spec, tree);
  if (!writer.problems().empty()) return absl::InvalidArgumentError(absl::StrJoin(writer.problems(), "\n"));
  google::protobuf::TextFormat::Printer printer;
  printer.SetUseUtf8StringEscaping(true);
  printer.SetExpandAny(true);
  std::string text;
  if (!printer.PrintToString(tree, &text)) return absl::InternalError("the tree cannot be printed");
  return text;
}

}  // namespace understudy
