#include "understudy/actors/pid.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "understudy/actors/address_key.h"
#include "understudy/actors/limits.h"

namespace understudy {
namespace internal {
namespace {

using Key = std::tuple<const void*, std::string, uint64_t>;

struct Table {
  absl::Mutex mu;
  size_t fresh ABSL_GUARDED_BY(mu) = 1;  // index 0 is no node
  std::map<Key, uint16_t> living ABSL_GUARDED_BY(mu);
  std::set<Key> only_from_refs ABSL_GUARDED_BY(mu);  // of the living
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

absl::StatusOr<uint16_t> NodeTable::Intern(const NodeEntry& entry, Source source) {
  Table& table = GetTable();
  absl::MutexLock lock(&table.mu);
  const Key key(entry.system, entry.name, entry.incarnation.bits);
  if (source == Source::kMet) table.only_from_refs.erase(key);
  const auto known = table.living.find(key);
  if (known != table.living.end()) return known->second;
  if (source == Source::kRef && table.only_from_refs.size() >= limits::kNodesLearnedFromRefsMax) {
    return absl::ResourceExhaustedError(absl::StrCat("refs have named ", limits::kNodesLearnedFromRefsMax,
                                                     " incarnations of nodes that were never met; no more are kept"));
  }
  uint16_t index = 0;
  if (table.fresh <= limits::kNodeTableEntriesMax) {
    index = static_cast<uint16_t>(table.fresh++);
  } else if (!table.retired.empty()) {
    index = table.retired.front();
    table.retired.pop_front();
  } else {
    return absl::ResourceExhaustedError(absl::StrCat("the table of nodes is full: ", limits::kNodeTableEntriesMax,
                                                     " incarnations of nodes are known, and pids can name no more; ",
                                                     "restart the process to meet node ", entry.name));
  }
  table.all.push_back(std::make_unique<const NodeEntry>(entry));
  entries_[index].store(table.all.back().get(), std::memory_order_release);
  table.living.emplace(key, index);
  if (source == Source::kRef) table.only_from_refs.insert(key);
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
    table.only_from_refs.erase(last->first);
  }
  table.living.erase(first, last);
}

namespace {

// What was translated last on this thread, by the lowest bits of what it was
// translated from: most messages are of few actors. An entry of the table is
// valid for ever, and has one key.
struct Translated {
  const NodeEntry* entry = nullptr;
  ActorAddress from;
  ActorAddress to;
};
using Translations = std::array<Translated, 64>;  // by the upper six bits of a hash
constinit thread_local Translations permuted{};
constinit thread_local Translations restored{};

template <class Translate>
ActorAddress Recall(Translations& known, const NodeEntry* entry, ActorAddress from, Translate translate) {
  // Fibonacci hashing: cells and serials inside a node count up together.
  const uint64_t hash = (from.serial ^ uint64_t{from.cell} << 40) * 0x9e3779b97f4a7c15U;
  Translated& place = known[hash >> 58];
  if (place.entry != entry || place.from != from) place = {.entry = entry, .from = from, .to = translate(from)};
  return place.to;
}

}  // namespace

ActorAddress AddressOf(Pid pid) {
  const ActorAddress held{.cell = pid.cell(), .serial = pid.serial()};
  const NodeEntry* entry = NodeTable::Find(pid.node());
  if (entry == nullptr || !entry->is_local) return held;
  return Recall(permuted, entry, held, [entry](ActorAddress inside) { return entry->key.Permuted(inside); });
}

Pid PidAt(uint16_t node, ActorAddress address) {
  if (address.serial == 0) return Pid(node, 0, 0);
  const NodeEntry* entry = NodeTable::Find(node);
  if (entry != nullptr && entry->is_local) {
    address = Recall(restored, entry, address, [entry](ActorAddress outside) { return entry->key.Restored(outside); });
  }
  return Pid(node, address.cell, address.serial);
}

}  // namespace internal

std::string Pid::ToString() const {
  if (is_unnamed()) return "<no name>";
  if (is_null()) return "<no actor>";
  const internal::NodeEntry* entry = internal::NodeTable::Find(node());
  const ActorAddress address = internal::AddressOf(*this);
  return absl::StrCat("<", entry == nullptr ? "?" : entry->name, ".", address.cell, ".", address.serial, ">");
}

}  // namespace understudy
