#include "understudy/supervision/actor_factories.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "understudy/actors/check.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/child_start.h"

namespace understudy {

ActorFactories& ActorFactories::Add(std::string name, MakeActor make) {
  UNDERSTUDY_CHECK(make != nullptr, "the factory ", name, " has no function");
  return AddEntry(std::move(name),
                  {.argument_type = "", .bind = [make = std::move(make)](const std::string&) { return make; }});
}

ActorFactories& ActorFactories::AddEntry(std::string name, Entry entry) {
  UNDERSTUDY_CHECK(!name.empty(), "a factory needs a name");
  const auto [place, is_new] = entries_.emplace(std::move(name), std::move(entry));
  UNDERSTUDY_CHECK(is_new, "the factory ", place->first, " is registered twice");
  return *this;
}

std::vector<std::string> ActorFactories::names() const {
  std::vector<std::string> names;
  names.reserve(entries_.size());
  for (const auto& [name, entry] : entries_) names.push_back(name);
  return names;
}

absl::StatusOr<const ActorFactories::Entry*> ActorFactories::Find(const std::string& name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) {
    return absl::NotFoundError(absl::StrCat(
        "there is no factory '", name, "'; registered: ", entries_.empty() ? "none" : absl::StrJoin(names(), ", ")));
  }
  return &found->second;
}

absl::StatusOr<std::shared_ptr<const ChildStart>> ActorFactories::PoolStartOf(const FactoryCall& call) const {
  const absl::StatusOr<const Entry*> entry = Find(call.name);
  if (!entry.ok()) return entry.status();
  if ((*entry)->make_pool == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("factory '", call.name, "' makes actors, not pools"));
  }
  return std::make_shared<const ChildStart>((*entry)->make_pool, call.name);
}

absl::StatusOr<std::shared_ptr<const ChildStart>> ActorFactories::StartOf(const FactoryCall& call) const {
  const absl::StatusOr<const Entry*> entry = Find(call.name);
  if (!entry.ok()) return entry.status();
  if ((*entry)->make_pool != nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("factory '", call.name, "' makes pools, not actors"));
  }
  const std::string& wanted = (*entry)->argument_type;
  if (call.argument_type != wanted) {
    const std::string given = call.argument_type.empty() ? "none" : absl::StrCat("a ", call.argument_type);
    return absl::InvalidArgumentError(absl::StrCat("factory '", call.name, "' takes ",
                                                   wanted.empty() ? "no argument" : absl::StrCat("a ", wanted),
                                                   ", and is given ", given));
  }
  MakeActor make = (*entry)->bind(call.argument);
  if (make == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("the argument of factory '", call.name, "' cannot be parsed as a ", wanted));
  }
  return std::make_shared<const ChildStart>(std::move(make), call.name);
}

}  // namespace understudy
