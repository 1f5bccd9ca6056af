#include "understudy/examples/auction/temp_folder.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ios>
#include <string>
#include <system_error>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace auction {

absl::StatusOr<TempFolder> TempFolder::Make(absl::string_view prefix) {
  const char* parent = std::getenv("TMPDIR");
  // The path of a Unix socket has at most 107 bytes, so a long TMPDIR is not used.
  if (parent == nullptr || std::strlen(parent) > 60) parent = "/tmp";
  std::string path = absl::StrCat(parent, "/", prefix, "-XXXXXX");
  if (mkdtemp(path.data()) == nullptr) return absl::ErrnoToStatus(errno, absl::StrCat("cannot make ", path));
  return TempFolder(path);
}

std::string TempFolder::File(absl::string_view name) const { return absl::StrCat(path_, "/", name); }

absl::Status TempFolder::Remove() {
  if (path_.empty()) return absl::OkStatus();
  std::error_code error;
  std::filesystem::remove_all(path_, error);
  if (error) return absl::InternalError(absl::StrCat("cannot remove ", path_, ": ", error.message()));
  path_.clear();
  return absl::OkStatus();
}

namespace {

// The path of a file after following links. `is_special`: the file is not a regular one, and is written directly.
struct Target {
  std::string path;
  bool is_special = false;
};

Target TargetOf(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return {path};
  if (!std::filesystem::is_regular_file(path, error)) return {path, true};
  const std::string behind = std::filesystem::canonical(path, error).string();
  return {error ? path : behind};
}

std::string BesideOf(const std::string& path) { return absl::StrCat(path, ".", getpid(), ".new"); }

}  // namespace

absl::Status ReplaceFile(const std::string& path, absl::string_view text) {
  const Target target = TargetOf(path);
  if (target.is_special) return WriteFile(target.path, text);
  const std::string beside = BesideOf(target.path);
  absl::Status status = WriteFile(beside, text);
  if (status.ok() && rename(beside.c_str(), target.path.c_str()) != 0) {
    status = absl::ErrnoToStatus(errno, absl::StrCat("cannot replace ", path));
  }
  if (!status.ok()) unlink(beside.c_str());
  return status;
}

absl::Status CanReplaceFile(const std::string& path) {
  const Target target = TargetOf(path);
  if (std::filesystem::is_directory(path)) return absl::InvalidArgumentError(absl::StrCat(path, " is a directory"));
  if (target.is_special) return absl::OkStatus();
  const std::string beside = BesideOf(target.path);
  absl::Status status = WriteFile(beside, "");
  unlink(beside.c_str());
  return status;
}

absl::Status WriteFile(const std::string& path, absl::string_view text) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  out.close();
  if (!out) return absl::InternalError(absl::StrCat("cannot write ", path, ": ", std::strerror(errno)));
  return absl::OkStatus();
}

}  // namespace auction
