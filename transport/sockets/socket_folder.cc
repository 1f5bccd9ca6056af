#include "understudy/transport/sockets/socket_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace understudy::internal {

SocketFolder::~SocketFolder() {
  absl::MutexLock lock(&mu_);
  std::error_code ignored;  // files that cannot be removed do no harm
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

absl::StatusOr<std::string> SocketFolder::AddressFor(absl::string_view node) {
  absl::MutexLock lock(&mu_);
  if (path_.empty()) {
    // The path of a socket has at most 107 bytes: this has 22, '/', and at most 63 of the node's name.
    std::string path = "/tmp/understudy.XXXXXX";
    if (mkdtemp(path.data()) == nullptr) {  // for this user only
      return absl::UnavailableError(
          absl::StrCat("cannot make a folder for the sockets of process children in /tmp: ", strerror(errno)));
    }
    path_ = std::move(path);
  }
  return absl::StrCat("unix:", path_, "/", node);
}

}  // namespace understudy::internal
