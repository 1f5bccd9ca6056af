#include "understudy/transport/node_status.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace understudy {

std::string PeerStatus::ToString() const {
  std::string text = absl::StrCat(node, is_up ? " up" : is_live ? " suspect" : " without a session");
  if (is_live) absl::StrAppend(&text, ", epoch ", epoch);
  if (!address.empty()) absl::StrAppend(&text, " at ", address);
  absl::StrAppend(&text, "; ", ledger.acknowledged, " envelopes acknowledged, ", ledger.waiting, " waiting with ",
                  bytes_waiting, " bytes; credit held for ", credit_held.messages, " messages, given for ",
                  credit_given.messages);
  if (without_credit > 0) absl::StrAppend(&text, "; ", without_credit, " sends without credit");
  for (const auto& [kind, count] : refused_by_peer) {
    absl::StrAppend(&text, "; ", count, " refused there: ", ErrorKindName(kind));
  }
  if (forbidden > 0) absl::StrAppend(&text, "; ", forbidden, " signals of its forbidden");
  if (claims_refused > 0) absl::StrAppend(&text, "; ", claims_refused, " names of its not granted");
  return text;
}

}  // namespace understudy
