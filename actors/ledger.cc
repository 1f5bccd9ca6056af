#include "understudy/actors/ledger.h"

#include <numeric>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace understudy {

absl::string_view DispositionName(Disposition disposition) {
  switch (disposition) {
    case Disposition::kHandled:
      return "handled";
    case Disposition::kRejected:
      return "rejected";
    case Disposition::kFailed:
      return "failed";
    case Disposition::kExpired:
      return "expired";
    case Disposition::kCancelled:
      return "cancelled";
    case Disposition::kDropped:
      return "dropped";
    case Disposition::kDeadLetter:
      return "dead letter";
    case Disposition::kForwarded:
      return "forwarded";
  }
  return "?";
}

bool MessageLedger::balances() const {
  return accepted == std::accumulate(dispositions.begin(), dispositions.end(), waiting);
}

MessageLedger& MessageLedger::operator+=(const MessageLedger& other) {
  accepted += other.accepted;
  for (size_t i = 0; i < dispositions.size(); ++i) dispositions[i] += other.dispositions[i];
  waiting += other.waiting;
  refused += other.refused;
  return *this;
}

std::string MessageLedger::ToString() const {
  std::string text = absl::StrCat("accepted ", accepted, " =");
  for (int i = 0; i < kDispositionCount; ++i) {
    absl::StrAppend(&text, i == 0 ? " " : " + ", DispositionName(static_cast<Disposition>(i)), " ",
                    dispositions[static_cast<size_t>(i)]);
  }
  absl::StrAppend(&text, " + waiting ", waiting, "; refused ", refused);
  return text;
}

std::string MailboxLedger::ToString() const {
  return absl::StrCat(mailbox.empty() ? "no mailbox" : absl::StrCat(mailbox, " (", type, ")"), " of ",
                      actor.is_null() ? "ended actors" : actor.ToString(), ": ", messages.ToString());
}

}  // namespace understudy
