#include "understudy/transport/names/peer_protocols.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "understudy/actors/registry.h"
#include "understudy/proto/names.pb.h"
#include "understudy/transport/names/name_limits.h"
#include "understudy/transport/protocol/local_types.h"

namespace understudy {
namespace {

// `misread` has a text for each mailbox.
SharedMailboxes Shared(const proto::SignatureSet& set, std::vector<std::string> misread) {
  std::vector<MailboxSignature> mailboxes;
  mailboxes.reserve(misread.size());
  for (int i = 0; i < set.mailboxes_size(); ++i) {
    const proto::MailboxSignature& mailbox = set.mailboxes(i);
    mailboxes.push_back({.name = mailbox.name(),
                         .is_call = mailbox.is_call(),
                         .request = mailbox.request(),
                         .reply = mailbox.reply(),
                         .misread = std::move(misread[i])});
  }
  return std::make_shared<const std::vector<MailboxSignature>>(std::move(mailboxes));
}

}  // namespace

uint64_t PeerProtocols::OnDefined(const proto::SignatureSet& set, LocalTypes& types, int64_t steps_left) {
  uint64_t differ = 0;
  for (int i = 0; i < set.mailboxes_size() && steps_left >= 0; ++i) {
    if (set.mailboxes(i).fingerprint() == 0) continue;
    const uint64_t own = types.FingerprintOf(set.mailboxes(i));
    if (own != 0 && own != set.mailboxes(i).fingerprint()) differ |= uint64_t{1} << i;
  }
  if (differ != 0) awaited_[set.number()].mailboxes = differ;
  return differ;
}

void PeerProtocols::RemoveWaiting(uint32_t set, const std::string& name) {
  const auto awaited = awaited_.find(set);
  if (awaited != awaited_.end()) awaited->second.names.erase(name);
}

absl::StatusOr<std::set<std::string>> PeerProtocols::OnDescribed(const proto::SignatureSet& set,
                                                                 absl::string_view description, LocalTypes& types,
                                                                 int64_t& steps_left) {
  if (description.size() > limits::kDescriptionBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat("a description of messages of ", description.size(),
                                                   " bytes; at most ", limits::kDescriptionBytesMax, " are allowed"));
  }
  const auto awaited = awaited_.find(set.number());
  if (!description.empty() && steps_left >= 0) {
    absl::StatusOr<std::vector<std::string>> misread =
        types.Compare(set, awaited->second.mailboxes, description, steps_left);
    if (!misread.ok()) return misread.status();
    if (std::any_of(misread->begin(), misread->end(), [](const std::string& text) { return !text.empty(); })) {
      mailboxes_[set.number()] = Shared(set, *std::move(misread));
    }
  }
  std::set<std::string> waited = std::move(awaited->second.names);
  awaited_.erase(awaited);
  return waited;
}

SharedMailboxes PeerProtocols::MailboxesOf(const proto::SignatureSet& set) {
  SharedMailboxes& mailboxes = mailboxes_[set.number()];
  if (mailboxes == nullptr) mailboxes = Shared(set, std::vector<std::string>(set.mailboxes_size()));
  return mailboxes;
}

}  // namespace understudy
