#include "understudy/supervision/internal/member_ids.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "understudy/supervision/child_spec.h"

namespace understudy {

std::string MemberId(const ChildSpec& child, uint64_t number) { return absl::StrCat(child.id, "#", number); }

void NameMember(ChildSpec& member) {
  for (std::string* const name : {&member.registered_as, &member.published_as}) {
    *name = absl::StrReplaceAll(*name, {{kIdInName, member.id}});
  }
}

bool IsMadeUpId(absl::string_view id) { return absl::StrContains(id, '#'); }

std::string MemberNodeName(absl::string_view id) { return absl::StrReplaceAll(id, {{"#", "-"}}); }

absl::optional<absl::string_view> TemplateOfNode(absl::string_view node) {
  const size_t dash = node.rfind('-');
  if (dash == absl::string_view::npos) return absl::nullopt;
  const absl::string_view number = node.substr(dash + 1);
  if (number.empty() || !std::all_of(number.begin(), number.end(), absl::ascii_isdigit)) return absl::nullopt;
  return node.substr(0, dash);
}

absl::Status GivenIdError(absl::string_view id, const ChildSpec& child) {
  if (IsMadeUpId(id)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the id '", id, "' contains '#', which is reserved for ids that the pool makes up; leave it out"));
  }
  if (!child.process.has_value() || TemplateOfNode(id) != absl::string_view(child.id)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the id '", id,
                                                 "' is the node name of the child that the pool may call '", child.id,
                                                 "#", id.substr(child.id.size() + 1), "'; give another"));
}

}  // namespace understudy
