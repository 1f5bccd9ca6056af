// The ids and names of a pool's children. A child that is started without an id gets a generated one: the template's
// id, '#' and a number. Only generated ids contain a '#'. The names of a child are those of the template, in which
// "{id}" stands for the child's id.
//
// Pure functions; any thread.
#ifndef UNDERSTUDY_SUPERVISION_INTERNAL_MEMBER_IDS_H_
#define UNDERSTUDY_SUPERVISION_INTERNAL_MEMBER_IDS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "understudy/supervision/child_spec.h"

namespace understudy {

// Generates an id from the template `child`, such as job#17.
std::string MemberId(const ChildSpec& child, uint64_t number);
// The part of a template's name that stands for the child's id.
inline constexpr absl::string_view kIdInName = "{id}";
// Replaces kIdInName in the names of `member`, a copy of a template that has its own id already.
void NameMember(ChildSpec& member);
// True for a generated id.
bool IsMadeUpId(absl::string_view id);
// For a pool of processes: the name of that child's node. It is job-17 for job#17, because a node's name may not
// contain a '#'.
std::string MemberNodeName(absl::string_view id);
// If `node` has the form of a MemberNodeName of a generated id, returns the id of the template.
absl::optional<absl::string_view> TemplateOfNode(absl::string_view node);
// Returns InvalidArgument if a request may not give a child of a pool this id, because the id or its node's name may be
// generated for another child; otherwise OK. `child` is the template.
absl::Status GivenIdError(absl::string_view id, const ChildSpec& child);

}  // namespace understudy

#endif  // UNDERSTUDY_SUPERVISION_INTERNAL_MEMBER_IDS_H_
