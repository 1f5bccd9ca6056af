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
    // is_local too: a system may lie where one lay before that called this node its own.
    if (known.system == entry.system && known.name == entry.name && known.incarnation == entry.incarnation &&
        known.is_local == entry.is_local) {
      return static_cast<uint16_t>(i);
    }
  }
  UNDERSTUDY_CHECK(table.used <= limits::kNodeTableEntriesMax, "the table of nodes is full");
  const size_t index = table.used++;
  table.entries[index].store(new NodeEntry(entry), std::memory_order_release);
  return static_cast<uint16_t>(index);
}

const NodeEntry* NodeTable::Find(uint16_t index) { return GetTable().entries[index].load(std::memory_order_acquire); }

}  // namespace internal

std::string Pid::ToString() const {
  if (is_unnamed()) return "<no name>";
  if (is_null()) return "<no actor>";
  const internal::NodeEntry* entry = internal::NodeTable::Find(node());
  return absl::StrCat("<", entry == nullptr ? "?" : entry->name, ".", cell_, ".", serial(), ">");
}

}  // namespace understudy
