#include "understudy/actors/internal/system/unowned_names.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "understudy/actors/cut_text.h"
#include "understudy/actors/error.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"

namespace understudy::internal {
namespace {

struct Slot {
  uint32_t tag = 0;  // 0: the slot is free
  std::string name;
};

struct Table {
  absl::Mutex mu;
  std::array<Slot, limits::kUnownedNamesMax> slots ABSL_GUARDED_BY(mu);
};

Table& GetTable() {
  static Table* const table = new Table();
  return *table;
}

size_t SlotOf(uint32_t tag) { return tag % limits::kUnownedNamesMax; }

std::string TheName(absl::string_view name) {
  return name.empty() ? std::string("that name") : absl::StrCat("the name ", name);
}

}  // namespace

uint32_t UnownedNames::Remember(absl::string_view name) {
  const uint32_t hash = Fnv1a(name);
  // FNV's authors fold the upper bits into the lower ones for a hash that is not of 32 bits.
  const uint32_t tag = std::max<uint32_t>((hash ^ hash >> Pid::kNameTagBits) & Pid::kNameTagMax, 1);
  Table& table = GetTable();
  absl::MutexLock lock(&table.mu);
  Slot& slot = table.slots[SlotOf(tag)];
  if (slot.tag != tag) slot = {.tag = tag, .name = CutText(name, limits::kNameBytesMax)};
  return tag;
}

std::string UnownedNames::Find(uint32_t tag) {
  Table& table = GetTable();
  absl::MutexLock lock(&table.mu);
  const Slot& slot = table.slots[SlotOf(tag)];
  return slot.tag == tag ? slot.name : "";
}

absl::Status NoNameError(absl::string_view name) {
  return MakeError(ErrorKind::kNoName, absl::StrCat("no actor has ", TheName(name)));
}

absl::Status RestartingError(absl::string_view name) {
  return MakeError(ErrorKind::kRestarting,
                   absl::StrCat("the actor with ", TheName(name), " is being restarted by its supervisor"));
}

absl::Status UnnamedError(Pid unnamed) {
  const std::string name = UnownedNames::Find(unnamed.name_tag());
  return unnamed.is_vacant() ? RestartingError(name) : NoNameError(name);
}

}  // namespace understudy::internal
