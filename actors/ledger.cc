#include "understudy/actors/ledger.h"

#include <numeric>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace understudy {

absl::string_view FateName(Fate fate) {
  switch (fate) {
    case Fate::kHandled:
      return "handled";
    case Fate::kRejected:
      return "rejected";
    case Fate::kFailed:
      return "failed";
    case Fate::kExpired:
      return "expired";
    case Fate::kCancelled:
      return "cancelled";
    case Fate::kDropped:
      return "dropped";
    case Fate::kDeadLetter:
      return "dead letter";
    case Fate::kPassedOn:
      return "passed on";
  }
  return "?";
}

bool MessageLedger::balances() const { return accepted == std::accumulate(fates.begin(), fates.end(), waiting); }

MessageLedger& MessageLedger::operator+=(const MessageLedger& other) {
  accepted += other.accepted;
  for (size_t i = 0; i < fates.size(); ++i) fates[i] += other.fates[i];
  waiting += other.waiting;
  refused += other.refused;
  return *this;
}

std::string MessageLedger::ToString() const {
  std::string text = absl::StrCat("accepted ", accepted, " =");
  for (int i = 0; i < kFateCount; ++i) {
    absl::StrAppend(&text, i == 0 ? " " : " + ", FateName(static_cast<Fate>(i)), " ", fates[static_cast<size_t>(i)]);
  }
  absl::StrAppend(&text, " + waiting ", waiting, "; refused ", refused);
  return text;
}

std::string MailboxLedger::ToString() const {
  return absl::StrCat(mailbox.empty() ? "no mailbox" : absl::StrCat(mailbox, " (", type, ")"), " of ",
                      actor.is_null() ? "ended actors" : actor.ToString(), ": ", messages.ToString());
}

}  // namespace understudy
