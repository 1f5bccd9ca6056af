#include "understudy/actors/internal/send/mailbox_layout.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "understudy/actors/check.h"
#include "understudy/actors/limits.h"

namespace understudy::internal {
namespace {

struct Growing {
  absl::Mutex mu;
  size_t count ABSL_GUARDED_BY(mu) = 0;
};

Growing& GetGrowing() {
  static Growing* const growing = new Growing;
  return *growing;
}

// All options, with the resolved capacity in bytes. Does not compile if an option is added to MailboxOptions.
auto Tied(const MailboxDeclaration& declaration) {
  [[maybe_unused]] const auto& [messages, bytes, overflow, time_to_live, on_restart, report_contents] =
      declaration.options;
  return std::tie(messages, declaration.capacity_bytes, overflow, time_to_live, on_restart, report_contents);
}

bool AreEqual(const MailboxDeclaration& a, const MailboxDeclaration& b) {
  return a.hash == b.hash && a.request == b.request && a.reply == b.reply && a.item_bits == b.item_bits &&
         a.must_be_handled == b.must_be_handled && Tied(a) == Tied(b);
}

// The last policy that FindRules knows; the policies count from 0 without gaps.
constexpr Overflow LastOverflow() {
  int last = 0;
  while (FindRules(static_cast<Overflow>(last + 1)).has_value()) ++last;
  return static_cast<Overflow>(last);
}

// MailboxLayout::Publishing::mask for that room: room is published once for every mask + 1 messages, a power of two.
uint32_t PublishingMask(uint32_t room) {
  constexpr uint32_t kTogetherMax = 64;
  return std::bit_floor(std::clamp(room / 4, 1U, kTogetherMax)) - 1;
}

}  // namespace

std::string MailboxDeclaration::RequestText() const {
  return upload_item != nullptr ? absl::StrCat("stream ", upload_item->name()) : request->name();
}

std::string MailboxDeclaration::ReplyText() const {
  if (!is_call()) return "";
  return absl::StrCat((item_bits & ItemBits(kStreamAsk)) != 0 ? "stream " : "", reply->name());
}

absl::Status MailboxDeclaration::Validate() const {
  const auto invalid = [&](absl::string_view option, absl::string_view range, const auto& got) {
    return absl::InvalidArgumentError(
        absl::StrCat("mailbox ", wire_name, ": ", option, " must be ", range, ", got ", got));
  };
  if (options.capacity_messages < 1 || options.capacity_messages > limits::kMailboxCapacityMessagesMax) {
    return invalid("capacity_messages", absl::StrCat("1 to ", limits::kMailboxCapacityMessagesMax),
                   options.capacity_messages);
  }
  if (capacity_bytes == 0) return invalid("capacity_bytes", "at least 1", capacity_bytes);
  if (options.time_to_live <= absl::ZeroDuration()) {
    return invalid("time_to_live", "positive", absl::FormatDuration(options.time_to_live));
  }
  absl::Status valid;
  const auto check = [&](absl::string_view option, auto value, auto last) {
    if (value >= decltype(value){} && value <= last) return;
    valid = invalid(option, absl::StrCat("0 to ", static_cast<int>(last)), static_cast<int>(value));
  };
  check("overflow", options.overflow, LastOverflow());
  check("on_restart", options.on_restart, OnRestart::kKeep);
  check("report_contents", options.report_contents, ReportContents::kYes);
  return valid;
}

uint32_t MailboxDeclaration::room() const {
  return static_cast<uint32_t>(options.capacity_messages) * overflow().capacities_accepted;
}

uint64_t MailboxDeclaration::room_bytes() const {
  return std::min<uint64_t>(capacity_bytes, kCountedBytesMax) * overflow().capacities_accepted;
}

const MailboxLayout& MailboxLayout::Empty() {
  static const MailboxLayout* const empty = new MailboxLayout;
  return *empty;
}

const MailboxLayout* MailboxLayout::FindLonger(const MailboxDeclaration& added) const {
  // acquire: pairs with With's release store of longer_, so the layout is seen as constructed.
  for (const MailboxLayout* longer = longer_.load(std::memory_order_acquire); longer != nullptr;
       longer = longer->sibling_) {
    if (AreEqual(*longer->declarations_.back(), added)) return longer;
  }
  return nullptr;
}

const MailboxLayout* MailboxLayout::With(const MailboxDeclaration& added) const {
  (void)added.request->name();  // the first call allocates the name; a fatal signal's handler reads it later
  Growing& growing = GetGrowing();
  absl::MutexLock lock(&growing.mu);
  if (const MailboxLayout* found = FindLonger(added); found != nullptr) return found;
  if (growing.count == limits::kMailboxLayoutsMax) return nullptr;
  ++growing.count;
  auto* made = new MailboxLayout;
  made->id_ = static_cast<uint32_t>(growing.count);
  made->declarations_ = declarations_;
  made->declarations_.push_back(new MailboxDeclaration(added));
  const uint64_t bit = uint64_t{1} << size();
  const bool overflows = added.overflow().acts();
  made->overflowing_ = overflowing_ | (overflows ? bit : 0);
  const bool is_plain = !overflows && !added.has_bytes() && !added.has_time_to_live();
  made->plain_ = plain_ | (is_plain ? bit : 0);
  constexpr uint32_t kHandedRoomMin = 8;
  const bool is_handed = is_plain && !added.is_call() && added.room() >= kHandedRoomMin;
  made->handed_ = handed_ | (is_handed ? bit : 0);
  made->must_be_handled_ = must_be_handled_ | (added.must_be_handled ? bit : 0);
  made->size_ = size_ + 1;
  made->briefs_ = std::make_unique<Brief[]>(made->size_);
  std::copy_n(briefs_.get(), size_, made->briefs_.get());
  made->briefs_[size_] = {.room = added.room(), .mask = PublishingMask(added.room())};
  made->found_ = found_;
  size_t probe = added.hash;
  while (made->found_[probe % kProbes].place != kNoPlace) ++probe;
  const bool is_plain_tell = is_plain && !added.is_call() && added.request->moves_safely;
  made->found_[probe % kProbes] = {
      .plain_tell = {.type = is_plain_tell ? added.request : nullptr, .handed = is_handed ? bit : 0},
      .hash = added.hash,
      .place = static_cast<uint8_t>(size_)};
  made->has_bytes_ = has_bytes_ || added.has_bytes();
  made->has_expiring_calls_ = has_expiring_calls_ || (added.is_call() && added.has_time_to_live());
  made->sibling_ = longer_.load(std::memory_order_relaxed);
  // release: pairs with the acquire load of longer_ in FindLonger.
  longer_.store(made, std::memory_order_release);
  return made;
}

const MailboxLayout::Found* MailboxLayout::Probe(uint32_t hash) const {
  for (uint32_t probe = hash;; ++probe) {
    const Found& found = found_[probe % kProbes];
    if (found.place == kNoPlace) return nullptr;
    if (found.hash == hash) return &found;
  }
}

}  // namespace understudy::internal
