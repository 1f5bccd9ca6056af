#include "understudy/actors/pid.h"

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "understudy/actors/check.h"
#include "understudy/actors/limits.h"

namespace understudy {
namespace internal {
namespace {

using Key = std::tuple<const void*, std::string, uint64_t>;

struct Table {
  absl::Mutex mu;
  size_t fresh ABSL_GUARDED_BY(mu) = 1;  // index 0 is no node
  std::map<Key, uint16_t> living ABSL_GUARDED_BY(mu);
  std::deque<uint16_t> retired ABSL_GUARDED_BY(mu);
  // Keeps entries that Find gave out.
  std::vector<std::unique_ptr<const NodeEntry>> all ABSL_GUARDED_BY(mu);
};

Table& GetTable() {
  static Table* const table = new Table();
  return *table;
}

}  // namespace

constinit std::array<std::atomic<const NodeEntry*>, size_t{UINT16_MAX} + 1> NodeTable::entries_{};
static_assert(limits::kNodeTableEntriesMax <= UINT16_MAX);

uint16_t NodeTable::Intern(const NodeEntry& entry) {
  Table& table = GetTable();
  absl::MutexLock lock(&table.mu);
  const Key key(entry.system, entry.name, entry.incarnation.bits);
  const auto known = table.living.find(key);
  if (known != table.living.end()) return known->second;
  uint16_t index = 0;
  if (table.fresh <= limits::kNodeTableEntriesMax) {
    index = static_cast<uint16_t>(table.fresh++);
  } else {
    UNDERSTUDY_CHECK(!table.retired.empty(), "the table of nodes is full: ", limits::kNodeTableEntriesMax,
                     " incarnations are known");
    index = table.retired.front();
    table.retired.pop_front();
  }
  table.all.push_back(std::make_unique<const NodeEntry>(entry));
  entries_[index].store(table.all.back().get(), std::memory_order_release);
  table.living.emplace(key, index);
  return index;
}

void NodeTable::Retire(const void* system) {
  Table& table = GetTable();
  absl::MutexLock lock(&table.mu);
  const auto first = table.living.lower_bound(Key(system, "", 0));
  auto last = first;
  for (; last != table.living.end() && std::get<0>(last->first) == system; ++last) {
    auto ended = std::make_unique<NodeEntry>(*entries_[last->second].load(std::memory_order_relaxed));
    ended->system = nullptr;
    entries_[last->second].store(ended.get(), std::memory_order_release);
    table.all.push_back(std::move(ended));
    table.retired.push_back(last->second);
  }
  table.living.erase(first, last);
}

}  // namespace internal

std::string Pid::ToString() const {
  if (is_unnamed()) return "<no name>";
  if (is_null()) return "<no actor>";
  const internal::NodeEntry* entry = internal::NodeTable::Find(node());
  return absl::StrCat("<", entry == nullptr ? "?" : entry->name, ".", cell_, ".", serial(), ">");
}

}  // namespace understudy
