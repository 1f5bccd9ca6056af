#include "understudy/actors/dead_letter.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace understudy {

std::string DeadLetter::ToString() const {
  const std::string size = bytes == 0 ? "" : absl::StrCat(" of ", bytes, " bytes");
  return absl::StrCat("dead letter: ", type.empty() ? "a message" : type, size, " from ",
                      from.is_null() ? "a plain thread" : from.ToString(), " to ",
                      mailbox.empty() ? "a mailbox without a name" : mailbox, " of ", to.ToString(), ": ",
                      std::string(why.message()));
}

}  // namespace understudy
