#include "understudy/examples/auction/input_files.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <ios>
#include <iterator>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace auction {

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in) {
    const int error = errno;
    const std::string what = absl::StrCat("cannot open ", path, ": ", std::strerror(error));
    return error == ENOENT ? absl::NotFoundError(what) : absl::FailedPreconditionError(what);
  }
  const std::streamoff bytes = in.tellg();
  if (bytes < 0) return absl::FailedPreconditionError(absl::StrCat("cannot read ", path, ": it is not a regular file"));
  if (static_cast<size_t>(bytes) > kInputFileBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat(path, " has ", bytes, " bytes; at most ", kInputFileBytesMax));
  }
  std::string text(static_cast<size_t>(bytes), '\0');
  in.seekg(0);
  in.read(text.data(), bytes);
  if (in.gcount() != bytes) return absl::FailedPreconditionError(absl::StrCat("cannot read all of ", path));
  return text;
}

}  // namespace auction
