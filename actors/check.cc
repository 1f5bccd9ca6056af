#include "understudy/actors/check.h"

#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace understudy::internal {

void CheckFailed(const char* file, int line, absl::string_view condition, absl::string_view message) {
  const std::string text = absl::StrCat(file, ":", line, ": check failed: ", condition, ": ", message, "\n");
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
  std::abort();
}

}  // namespace understudy::internal
