// SocketPath: where a test's Unix sockets lie.
#ifndef UNDERSTUDY_TESTS_TRANSPORT_SOCKET_PATH_H_
#define UNDERSTUDY_TESTS_TRANSPORT_SOCKET_PATH_H_

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace understudy {

// A path in a folder of this process's own in /tmp, which goes with the process; all users can reach it. Bazel's
// folders are too long for the path of a socket. A process id in the name would not do: sandboxes share /tmp, and
// number their processes alike.
inline std::string SocketPath(absl::string_view name = "socket") {
  class Folder {
   public:
    Folder() {
      EXPECT_NE(mkdtemp(path_.data()), nullptr);
      std::filesystem::permissions(path_, std::filesystem::perms(0711));
    }
    ~Folder() {
      std::error_code ignored;
      std::filesystem::remove_all(path_, ignored);
    }
    const std::string& path() const { return path_; }

   private:
    std::string path_ = "/tmp/understudy.XXXXXX";
  };
  static const Folder folder;
  return absl::StrCat(folder.path(), "/", name);
}

// Returns the path as a socket address, computed in advance for a child that may call only async-signal-safe functions.
inline sockaddr_un SocketAddress(absl::string_view name = "socket") {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  SocketPath(name).copy(address.sun_path, sizeof(address.sun_path) - 1);
  return address;
}

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_TRANSPORT_SOCKET_PATH_H_
