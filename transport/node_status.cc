#include "understudy/transport/node_status.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace understudy {

std::string PeerEvent::ToString() const {
  switch (kind) {
    case Kind::kUp:
      return absl::StrCat("up ", node, " epoch ", epoch);
    case Kind::kSuspect:
      return absl::StrCat("suspect ", node, ": ", detail);
    case Kind::kResumed:
      return absl::StrCat("resumed ", node);
    case Kind::kEnded:
      return absl::StrCat("ended ", node, " epoch ", epoch, ": ", detail);
    case Kind::kRefused:
      return absl::StrCat("refused by ", node, ": ", detail);
    case Kind::kStreamRefused:
      return absl::StrCat("refused a stream of ", node, ": ", detail);
    case Kind::kFailed:
      return absl::StrCat("no session with ", node, ": ", detail);
    case Kind::kNameRefused:
      return absl::StrCat("a name of ours is refused by ", node, ": ", detail);
    case Kind::kNameNotGranted:
      return absl::StrCat("no name here for node ", node, ", which claims ", detail);
  }
  return "?";
}

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
  if (claims_refused > 0) absl::StrAppend(&text, "; ", claims_refused, " names of its refused");
  return text;
}

}  // namespace understudy
