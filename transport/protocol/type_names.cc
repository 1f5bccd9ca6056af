#include "understudy/transport/protocol/type_names.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "understudy/transport/protocol/value_type.h"

namespace understudy::actor_protocol {
namespace {

// Returns the scope of a full name: "auction" for "auction.Offer", and "" for a name
// without a dot.
absl::string_view ScopeOf(absl::string_view name) {
  const size_t dot = name.rfind('.');
  return dot == absl::string_view::npos ? "" : name.substr(0, dot);
}

// `name` without the package, or empty if it is not in it.
absl::string_view Below(absl::string_view name, absl::string_view package) {
  if (package.empty()) return name;
  return absl::StartsWith(name, absl::StrCat(package, ".")) ? name.substr(package.size() + 1) : "";
}

// Whether each of `before` has its number and name among `after`. Of nothing that is so only for nothing.
template <class Parts>
bool HasAll(const Parts& before, const Parts& after) {
  if (before.empty()) return after.empty();
  for (const auto& part : before) {
    bool is_there = false;
    for (const auto& other : after) is_there |= part.number() == other.number() && part.name() == other.name();
    if (!is_there) return false;
  }
  return true;
}

}  // namespace

bool TypeNames::FollowsPackage(absl::string_view before, absl::string_view after) {
  for (const auto& [old_package, new_package] : packages_) {
    const absl::string_view rest = Below(before, old_package);
    if (!rest.empty() && rest == Below(after, new_package)) return true;
  }
  const std::string old_package(ScopeOf(before));
  const std::string new_package(ScopeOf(after));
  if (old_package == new_package || Below(before, old_package) != Below(after, new_package)) return false;
  if (!after_.packages.contains(new_package) || after_.packages.contains(old_package)) return false;
  return packages_.emplace(old_package, new_package).second;
}

bool TypeNames::IsSame(absl::string_view before, absl::string_view after) {
  if (before == after) return true;
  if (IsProtobufs(before) || IsProtobufs(after)) return false;
  const bool is_message = after_.FindMessage(after) != nullptr;
  if (names_ == Names::kDoNotCount) {
    return is_message ? before_.FindMessage(before) != nullptr
                      : before_.FindEnum(before) != nullptr && after_.FindEnum(after) != nullptr;
  }
  auto& renamed = is_message ? messages_ : enums_;
  if (const auto known = renamed.find(std::string(before)); known != renamed.end()) return known->second == after;
  const bool is_new = before_.FindMessage(after) == nullptr && before_.FindEnum(after) == nullptr;
  if (after_.defined.contains(std::string(before)) || !is_new) return false;
  if (FollowsPackage(before, after)) return true;
  if (FollowsMessage(before, after)) return true;
  if (!IsAlike(before, after)) return false;
  renamed.emplace(before, after);
  return true;
}

bool TypeNames::FollowsMessage(absl::string_view before, absl::string_view after) const {
  const auto around = messages_.find(std::string(ScopeOf(before)));
  return around != messages_.end() && around->second == ScopeOf(after) &&
         Below(before, ScopeOf(before)) == Below(after, ScopeOf(after));
}

bool TypeNames::IsAlike(absl::string_view before, absl::string_view after) const {
  if (const MessageType* const old_message = before_.FindMessage(before)) {
    const MessageType* const new_message = after_.FindMessage(after);
    return new_message != nullptr && HasAll(old_message->field(), new_message->field());
  }
  const EnumType* const old_enum = before_.FindEnum(before);
  const EnumType* const new_enum = after_.FindEnum(after);
  return old_enum != nullptr && new_enum != nullptr && HasAll(old_enum->value(), new_enum->value());
}

}  // namespace understudy::actor_protocol
