// CallerTable: for whom the actors of a system ask that stand for calls of gRPC clients (caller.h).
//
// A call knows its asker, so the table is all that a Caller needs: no message has anything of it. Any thread.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_CALLER_TABLE_H_
#define UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_CALLER_TABLE_H_

#include <cstddef>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "understudy/actors/pid.h"

namespace understudy {

struct Caller;

namespace internal {

class CallerTable {
 public:
  CallerTable();
  ~CallerTable();
  CallerTable(const CallerTable&) = delete;
  CallerTable& operator=(const CallerTable&) = delete;

  // Returns null if that actor stands for no client.
  std::shared_ptr<const Caller> Find(Pid asker) const;
  void Add(Pid asker, std::shared_ptr<const Caller> caller);
  void Remove(Pid asker);
  size_t size() const;

 private:
  struct Entries;

  mutable absl::Mutex mu_;
  const std::unique_ptr<Entries> entries_ ABSL_PT_GUARDED_BY(mu_);
};

// An entry of the table, which ends with the object. Move-only.
class CallerEntry {
 public:
  CallerEntry() = default;
  // The actor `asker` asks for `caller` from now on. The table must outlive the object.
  CallerEntry(CallerTable& table, Pid asker, std::shared_ptr<const Caller> caller) : table_(&table), asker_(asker) {
    table.Add(asker, std::move(caller));
  }
  CallerEntry(CallerEntry&& other) noexcept : table_(std::exchange(other.table_, nullptr)), asker_(other.asker_) {}
  CallerEntry& operator=(CallerEntry&& other) noexcept {
    std::swap(table_, other.table_);
    std::swap(asker_, other.asker_);
    return *this;
  }
  ~CallerEntry() {
    if (table_ != nullptr) table_->Remove(asker_);
  }

 private:
  CallerTable* table_ = nullptr;  // null if there is no entry
  Pid asker_;
};

}  // namespace internal
}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_CALLER_TABLE_H_
