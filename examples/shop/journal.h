// Journal: what actors remember after a crash. Records of bytes, appended under a key, read at the actor's next start.
//
// OK from Append means that the next Read of that key has the record, also in a new process. Only one actor at a time
// uses a key. Threads: any.
#ifndef UNDERSTUDY_EXAMPLES_SHOP_JOURNAL_H_
#define UNDERSTUDY_EXAMPLES_SHOP_JOURNAL_H_

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"

namespace shop {

class Journal {
 public:
  virtual ~Journal() = default;

  // `record` is not empty.
  [[nodiscard]] virtual absl::Status Append(const std::string& key, const std::string& record) = 0;
  // The records of the key, oldest first; none if the key is new.
  virtual absl::StatusOr<std::vector<std::string>> Read(const std::string& key) const = 0;
  // The keys that have records.
  virtual absl::StatusOr<std::vector<std::string>> Keys() const = 0;
};

// A folder with one file for each key. A record is handed to the operating system before Append returns, so it outlives
// the process, but not a power cut: a shop that must survive that has a database here, as examples/auction does.
class FileJournal final : public Journal {
 public:
  // `folder` must exist. A key is a file's name in it.
  explicit FileJournal(std::string folder) : folder_(std::move(folder)) {}

  // Unavailable: the file cannot be written. DataLoss: see Read.
  absl::Status Append(const std::string& key, const std::string& record) override;
  // A record at the end that is not whole is left out, and overwritten by the next Append: its writer was killed before
  // it could tell anybody that it is there. DataLoss: what stands in the file is no record, as after a power cut.
  absl::StatusOr<std::vector<std::string>> Read(const std::string& key) const override;
  absl::StatusOr<std::vector<std::string>> Keys() const override;

 private:
  // Before the first Append of the key by this object: cuts off the record at the end that is not whole.
  absl::Status Repair(const std::string& key, const std::string& path);

  const std::string folder_;
  absl::Mutex mu_;
  std::set<std::string> repaired_ ABSL_GUARDED_BY(mu_);  // keys
};

// For tests, whose nodes crash while the journal stays. One thread.
class MemoryJournal final : public Journal {
 public:
  absl::Status Append(const std::string& key, const std::string& record) override {
    records_[key].push_back(record);
    return absl::OkStatus();
  }
  absl::StatusOr<std::vector<std::string>> Read(const std::string& key) const override {
    const auto found = records_.find(key);
    return found == records_.end() ? std::vector<std::string>() : found->second;
  }
  absl::StatusOr<std::vector<std::string>> Keys() const override {
    std::vector<std::string> keys;
    for (const auto& [key, records] : records_) keys.push_back(key);
    return keys;
  }

 private:
  std::map<std::string, std::vector<std::string>> records_;
};

// The records of the key as messages. DataLoss: one of them is not an M.
template <class M>
absl::StatusOr<std::vector<M>> ReadMessages(const Journal& journal, const std::string& key) {
  absl::StatusOr<std::vector<std::string>> records = journal.Read(key);
  if (!records.ok()) return records.status();
  std::vector<M> messages(records->size());
  for (size_t i = 0; i < messages.size(); ++i) {
    if (!messages[i].ParseFromString((*records)[i])) {
      return absl::DataLossError(absl::StrCat("record ", i, " of ", key, " cannot be parsed"));
    }
  }
  return messages;
}

}  // namespace shop

#endif  // UNDERSTUDY_EXAMPLES_SHOP_JOURNAL_H_
