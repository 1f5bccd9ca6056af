#include "understudy/actors/pid.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "understudy/actors/address_key.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/node_places.h"
#include "understudy/actors/node_table.h"

namespace understudy {
namespace internal {
namespace {

struct Table {
  absl::Mutex mu;
  NodePlaces places ABSL_GUARDED_BY(mu);
  // Owns all entries, for ever, because At, Find and FindEver have returned pointers to them.
  std::vector<std::unique_ptr<const NodeEntry>> all ABSL_GUARDED_BY(mu);
};

Table& GetTable() {
  static Table* const table = new Table();
  return *table;
}

NodePlaces::Key KeyOf(const NodeEntry& entry) {
  return {.system = entry.system, .name = entry.name, .incarnation = entry.incarnation.bits};
}

}  // namespace

constinit std::array<std::atomic<const NodeEntry*>, size_t{UINT16_MAX} + 1> NodeTable::entries_{};
static_assert(limits::kSystemPlacesMax + limits::kPeerPlacesMax <= UINT16_MAX);
static_assert(limits::kGenerationsPerPlace == UINT8_MAX + 1);

absl::StatusOr<NodePlace> NodeTable::Intern(const NodeEntry& entry, Source source) {
  NodePlaces::Source from = NodePlaces::Source::kMet;
  if (source == Source::kRef) from = NodePlaces::Source::kRef;
  if (entry.is_local) from = NodePlaces::Source::kSystem;
  Table& table = GetTable();
  absl::MutexLock lock(&table.mu);
  const absl::StatusOr<NodePlaces::Taken> taken = table.places.Take(KeyOf(entry), from);
  if (!taken.ok()) return taken.status();
  const NodePlace place = taken->place;
  if (taken->is_new) {
    auto added = std::make_unique<NodeEntry>(entry);
    added->generation = place.generation;
    added->previous = place.generation == 0 ? nullptr : At(place.index);
    entries_[place.index].store(added.get(), std::memory_order_release);
    table.all.push_back(std::move(added));
  }
  return place;
}

void NodeTable::MarkDead(const void* system, absl::string_view name, absl::optional<NodeIncarnation> alive) {
  Table& table = GetTable();
  absl::MutexLock lock(&table.mu);
  table.places.MarkDead(system, name, alive.has_value() ? absl::make_optional(alive->bits) : absl::nullopt);
}

bool NodeTable::IsDead(const NodeEntry& entry) {
  Table& table = GetTable();
  absl::MutexLock lock(&table.mu);
  return table.places.IsDead(KeyOf(entry));
}

void NodeTable::Retire(const void* system) {
  Table& table = GetTable();
  absl::MutexLock lock(&table.mu);
  for (const NodePlace place : table.places.Retire(system)) {
    auto ended = std::make_unique<NodeEntry>(*At(place.index));
    ended->system = nullptr;
    entries_[place.index].store(ended.get(), std::memory_order_release);
    table.all.push_back(std::move(ended));
  }
}

const NodeEntry* NodeTable::FindEver(NodePlace place) {
  const NodeEntry* entry = At(place.index);
  while (entry != nullptr && entry->generation != place.generation) entry = entry->previous;
  return entry;
}

namespace {

// A cache, for each thread, of translations between addresses inside and outside a node:
// most messages concern few actors. It need not be invalidated, because an entry of
// NodeTable is valid for ever and its key never changes.
struct Translated {
  const NodeEntry* entry = nullptr;
  ActorAddress from;
  ActorAddress to;
};
using Translations = std::array<Translated, 64>;  // indexed by the upper six bits of a hash of `from`
constinit thread_local Translations permuted{};
constinit thread_local Translations restored{};

template <class Translate>
ActorAddress Recall(Translations& known, const NodeEntry* entry, ActorAddress from, Translate translate) {
  // Fibonacci hashing, which spreads cells and serials that count up together.
  const uint64_t hash = (from.serial ^ uint64_t{from.cell} << 40) * 0x9e3779b97f4a7c15U;
  Translated& place = known[hash >> 58];
  if (place.entry != entry || place.from != from) place = {.entry = entry, .from = from, .to = translate(from)};
  return place.to;
}

}  // namespace

ActorAddress AddressOf(Pid pid) {
  const ActorAddress held{.cell = pid.cell() % ActorAddress::kCellEnd, .serial = pid.serial()};
  const NodeEntry* entry = NodeTable::At(pid.node());
  if (entry == nullptr || !entry->is_local) return held;
  return Recall(permuted, entry, held, [entry](ActorAddress inside) { return entry->key.Permuted(inside); });
}

Pid PidAt(NodePlace node, ActorAddress address) {
  if (address.serial == 0) return Pid(node, 0, 0);
  const NodeEntry* entry = NodeTable::At(node.index);
  if (entry != nullptr && entry->is_local) {
    address = Recall(restored, entry, address, [entry](ActorAddress outside) { return entry->key.Restored(outside); });
  }
  return Pid(node, address.cell, address.serial);
}

}  // namespace internal

std::string Pid::ToString() const {
  if (is_vacant()) return "<restarting>";
  if (is_unnamed()) return "<no name>";
  if (is_null()) return "<no actor>";
  const internal::NodeEntry* entry = internal::NodeTable::FindEver(place());
  const ActorAddress address = internal::AddressOf(*this);
  return absl::StrCat("<", entry == nullptr ? "?" : entry->name, ".", address.cell, ".", address.serial, ">");
}

}  // namespace understudy
