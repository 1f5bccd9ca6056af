#include "understudy/actors/pid.h"

#include <atomic>
#include <cstdint>
#include <string>

#include "absl/base/attributes.h"
#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "understudy/actors/check.h"
#include "understudy/actors/limits.h"

namespace understudy {
namespace internal {
namespace {

struct Table {
  absl::Mutex mu;
  size_t used ABSL_GUARDED_BY(mu) = 1;  // index 0 is no node
  // Written under mu with release; Find's acquire load pairs with it.
  std::atomic<const NodeEntry*> entries[limits::kNodeTableEntriesMax + 1];
  // Nulled under mu when the system ends. Relaxed: whoever uses a system
  // knows by other means that it does not end meanwhile.
  std::atomic<const void*> systems[limits::kNodeTableEntriesMax + 1];
};

Table& GetTable() {
  static Table* const table = new Table();
  return *table;
}

}  // namespace

uint16_t NodeTable::Intern(const NodeEntry& entry) {
  Table& table = GetTable();
  absl::MutexLock lock(&table.mu);
  for (size_t i = 1; i < table.used; ++i) {
    const NodeEntry& known = *table.entries[i].load(std::memory_order_relaxed);
    const bool is_open = table.systems[i].load(std::memory_order_relaxed) == entry.system;
    if (is_open && known.system == entry.system && known.name == entry.name && known.incarnation == entry.incarnation) {
      return static_cast<uint16_t>(i);
    }
  }
  UNDERSTUDY_CHECK(table.used <= limits::kNodeTableEntriesMax, "the table of nodes is full");
  const size_t index = table.used++;
  table.systems[index].store(entry.system, std::memory_order_relaxed);
  table.entries[index].store(new NodeEntry(entry), std::memory_order_release);
  return static_cast<uint16_t>(index);
}

const NodeEntry* NodeTable::Find(uint16_t index) { return GetTable().entries[index].load(std::memory_order_acquire); }

const void* NodeTable::FindSystem(uint16_t index) { return GetTable().systems[index].load(std::memory_order_relaxed); }

void NodeTable::Close(const void* system) {
  Table& table = GetTable();
  absl::MutexLock lock(&table.mu);
  for (size_t i = 1; i < table.used; ++i) {
    if (table.systems[i].load(std::memory_order_relaxed) == system) {
      table.systems[i].store(nullptr, std::memory_order_relaxed);
    }
  }
}

}  // namespace internal

std::string Pid::ToString() const {
  if (is_unnamed()) return "<no name>";
  if (is_null()) return "<no actor>";
  const internal::NodeEntry* entry = internal::NodeTable::Find(node());
  return absl::StrCat("<", entry == nullptr ? "?" : entry->name, ".", cell_, ".", serial(), ">");
}

}  // namespace understudy
