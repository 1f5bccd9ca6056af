#include "understudy/examples/auction/run_input.h"

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace auction {

absl::StatusOr<RunInput> LoadInput(const std::string& lots_path, const std::string& bids_path) {
  absl::StatusOr<std::string> lots = ReadFile(lots_path);
  if (!lots.ok()) return lots.status();
  absl::StatusOr<std::string> bids = ReadFile(bids_path);
  if (!bids.ok()) return bids.status();
  RunInput input;
  input.lots = ParseLots(lots_path, *lots, input.problems);
  input.bids = ParseBids(bids_path, *bids, input.lots, input.problems);
  input.lots_text = *std::move(lots);
  return input;
}

std::string UserPath(const std::string& path) {
  const char* user_directory = std::getenv("BUILD_WORKING_DIRECTORY");
  if (user_directory == nullptr || path.empty() || path[0] == '/') return path;
  return absl::StrCat(user_directory, "/", path);
}

std::string ShippedPath(absl::string_view shipped) {
  std::string here(shipped);
  if (std::filesystem::exists(here)) return here;
  std::error_code error;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe", error).string();
  return absl::StrCat(self, ".runfiles/understudy/", shipped);
}

}  // namespace auction
