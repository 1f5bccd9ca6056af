// The ids that a pool makes up for children that were given none: that of its
// template, and a number. Only these have a '#'.
//
// And the names of a pool's children: those of its template, in which "{id}" stands for the child's id.
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

// job#17, of the template `child`.
std::string MemberId(const ChildSpec& child, uint64_t number);
// In a name of a template it stands for the child's id.
inline constexpr absl::string_view kIdInName = "{id}";
// `member` is a copy of a template, with an id of its own: now its names are its own too.
void NameMember(ChildSpec& member);
bool IsMadeUpId(absl::string_view id);
// Of a pool of processes: the name of that child's node. job-17 for job#17, which
// is no node's name.
std::string MemberNodeName(absl::string_view id);
// The id of the template that MemberNodeName would give that name for, if it has
// the form.
absl::optional<absl::string_view> TemplateOfNode(absl::string_view node);
// Why a child of that pool cannot be given the id: it, or its node's name, may be
// made up for another. OK for others; `child` is the template.
absl::Status GivenIdError(absl::string_view id, const ChildSpec& child);

}  // namespace understudy

#endif  // UNDERSTUDY_SUPERVISION_INTERNAL_MEMBER_IDS_H_
