#include "understudy/examples/shop/journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace shop {
namespace {

// A record's length is before it, in this machine's byte order.
constexpr size_t kLengthBytes = sizeof(uint32_t);

}  // namespace

absl::Status FileJournal::Append(const std::string& key, const std::string& record) {
  const std::string path = absl::StrCat(folder_, "/", key);
  const auto length = static_cast<uint32_t>(record.size());
  std::string bytes(kLengthBytes, '\0');
  std::memcpy(bytes.data(), &length, kLengthBytes);
  bytes += record;
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) return absl::UnavailableError(absl::StrCat("cannot open ", path, ": ", std::strerror(errno)));
  const off_t end = lseek(file, 0, SEEK_END);
  const ssize_t written = write(file, bytes.data(), bytes.size());
  absl::Status status;
  if (written != static_cast<ssize_t>(bytes.size())) {
    status = absl::UnavailableError(absl::StrCat("cannot write ", path, ": ", std::strerror(errno)));
    if (written > 0 && ftruncate(file, end) != 0)
      status = absl::DataLossError(absl::StrCat(path, " has half a record"));
  }
  close(file);
  return status;
}

absl::StatusOr<std::vector<std::string>> FileJournal::Read(const std::string& key) const {
  std::vector<std::string> records;
  std::ifstream in(absl::StrCat(folder_, "/", key), std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  for (size_t at = 0; at < bytes.size();) {
    uint32_t length = 0;
    if (bytes.size() - at >= kLengthBytes) std::memcpy(&length, bytes.data() + at, kLengthBytes);
    if (length == 0 || bytes.size() - at - kLengthBytes < length) {
      return absl::DataLossError(absl::StrCat(folder_, "/", key, " has no whole record at byte ", at));
    }
    at += kLengthBytes;
    records.push_back(bytes.substr(at, length));
    at += length;
  }
  return records;
}

absl::StatusOr<std::vector<std::string>> FileJournal::Keys() const {
  std::vector<std::string> keys;
  std::error_code error;
  for (const auto& file : std::filesystem::directory_iterator(folder_, error)) keys.push_back(file.path().filename());
  if (error) return absl::UnavailableError(absl::StrCat("cannot list ", folder_, ": ", error.message()));
  return keys;
}

}  // namespace shop
