// SocketFolder: a folder of one node, open to its user only, for the Unix sockets
// on which its process children listen for each other.
//
// Any thread. Lifetime: the first call of AddressFor makes the folder, and the
// destructor removes it.
#ifndef UNDERSTUDY_TRANSPORT_SOCKETS_SOCKET_FOLDER_H_
#define UNDERSTUDY_TRANSPORT_SOCKETS_SOCKET_FOLDER_H_

#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace understudy::internal {

class SocketFolder {
 public:
  SocketFolder() = default;
  ~SocketFolder();
  SocketFolder(const SocketFolder&) = delete;
  SocketFolder& operator=(const SocketFolder&) = delete;

  // Returns "unix:/tmp/understudy.…/NODE". `node` is a DNS label. Unavailable: the folder
  // cannot be made.
  [[nodiscard]] absl::StatusOr<std::string> AddressFor(absl::string_view node);

 private:
  absl::Mutex mu_;
  std::string path_ ABSL_GUARDED_BY(mu_);  // empty until it is made
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_SOCKETS_SOCKET_FOLDER_H_
