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
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"

namespace shop {
namespace {

// A record's length is before it, in this machine's byte order.
constexpr size_t kLengthBytes = sizeof(uint32_t);

struct Contents {
  std::vector<std::string> records;
  size_t whole_bytes = 0;  // of the whole records, which are at the beginning
  bool ends_within_a_record = false;
};

absl::StatusOr<Contents> ReadContents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  Contents contents;
  size_t& at = contents.whole_bytes;
  while (bytes.size() - at >= kLengthBytes) {
    uint32_t length = 0;
    std::memcpy(&length, bytes.data() + at, kLengthBytes);
    if (length == 0) return absl::DataLossError(absl::StrCat(path, " has no record at byte ", at));
    if (bytes.size() - at - kLengthBytes < length) break;
    contents.records.push_back(bytes.substr(at + kLengthBytes, length));
    at += kLengthBytes + length;
  }
  contents.ends_within_a_record = at < bytes.size();
  return contents;
}

}  // namespace

absl::Status FileJournal::Repair(const std::string& key, const std::string& path) {
  const absl::MutexLock lock(&mu_);
  if (!repaired_.insert(key).second) return absl::OkStatus();
  const absl::StatusOr<Contents> contents = ReadContents(path);
  if (!contents.ok()) return contents.status();
  if (!contents->ends_within_a_record || truncate(path.c_str(), static_cast<off_t>(contents->whole_bytes)) == 0) {
    return absl::OkStatus();
  }
  return absl::UnavailableError(absl::StrCat("cannot cut half a record off ", path, ": ", std::strerror(errno)));
}

absl::Status FileJournal::Append(const std::string& key, const std::string& record) {
  const std::string path = absl::StrCat(folder_, "/", key);
  if (absl::Status repaired = Repair(key, path); !repaired.ok()) return repaired;
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
    if (written > 0 && ftruncate(file, end) != 0) {
      status = absl::DataLossError(absl::StrCat(path, " has half a record"));
    }
  }
  close(file);
  return status;
}

absl::StatusOr<std::vector<std::string>> FileJournal::Read(const std::string& key) const {
  absl::StatusOr<Contents> contents = ReadContents(absl::StrCat(folder_, "/", key));
  if (!contents.ok()) return contents.status();
  return std::move(contents->records);
}

absl::StatusOr<std::vector<std::string>> FileJournal::Keys() const {
  std::vector<std::string> keys;
  std::error_code error;
  for (const auto& file : std::filesystem::directory_iterator(folder_, error)) keys.push_back(file.path().filename());
  if (error) return absl::UnavailableError(absl::StrCat("cannot list ", folder_, ": ", error.message()));
  return keys;
}

}  // namespace shop
