// TempFolder: a folder of its own for a run, removed with all that is in it
// when the object goes.
//
// Its path is short, because Unix sockets live in it. One thread.
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
  // In $TMPDIR, or /tmp; only its owner may look into it. Error: the operating
  // system's, with the path.
  static absl::StatusOr<TempFolder> Make(absl::string_view prefix);
  ~TempFolder() { (void)Remove(); }
  TempFolder(TempFolder&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  TempFolder& operator=(TempFolder&&) = delete;

  const std::string& path() const { return path_; }
  std::string File(absl::string_view name) const;

  // Removes it now. A second call does nothing.
  absl::Status Remove();

 private:
  explicit TempFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

// Writes a file whole. Error: the operating system's, with the path.
absl::Status WriteFile(const std::string& path, absl::string_view text);

// The same, so that the file is at any time what it was or what it is to be: `text` is written to a temporary file
// beside it, which is renamed. What is no regular file, such as /dev/stdout, is written as it is.
absl::Status ReplaceFile(const std::string& path, absl::string_view text);

// OK if ReplaceFile would be, as far as can be told now. Changes no file.
absl::Status CanReplaceFile(const std::string& path);

}  // namespace auction

#endif  // UNDERSTUDY_EXAMPLES_AUCTION_TEMP_FOLDER_H_
