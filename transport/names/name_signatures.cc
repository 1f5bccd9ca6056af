#include "understudy/transport/names/name_signatures.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "understudy/actors/limits.h"
#include "understudy/proto/names.pb.h"
#include "understudy/transport/names/name_limits.h"
#include "understudy/transport/protocol/local_types.h"

namespace understudy {
namespace {

absl::Status CheckSet(const proto::SignatureSet& set) {
  if (set.mailboxes_size() > limits::kMailboxesPerActorMax) {
    return absl::InvalidArgumentError(absl::StrCat("an actor with ", set.mailboxes_size(), " mailboxes; at most ",
                                                   limits::kMailboxesPerActorMax, " are allowed"));
  }
  for (const proto::MailboxSignature& mailbox : set.mailboxes()) {
    if (mailbox.name().size() > limits::kMailboxNameBytesMax) {
      return absl::InvalidArgumentError(absl::StrCat("a mailbox's name of ", mailbox.name().size(), " bytes; at most ",
                                                     limits::kMailboxNameBytesMax, " are allowed"));
    }
    if (mailbox.request().size() > limits::kMessageNameBytesMax ||
        mailbox.reply().size() > limits::kMessageNameBytesMax) {
      return absl::InvalidArgumentError(
          absl::StrCat("the name of a message has more than ", limits::kMessageNameBytesMax, " bytes"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<uint32_t> NameSignatures::NumberOf(const std::vector<proto::MailboxSignature>& mailboxes,
                                                  LocalTypes& types) {
  if (mailboxes.empty()) return 0;
  proto::SignatureSet set;
  for (const proto::MailboxSignature& mailbox : mailboxes) *set.add_mailboxes() = mailbox;
  std::string bytes = set.SerializeAsString();
  if (const auto known = number_of_.find(bytes); known != number_of_.end()) return known->second;
  const auto number = static_cast<uint32_t>(sets_.size() + 1);
  set.set_number(number);
  for (proto::MailboxSignature& mailbox : *set.mutable_mailboxes()) {
    mailbox.set_fingerprint(types.FingerprintOf(mailbox));
  }
  absl::Status added = Add(std::make_shared<const proto::SignatureSet>(std::move(set)));
  if (!added.ok()) return added;
  number_of_.emplace(std::move(bytes), number);
  return number;
}

absl::Status NameSignatures::Define(const proto::SignatureSet& set) {
  if (set.number() == 0) return absl::InvalidArgumentError("a set of mailboxes has number 0: expected 1 or more");
  if (sets_.contains(set.number())) {
    return absl::InvalidArgumentError(
        absl::StrCat("the set of mailboxes ", set.number(), " is defined twice: expected once in a session"));
  }
  absl::Status added = Add(std::make_shared<const proto::SignatureSet>(set));
  if (!absl::IsResourceExhausted(added) || sets_.size() >= limits::kNameSignatureSetsMax) return added;
  sets_.emplace(set.number(), nullptr);
  return absl::OkStatus();
}

absl::Status NameSignatures::Add(std::shared_ptr<const proto::SignatureSet> set) {
  if (absl::Status checked = CheckSet(*set); !checked.ok()) return checked;
  const size_t bytes = set->ByteSizeLong() + limits::kNameMailboxBytes * static_cast<size_t>(set->mailboxes_size());
  if (sets_.size() >= limits::kNameSignatureSetsMax || bytes > bytes_max_ - bytes_) {
    return absl::ResourceExhaustedError(absl::StrCat("the published actors of a node have at most ",
                                                     limits::kNameSignatureSetsMax, " different sets of mailboxes, of ",
                                                     bytes_max_, " bytes together"));
  }
  bytes_ += bytes;
  const uint32_t number = set->number();
  sets_.emplace(number, std::move(set));
  return absl::OkStatus();
}

std::shared_ptr<const proto::SignatureSet> NameSignatures::Find(uint32_t number) const {
  const auto set = sets_.find(number);
  return set == sets_.end() ? nullptr : set->second;
}

}  // namespace understudy
