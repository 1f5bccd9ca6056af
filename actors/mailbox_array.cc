#include "understudy/actors/mailbox_array.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "understudy/actors/check.h"
#include "understudy/actors/limits.h"

namespace understudy::internal {

std::vector<std::string> LabelsUpTo(int64_t count) {
  UNDERSTUDY_CHECK(count >= 0 && count <= limits::kMailboxesPerActorMax, "an array of ", count,
                   " mailboxes: an actor has at most ", limits::kMailboxesPerActorMax);
  std::vector<std::string> labels;
  labels.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) labels.push_back(absl::StrCat(i));
  return labels;
}

MailboxArrayBase::MailboxArrayBase(const MailboxDeclaration& each, std::vector<std::string> labels)
    : name_(each.wire_name), labels_(std::move(labels)) {
  for (size_t place = 0; place < labels_.size(); ++place) {
    const std::string& label = labels_[place];
    UNDERSTUDY_CHECK(!label.empty(), "mailbox array ", name_, " has an empty label at place ", place);
    UNDERSTUDY_CHECK(label.size() <= limits::kMailboxLabelBytesMax, "mailbox array ", name_, " has a label of ",
                     label.size(), " bytes, ", label, "; at most ", limits::kMailboxLabelBytesMax, " are allowed");
    UNDERSTUDY_CHECK(std::find(labels_.begin(), labels_.begin() + static_cast<std::ptrdiff_t>(place), label) ==
                         labels_.begin() + static_cast<std::ptrdiff_t>(place),
                     "mailbox array ", name_, " has the label ", label, " twice");
    MailboxDeclaration declaration = each;
    declaration.hash = MailboxNames::Intern(ElementName(name_, label));
    declaration.wire_name = MailboxNames::Find(declaration.hash);
    // An actor's mailboxes are numbered in order of declaration, so the indices of one array are consecutive.
    const int index = MailboxHost::Constructing().AddMailbox(declaration, nullptr);
    if (place == 0) first_ = index;
  }
}

const std::string& MailboxArrayBase::label(size_t place) const {
  (void)IndexOf(place);
  return labels_[place];
}

int MailboxArrayBase::IndexOf(size_t place) const {
  UNDERSTUDY_CHECK(place < labels_.size(), "mailbox array ", name_, " has ", labels_.size(), " mailboxes, and none at ",
                   place);
  return first_ + static_cast<int>(place);
}

size_t MailboxArrayBase::PlaceOf(absl::string_view label) const {
  const auto found = std::find(labels_.begin(), labels_.end(), label);
  UNDERSTUDY_CHECK(found != labels_.end(), "mailbox array ", name_, " has no label ", label, "; it has ",
                   absl::StrJoin(labels_, ", "));
  return static_cast<size_t>(found - labels_.begin());
}

}  // namespace understudy::internal
