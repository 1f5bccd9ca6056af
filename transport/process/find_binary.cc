// FindBinary (os_process.h): the search for the binaries of process children.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "understudy/transport/process/os_process.h"

namespace understudy {
namespace {

bool IsFile(const std::string& path) {
  struct stat found;
  return stat(path.c_str(), &found) == 0 && !S_ISDIR(found.st_mode);
}

std::string Variable(const char* name) {
  const char* const value = getenv(name);
  return value == nullptr ? "" : value;
}

// The runfiles folders, which have a folder for each workspace: those that Bazel names in the
// environment of programs that it runs, and the one that it puts beside this program.
std::vector<std::string> RunfilesRoots(absl::string_view own_path) {
  std::vector<std::string> roots;
  for (const std::string& root :
       {Variable("RUNFILES_DIR"), Variable("TEST_SRCDIR"), absl::StrCat(own_path, ".runfiles")}) {
    if (!root.empty() && std::find(roots.begin(), roots.end(), root) == roots.end()) roots.push_back(root);
  }
  return roots;
}

// The folders in `root`: first the folder of the test's workspace, then all folders in the
// order of their names.
std::vector<std::string> Workspaces(const std::string& root) {
  std::vector<std::string> folders;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(root, error), end; !error && entry != end; entry.increment(error)) {
    folders.push_back(entry->path().string());
  }
  std::sort(folders.begin(), folders.end());
  if (const std::string own = Variable("TEST_WORKSPACE"); !own.empty()) {
    folders.insert(folders.begin(), absl::StrCat(root, "/", own));
  }
  return folders;
}

}  // namespace

absl::StatusOr<std::string> FindBinary(absl::string_view binary) {
  if (binary.empty() || absl::StrContains(binary, '\0')) {
    return absl::InvalidArgumentError("a process needs the path of its binary; it is empty or contains a NUL");
  }
  if (absl::StartsWith(binary, "/") || absl::StartsWith(binary, "./") || absl::StartsWith(binary, "../")) {
    return std::string(binary);
  }
  std::array<char, PATH_MAX> self;
  const ssize_t bytes = readlink("/proc/self/exe", self.data(), self.size());
  if (bytes <= 0 || bytes == static_cast<ssize_t>(self.size())) {
    return absl::NotFoundError(absl::StrCat("cannot start '", binary, "': this program's own path is not known"));
  }
  const absl::string_view own_path(self.data(), static_cast<size_t>(bytes));
  const absl::string_view folder = own_path.substr(0, own_path.rfind('/') + 1);
  if (std::string path = absl::StrCat(folder, binary); IsFile(path)) return path;
  const std::vector<std::string> roots = RunfilesRoots(own_path);
  for (const std::string& root : roots) {
    for (const std::string& workspace : Workspaces(root)) {
      if (std::string path = absl::StrCat(workspace, "/", binary); IsFile(path)) return path;
    }
  }
  return absl::NotFoundError(absl::StrCat("cannot start '", binary, "': it is not beside this program, in ", folder,
                                          ", nor in a workspace of its runfiles, in ", absl::StrJoin(roots, " or ")));
}

}  // namespace understudy
