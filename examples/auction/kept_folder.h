// What a run leaves for its user: a folder with the picture and the log of the last run.
//
// One thread.
#ifndef UNDERSTUDY_EXAMPLES_AUCTION_KEPT_FOLDER_H_
#define UNDERSTUDY_EXAMPLES_AUCTION_KEPT_FOLDER_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace auction {

// $TMPDIR/auction-last-run-UID, or in /tmp.
std::string DefaultKeptFolder();

// Makes the folder, for its owner only, unless it is there. Errors: PermissionDenied if it is somebody else's or a
// link, for that may lead to anybody's files; else the operating system's, with the path.
absl::Status MakeKeptFolder(const std::string& path);

// Sends standard error, that of processes begun meanwhile too, to a new file until destroyed.
class StandardErrorToFile {
 public:
  static absl::StatusOr<StandardErrorToFile> To(const std::string& path);
  ~StandardErrorToFile();
  StandardErrorToFile(StandardErrorToFile&& other) noexcept;
  StandardErrorToFile& operator=(StandardErrorToFile&&) = delete;

 private:
  explicit StandardErrorToFile(int before) : before_(before) {}

  int before_;  // -1 once moved from
};

}  // namespace auction

#endif  // UNDERSTUDY_EXAMPLES_AUCTION_KEPT_FOLDER_H_
