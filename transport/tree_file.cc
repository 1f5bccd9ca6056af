#include "understudy/transport/tree_file.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/message.h"
#include "google/protobuf/text_format.h"
#include "understudy/actors/printable_text.h"
#include "understudy/proto/supervision_tree.pb.h"
#include "understudy/supervision/actor_factories.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/limits.h"
#include "understudy/supervision/pool.h"
#include "understudy/supervision/spec_errors.h"
#include "understudy/transport/tree/tree_words.h"

namespace understudy {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using ParseInfoTree = google::protobuf::TextFormat::ParseInfoTree;
using Path = std::vector<size_t>;  // the position of a child: indices from the root

// Each level of the tree nests two messages; the rest is for the messages in a child.
constexpr int kNestingMax = 2 * limits::kTreeDepthMax + 10;

// The values that stand for an unreadable time, one in each of two passes (see KeepCommon).
constexpr absl::Duration kShortTime = absl::Nanoseconds(1);
constexpr absl::Duration kLongTime = absl::Hours(1000000);

// Errors that are told of one file.
constexpr size_t kToldMax = 1000;

struct Fault {
  int column = 0;  // from 1; 0 if it is not known
  std::string text;
};
// Errors by line number (from 1; 0 if the line is not known). Errors of one line are in the order in which they were
// found.
using Faults = std::multimap<int, Fault>;

// Returns a type without fields, which LintTree uses for an argument whose type this program does not know.
const Descriptor* UncheckedArgument() {
  static const Descriptor* const type = [] {
    google::protobuf::FileDescriptorProto file;
    file.set_name("unchecked_argument");
    file.add_message_type()->set_name("UncheckedArgument");
    static auto* const pool = new google::protobuf::DescriptorPool;
    return pool->BuildFile(file)->message_type(0);
  }();
  return type;
}

// Finds the types of arguments: those that this program has, and for others UncheckedArgument.
class AnyType final : public google::protobuf::TextFormat::Finder {
 public:
  const Descriptor* FindAnyType(const google::protobuf::Message& message, const std::string& prefix,
                                const std::string& name) const override {
    const Descriptor* const known = Finder::FindAnyType(message, prefix, name);
    return known == nullptr ? UncheckedArgument() : known;
  }
};

// Collects the errors of the text parser. Warnings count as errors: the parser reports an unknown field as a warning
// and goes on after it.
class ParserFaults final : public google::protobuf::io::ErrorCollector {
 public:
  explicit ParserFaults(Faults& faults) : faults_(faults) {}
  void AddError(int line, int column, const std::string& message) override {
    faults_.emplace(line + 1, Fault{std::max(column + 1, 0), message});
  }
  void AddWarning(int line, int column, const std::string& message) override {
    if (!absl::StrContains(message, "\"UncheckedArgument\"")) AddError(line, column, message);
  }

 private:
  Faults& faults_;
};

// Finds the line of a field in the text.
class Lines {
 public:
  explicit Lines(const ParseInfoTree& root) : root_(root) {}

  // The line of `field` of the child at `path`. A field of the child's supervisor or pool may be given without that
  // prefix ("backoff.min", "intensity"). If the field is not in the text, the line of the innermost message that would
  // contain it; 0 if that is not known either.
  int Of(const Path& path, absl::string_view field) const {
    const ParseInfoTree* tree = &root_;
    const Descriptor* type = proto::SupervisionTree::descriptor();
    int line = 0;
    for (size_t i = 0; i < path.size() && tree != nullptr; ++i) {
      const bool is_template = path[i] == SpecError::kTemplate;
      if (i > 0) Enter(type, tree, is_template ? "pool" : "supervisor", line);
      Enter(type, tree, "child", line, is_template ? 0 : static_cast<int>(path[i]));
    }
    for (const absl::string_view part : absl::StrSplit(field, '.')) {
      if (tree == nullptr) break;
      const std::string name = part == "children" ? "child" : part == "nodes" ? "node" : std::string(part);
      if (!path.empty() && type->FindFieldByName(name) == nullptr) {
        const FieldDescriptor* pool = type->FindFieldByName("pool");
        const bool is_pool = pool != nullptr && tree->GetTreeForNested(pool, -1) != nullptr;
        Enter(type, tree, is_pool ? "pool" : "supervisor", line);
      }
      Enter(type, tree, name, line, 0);
    }
    return line;
  }

 private:
  // Moves `tree` and `type` from a message of class `type` to its field `name`, and sets `line` if the field is in the
  // text. `index` selects the element of a repeated field.
  static void Enter(const Descriptor*& type, const ParseInfoTree*& tree, const std::string& name, int& line,
                    int index = 0) {
    const FieldDescriptor* field = type == nullptr || tree == nullptr ? nullptr : type->FindFieldByName(name);
    if (field == nullptr) {
      tree = nullptr;
      return;
    }
    const int place = field->is_repeated() ? index : -1;
    if (const int found = tree->GetLocation(field, place).line; found >= 0) line = found + 1;
    const bool is_message = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    tree = is_message ? tree->GetTreeForNested(field, place) : nullptr;
    type = is_message ? field->message_type() : nullptr;
  }

  const ParseInfoTree& root_;
};

// Converts the parsed message to a spec, and collects errors of fields that cannot be converted.
class Reader {
 public:
  // `factories`: null if they are not known, and so not checked. `in_place` is put into the spec in place of a time
  // that cannot be read.
  Reader(const ActorFactories* factories, absl::Duration in_place) : factories_(factories), in_place_(in_place) {}

  SupervisorSpec Supervisor(const proto::SupervisionTree& in);
  // The errors so far, each with the path and name of the field.
  std::vector<SpecError> TakeErrors() { return std::move(errors_); }

 private:
  ChildSpec Child(const proto::SupervisedChild& in, bool is_template = false);
  void Pool(const proto::ChildPool& in, ChildSpec& child);
  void What(const proto::SupervisedChild& in, ChildSpec& child);
  void Actor(const proto::FactoryActor& in, ChildSpec& child);
  ChildShutdown Shutdown(const std::string& text);
  RestartBackoff Backoff(const proto::ChildBackoff& in);
  void Time(const std::string& text, absl::string_view field, absl::Duration& out);
  void Add(absl::string_view field, std::string what) {
    errors_.push_back({"", std::string(field), std::move(what), path_});
  }

  const ActorFactories* const factories_;
  const absl::Duration in_place_;
  Path path_;
  std::vector<SpecError> errors_;
};

void Reader::Time(const std::string& text, absl::string_view field, absl::Duration& out) {
  const absl::optional<absl::Duration> time = tree_words::TimeOf(text);
  out = time.value_or(in_place_);
  if (!time.has_value()) Add(field, absl::StrCat("'", text, "' is not a time; write it as 1h30m, 10s, 250ms or inf"));
}

SupervisorSpec Reader::Supervisor(const proto::SupervisionTree& in) {
  SupervisorSpec spec{.strategy = tree_words::StrategyOf(in.strategy()),
                      .auto_shutdown = tree_words::AutoShutdownOf(in.auto_shutdown())};
  spec.stop_together = in.stop_together();
  if (in.has_intensity()) spec.intensity = in.intensity();
  if (in.has_period()) Time(in.period(), "period", spec.period);
  for (int i = 0; i < in.child_size(); ++i) {
    path_.push_back(static_cast<size_t>(i));
    spec.children.push_back(Child(in.child(i)));
    path_.pop_back();
  }
  return spec;
}

ChildSpec Reader::Child(const proto::SupervisedChild& in, bool is_template) {
  ChildSpec child{.id = in.id(), .restart = tree_words::RestartOf(in.restart()), .significant = in.significant()};
  if (in.has_placement()) {
    child.placement.emplace().nodes.assign(in.placement().node().begin(), in.placement().node().end());
    child.placement->spread = in.placement().spread();
    if (in.placement().has_connect_within()) {
      Time(in.placement().connect_within(), "placement.connect_within", child.placement->connect_within);
    }
  }
  if (!is_template) {
    What(in, child);
  } else {
    const PoolOptions defaults;
    if (!in.has_id()) child.id = defaults.id;
    if (!in.has_restart()) child.restart = defaults.restart;
    if (in.what_case() != proto::SupervisedChild::WHAT_NOT_SET) {
      Add("actor", "given for a template; the class of its pool makes its children");
    }
  }
  if (in.has_shutdown()) child.shutdown = Shutdown(in.shutdown());
  if (in.has_backoff()) child.backoff = Backoff(in.backoff());
  if (in.has_budget()) {
    child.budget.emplace();
    if (in.budget().has_intensity()) child.budget->intensity = in.budget().intensity();
    if (in.budget().has_period()) Time(in.budget().period(), "budget.period", child.budget->period);
  }
  child.exclusive = in.exclusive();
  if (in.has_start_within()) Time(in.start_within(), "start_within", child.start_within);
  child.registered_as = in.registered_as();
  child.published_as = in.published_as();
  return child;
}

void Reader::What(const proto::SupervisedChild& in, ChildSpec& child) {
  switch (in.what_case()) {
    case proto::SupervisedChild::kActor:
      return Actor(in.actor(), child);
    case proto::SupervisedChild::kSupervisor:
      child.kind = ChildKind::kSupervisor;
      child.subtree = Subtree(Supervisor(in.supervisor()));
      return;
    case proto::SupervisedChild::kProcess: {
      child.kind = ChildKind::kProcess;
      ProcessSpec& process = child.process.emplace();
      process.binary = in.process().binary();
      process.arguments.assign(in.process().argument().begin(), in.process().argument().end());
      for (const proto::EnvironmentVariable& variable : in.process().environment()) {
        process.environment.emplace_back(variable.name(), variable.value());
      }
      process.node_name = in.process().node_name();
      process.limits = {.memory_bytes = in.process().limits().memory_bytes(),
                        .open_files = in.process().limits().open_files()};
      if (in.process().has_silent_within()) {
        Time(in.process().silent_within(), "process.silent_within", process.silent_within);
      }
      return;
    }
    case proto::SupervisedChild::kPool:
      return Pool(in.pool(), child);
    case proto::SupervisedChild::WHAT_NOT_SET:
      Add("actor", "is missing: a child is an actor, a supervisor, a pool or a process");
      child.factory.emplace().name = "?";  // so that FindSpecErrors does not report the missing factory too
      return;
  }
}

void Reader::Pool(const proto::ChildPool& in, ChildSpec& child) {
  PoolOptions options;
  if (in.has_intensity()) options.intensity = in.intensity();
  if (in.has_period()) Time(in.period(), "period", options.period);
  options.auto_shutdown = tree_words::AutoShutdownOf(in.auto_shutdown());
  if (in.has_children_max()) options.children_max = in.children_max();
  if (in.has_shards()) options.shards = in.shards();
  SupervisorSpec tree = PoolTree(options);
  if (in.has_child()) {
    auto pool = std::make_shared<PoolSpec>(*tree.pool);
    path_.push_back(SpecError::kTemplate);
    pool->child = Child(in.child(), /*is_template=*/true);
    path_.pop_back();
    tree.pool = std::move(pool);
  }
  child.kind = ChildKind::kSupervisor;
  child.subtree = Subtree(std::move(tree));
  child.factory.emplace().name = in.factory();
  if (in.factory().empty() || factories_ == nullptr) return;  // FindSpecErrors reports a missing name
  absl::StatusOr<std::shared_ptr<const ChildStart>> start = factories_->PoolStartOf(*child.factory);
  if (start.ok()) {
    child.start = *std::move(start);
  } else {
    Add("pool.factory", std::string(start.status().message()));
  }
}

void Reader::Actor(const proto::FactoryActor& in, ChildSpec& child) {
  FactoryCall& call = child.factory.emplace();
  call.name = in.factory();
  if (in.has_argument()) {
    const std::string& url = in.argument().type_url();
    call.argument_type = url.substr(url.rfind('/') + 1);
    call.argument = in.argument().value();
  }
  if (call.name.empty() || factories_ == nullptr) return;  // FindSpecErrors reports a missing name
  if (child.placement.has_value()) return;  // the factory is registered on the other node, which checks it
  absl::StatusOr<std::shared_ptr<const ChildStart>> start = factories_->StartOf(call);
  if (start.ok()) {
    child.start = *std::move(start);
  } else {
    // The error is of the argument if the factory exists but does not take it, else of the factory.
    const bool is_argument = absl::IsInvalidArgument(start.status()) && !factories_->PoolStartOf(call).ok();
    Add(is_argument ? "actor.argument" : "actor.factory", std::string(start.status().message()));
  }
}

ChildShutdown Reader::Shutdown(const std::string& text) {
  if (const absl::optional<ChildShutdown> shutdown = tree_words::ShutdownOf(text); shutdown.has_value()) {
    return *shutdown;
  }
  Add("shutdown", absl::StrCat("'", text, "' is not a shutdown; write a time (5s), brutal_kill or infinity"));
  return ChildShutdown::Within(in_place_);
}

RestartBackoff Reader::Backoff(const proto::ChildBackoff& in) {
  RestartBackoff backoff;
  if (in.has_min()) Time(in.min(), "backoff.min", backoff.min);
  if (in.has_max()) Time(in.max(), "backoff.max", backoff.max);
  if (in.has_factor()) backoff.factor = in.factor();
  if (in.has_jitter()) backoff.jitter = in.jitter();
  if (in.has_reset_after()) Time(in.reset_after(), "backoff.reset_after", backoff.reset_after);
  if (in.has_give_up_after_attempts()) backoff.give_up_after_attempts = in.give_up_after_attempts();
  if (in.has_give_up_after()) Time(in.give_up_after(), "backoff.give_up_after", backoff.give_up_after);
  return backoff;
}

// Drops the errors that come only from the substitutes for unreadable times. `other` is the same spec with other
// substitutes: an error that depends on a substitute has its value in the text, so FindSpecErrors(other) does not have
// the same error.
void KeepCommon(std::vector<SpecError>& errors, const SupervisorSpec& other) {
  std::set<std::pair<Path, std::string>> others;
  for (const SpecError& error : FindSpecErrors(other)) others.emplace(error.path, error.ToString());
  const auto is_odd = [&](const SpecError& error) { return !others.contains({error.path, error.ToString()}); };
  errors.erase(std::remove_if(errors.begin(), errors.end(), is_odd), errors.end());
}

// Returns `text`, which may quote arbitrary bytes of the file, as one printable line. The middle of a long text is cut
// out; its beginning names the place, and its end the error.
std::string InOneLine(absl::string_view text) {
  constexpr size_t kEndMax = 500;
  if (text.size() > 2 * kEndMax) {
    return absl::StrCat(InOneLine(text.substr(0, kEndMax)), " … (cut) … ",
                        InOneLine(text.substr(text.size() - kEndMax)));
  }
  return PrintableText(text, Backslashes::kKeep);
}

absl::Status StatusOf(absl::string_view file, const Faults& faults) {
  std::vector<std::string> lines;
  for (const auto& [line, fault] : faults) {
    if (lines.size() == kToldMax) break;
    lines.push_back(absl::StrCat(file, ":", std::max(line, 1), ": ",
                                 fault.column == 0 ? "" : absl::StrCat("column ", fault.column, ": "),
                                 InOneLine(fault.text)));
  }
  if (faults.size() == 1) return absl::InvalidArgumentError(absl::StrCat("error in ", lines[0]));
  return absl::InvalidArgumentError(absl::StrCat(faults.size(), " errors in ", file,
                                                 faults.size() > kToldMax ? ", of which the first are" : "", ":\n  ",
                                                 absl::StrJoin(lines, "\n  ")));
}

// Returns the tree in `text`, of no use if it adds to `faults`. `factories`: as Reader has them.
SupervisorSpec Read(absl::string_view text, const ActorFactories* factories, Faults& faults) {
  ParserFaults parser_faults(faults);
  ParseInfoTree places;
  proto::SupervisionTree tree;
  google::protobuf::TextFormat::Parser parser;
  const AnyType any_type;
  if (factories == nullptr) parser.SetFinder(&any_type);
  parser.RecordErrorsTo(&parser_faults);
  parser.WriteLocationsTo(&places);
  parser.AllowUnknownField(true);
  parser.SetRecursionLimit(kNestingMax);
  if (!parser.ParseFromString(std::string(text), &tree)) {
    if (faults.empty()) faults.emplace(0, Fault{0, "the text cannot be parsed"});
    return SupervisorSpec();
  }
  Reader reader(factories, kShortTime);
  SupervisorSpec spec = reader.Supervisor(tree);
  std::vector<SpecError> errors = reader.TakeErrors();
  for (SpecError& error : errors) error.where = PlaceOf(spec, error.path);
  std::vector<SpecError> found = FindSpecErrors(spec);
  if (!errors.empty()) KeepCommon(found, Reader(factories, kLongTime).Supervisor(tree));
  for (SpecError& error : found) errors.push_back(std::move(error));
  const Lines lines(places);
  for (const SpecError& error : errors) {
    faults.emplace(lines.Of(error.path, error.field), Fault{0, error.ToString()});
  }
  return spec;
}

std::string TooLong(size_t bytes) {
  return absl::StrCat(" has ", bytes, " bytes; a tree has at most ", limits::kTreeFileBytesMax);
}

absl::StatusOr<std::string> ReadText(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return absl::ErrnoToStatus(errno, absl::StrCat("cannot read ", path));
  // Reads one byte more than the limit, so that ParseTree sees that the file is too long.
  std::string text(limits::kTreeFileBytesMax + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad()) return absl::UnavailableError(absl::StrCat("cannot read ", path));
  text.resize(static_cast<size_t>(in.gcount()));
  return text;
}

}  // namespace

absl::StatusOr<SupervisorSpec> ParseTree(absl::string_view text, absl::string_view file,
                                         const ActorFactories& factories) {
  if (text.size() > limits::kTreeFileBytesMax) {
    return absl::ResourceExhaustedError(absl::StrCat(file, TooLong(text.size())));
  }
  Faults faults;
  SupervisorSpec spec = Read(text, &factories, faults);
  if (!faults.empty()) return StatusOf(file, faults);
  return spec;
}

absl::StatusOr<SupervisorSpec> ReadTreeFile(const std::string& path, const ActorFactories& factories) {
  const absl::StatusOr<std::string> text = ReadText(path);
  if (!text.ok()) return text.status();
  return ParseTree(*text, path, factories);
}

std::vector<TreeFileError> LintTree(absl::string_view text) {
  if (text.size() > limits::kTreeFileBytesMax) return {{.text = absl::StrCat("the file", TooLong(text.size()))}};
  Faults faults;
  (void)Read(text, /*factories=*/nullptr, faults);
  std::vector<TreeFileError> errors;
  for (const auto& [line, fault] : faults) {
    if (errors.size() == kToldMax) break;
    errors.push_back({.line = std::max(line, 1), .column = fault.column, .text = InOneLine(fault.text)});
  }
  return errors;
}

absl::StatusOr<std::vector<TreeFileError>> LintTreeFile(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadText(path);
  if (!text.ok()) return text.status();
  return LintTree(*text);
}

}  // namespace understudy
