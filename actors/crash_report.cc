#include "understudy/actors/crash_report.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace understudy {

std::string MessageNote::ToString() const {
  return absl::StrCat("a ", type, " of ", bytes, bytes == 1 ? " byte" : " bytes", " in mailbox ", mailbox,
                      from.is_null() ? "" : " from ", from.is_null() ? "" : from.ToString());
}

}  // namespace understudy
