#include "understudy/examples/auction/kept_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace auction {

std::string DefaultKeptFolder() {
  const char* parent = std::getenv("TMPDIR");
  return absl::StrCat(parent == nullptr || *parent == '\0' ? "/tmp" : parent, "/auction-last-run-", getuid());
}

absl::Status MakeKeptFolder(const std::string& path) {
  if (mkdir(path.c_str(), S_IRWXU) == 0) return absl::OkStatus();
  if (errno != EEXIST) return absl::ErrnoToStatus(errno, absl::StrCat("cannot make ", path));
  struct stat found = {};
  if (lstat(path.c_str(), &found) != 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot look at ", path));
  if (!S_ISDIR(found.st_mode) || found.st_uid != getuid()) {
    return absl::PermissionDeniedError(absl::StrCat(path, " is not a folder of this user; give another with --keep"));
  }
  return absl::OkStatus();
}

absl::StatusOr<StandardErrorToFile> StandardErrorToFile::To(const std::string& path) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
  const auto closer = absl::MakeCleanup([file] { close(file); });
  const int before = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
  if (before < 0 || dup2(file, STDERR_FILENO) < 0) return absl::ErrnoToStatus(errno, "cannot redirect standard error");
  return StandardErrorToFile(before);
}

StandardErrorToFile::~StandardErrorToFile() {
  if (before_ < 0) return;
  dup2(before_, STDERR_FILENO);
  close(before_);
}

StandardErrorToFile::StandardErrorToFile(StandardErrorToFile&& other) noexcept
    : before_(std::exchange(other.before_, -1)) {}

}  // namespace auction
