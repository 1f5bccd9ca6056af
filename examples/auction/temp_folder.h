// TempFolder: a temporary folder for a run. The destructor removes it with its contents.
//
// The path is short, because it may be a part of the path of a Unix socket.
// Thread-compatible.
#ifndef UNDERSTUDY_EXAMPLES_AUCTION_TEMP_FOLDER_H_
#define UNDERSTUDY_EXAMPLES_AUCTION_TEMP_FOLDER_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace auction {

class TempFolder {
 public:
  // Makes a folder in $TMPDIR, or in /tmp if TMPDIR is not set or too long. Only its owner
  // can open it. Returns the operating system's error, with the path.
  static absl::StatusOr<TempFolder> Make(absl::string_view prefix);
  ~TempFolder() { (void)Remove(); }
  TempFolder(TempFolder&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  TempFolder& operator=(TempFolder&&) = delete;

  const std::string& path() const { return path_; }
  std::string File(absl::string_view name) const;

  // Removes the folder now. A second call does nothing.
  absl::Status Remove();

 private:
  explicit TempFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

// Writes a whole file. Returns the operating system's error, with the path.
absl::Status WriteFile(const std::string& path, absl::string_view text);

// Does the same as WriteFile, but replaces the file atomically: `text` is written to a temporary file beside it, which
// is then renamed. A file that is not a regular one, such as /dev/stdout, is written directly.
absl::Status ReplaceFile(const std::string& path, absl::string_view text);

// Returns OK if ReplaceFile will probably succeed. Leaves all files as they are.
absl::Status CanReplaceFile(const std::string& path);

}  // namespace auction

#endif  // UNDERSTUDY_EXAMPLES_AUCTION_TEMP_FOLDER_H_
