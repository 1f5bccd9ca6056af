// The kept folder: a folder that stays after a run, with the picture and the log of the last run.
//
// One thread.
#ifndef UNDERSTUDY_EXAMPLES_AUCTION_KEPT_FOLDER_H_
#define UNDERSTUDY_EXAMPLES_AUCTION_KEPT_FOLDER_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace auction {

// $TMPDIR/auction-last-run-UID, or /tmp/auction-last-run-UID if TMPDIR is not set.
std::string DefaultKeptFolder();

// Makes the folder, open to its owner only, unless it exists. PermissionDenied if another user owns it, or it is not a
// folder or is a link, which may lead to other files. Other errors are the operating system's, with the path.
absl::Status MakeKeptFolder(const std::string& path);

// Redirects standard error to a new file while the object lives, also for processes that are started meanwhile.
class StandardErrorToFile {
 public:
  static absl::StatusOr<StandardErrorToFile> To(const std::string& path);
  ~StandardErrorToFile();
  StandardErrorToFile(StandardErrorToFile&& other) noexcept;
  StandardErrorToFile& operator=(StandardErrorToFile&&) = delete;

 private:
  explicit StandardErrorToFile(int before) : before_(before) {}

  int before_;  // a duplicate of the earlier standard error; -1 after a move from this object
};

}  // namespace auction

#endif  // UNDERSTUDY_EXAMPLES_AUCTION_KEPT_FOLDER_H_
