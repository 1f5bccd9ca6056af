#include "understudy/actors/registry.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "understudy/actors/internal/system/unowned_names.h"
#include "understudy/actors/limits.h"

namespace understudy {

absl::Status ValidateName(absl::string_view name) {
  if (name.empty()) return absl::InvalidArgumentError("a name is empty; it has 1 byte or more");
  if (name.size() > limits::kNameBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("a name has ", name.size(), " bytes; at most ", limits::kNameBytesMax, " are allowed"));
  }
  if (std::any_of(name.begin(), name.end(), [](unsigned char c) { return absl::ascii_iscntrl(c); })) {
    return absl::InvalidArgumentError(
        absl::StrCat("the name '", absl::CEscape(name), "' has a control character; take printable ones"));
  }
  return absl::OkStatus();
}

absl::Status NoOwnerError(Registry& registry, absl::string_view name) {
  return registry.IsVacant(name) ? internal::RestartingError(name) : internal::NoNameError(name);
}

absl::Status CheckMailboxes(const std::vector<MailboxSignature>& used, const std::vector<MailboxSignature>& offered) {
  if (offered.empty()) return absl::OkStatus();
  std::vector<std::string> wrong;
  for (const MailboxSignature& wanted : used) {
    const auto found =
        std::find_if(offered.begin(), offered.end(), [&](const MailboxSignature& m) { return m.name == wanted.name; });
    if (found == offered.end()) {
      wrong.push_back(absl::StrCat("the actor has no mailbox ", wanted.name));
    } else if (found->is_call != wanted.is_call || found->request != wanted.request || found->reply != wanted.reply) {
      const auto text = [](const MailboxSignature& m) {
        return m.is_call ? absl::StrCat(m.request, " -> ", m.reply) : m.request;
      };
      wrong.push_back(absl::StrCat("mailbox ", wanted.name, " takes ", text(*found), ", not ", text(wanted)));
    } else if (!found->misread.empty()) {
      wrong.push_back(absl::StrCat("mailbox ", wanted.name,
                                   " differs on the actor's node (was: here, is: there): ", found->misread));
    }
  }
  return wrong.empty() ? absl::OkStatus() : absl::FailedPreconditionError(absl::StrJoin(wrong, "; "));
}

}  // namespace understudy
