// MailboxLayout: the mailboxes of an actor, in order of declaration. Actors that
// declare the same mailboxes share one layout. A layout is never changed or
// destroyed, so a sender may read the layout of an actor that has ended meanwhile.
//
// Any thread.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_SEND_MAILBOX_LAYOUT_H_
#define UNDERSTUDY_ACTORS_INTERNAL_SEND_MAILBOX_LAYOUT_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/optimization.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "understudy/actors/internal/memory/slow_path.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/mailbox_options.h"
#include "understudy/actors/message.h"

namespace understudy::internal {

// How the kernel treats a mailbox with a given Overflow. No other code tells the policies apart.
struct OverflowRules {
  uint32_t capacities_accepted = 1;  // the mailbox accepts this many times its capacity before it refuses
  bool drops_oldest = false;         // the owner drops the oldest messages beyond the capacity
  bool fails_actor = false;          // a message beyond the capacity also fails the actor

  // The policy does more than refuse.
  bool acts() const { return drops_oldest || fails_actor; }
};

// Null for a value that is no Overflow.
constexpr absl::optional<OverflowRules> FindRules(Overflow overflow) {
  switch (overflow) {  // without a default, so that a further policy does not compile until it is thought of
    case Overflow::kRefuse:
      return OverflowRules();
    case Overflow::kDropOldest:
      return OverflowRules{.capacities_accepted = 2, .drops_oldest = true};
    case Overflow::kFailActor:
      return OverflowRules{.fails_actor = true};
  }
  return absl::nullopt;
}

struct MailboxDeclaration {
  absl::string_view wire_name;  // in memory that is never freed
  uint32_t hash = 0;
  const MessageType* request = nullptr;
  const MessageType* reply = nullptr;  // null for a tell; for a stream, the type of its items
  MailboxOptions options;
  size_t capacity_bytes = SIZE_MAX;          // capacity_bytes of the options, resolved for this message type
  const MessageType* upload_item = nullptr;  // for an upload, the type of its items; else null
  uint8_t item_bits = 0;                     // the ItemBits of its calls
  bool must_be_handled = false;              // the start of an actor fails if none of its clauses names this mailbox

  bool is_call() const { return reply != nullptr; }
  // True if this mailbox takes a message of that type, or its bytes (WireBytes). `ask`
  // is 0 for a tell.
  bool Takes(const MessageType& type, uint64_t ask) const {
    const bool fits = &type == &TypeOf<WireBytes>() ? request->is_wire : &type == request;
    return fits && (ask != 0) == is_call() && ItemBits(ask) == item_bits;
  }
  // The types of the request and of the reply, as signatures and inspection show them: the name of the type, after
  // "stream " if it comes in items. ReplyText is empty for a tell.
  std::string RequestText() const;
  std::string ReplyText() const;
  bool has_bytes() const { return capacity_bytes != SIZE_MAX; }
  bool has_time_to_live() const { return options.time_to_live != absl::InfiniteDuration(); }
  // Requires valid options.
  OverflowRules overflow() const { return *FindRules(options.overflow); }
  // InvalidArgument for options out of range; names the mailbox, the option, its value and the range.
  absl::Status Validate() const;
  // How many messages fit: the capacity, or twice that if the oldest are dropped.
  uint32_t room() const;
  uint64_t room_bytes() const;
};

class MailboxLayout {
 public:
  // The layout of an actor without mailboxes.
  static const MailboxLayout& Empty();
  // Returns the layout of these mailboxes and `added`, or null if it was not made yet.
  const MailboxLayout* FindLonger(const MailboxDeclaration& added) const;
  // Like FindLonger, but makes the layout if needed. Requires valid options. Null beyond limits::kMailboxLayoutsMax.
  const MailboxLayout* With(const MailboxDeclaration& added) const;

  size_t size() const { return size_; }
  // Unique among layouts; at most limits::kMailboxLayoutsMax.
  uint32_t id() const { return id_; }
  const MailboxDeclaration& operator[](size_t place) const { return *declarations_[place]; }
  // (*this)[place].room(), cached.
  uint32_t room(size_t place) const { return briefs_[place].room; }
  // The room, and when the owner publishes new room within a turn: whenever the number of messages that left has none
  // of the mask's bits. That is often enough that at most a quarter of the room is unpublished.
  struct Publishing {
    uint32_t room = 0;
    uint32_t mask = 0;
  };
  Publishing publishing(size_t place) const { return {.room = briefs_[place].room, .mask = briefs_[place].mask}; }
  // The mailbox with that hash, or -1.
  int Find(uint32_t hash) const {
    const Found* const found = Look(hash);
    return found == nullptr ? -1 : found->place;
  }
  // The data of a mailbox that the fast path of a tell uses.
  struct PlainTell {
    // The type of its messages. Null if the mailbox is not a plain one for tells, or moving a message may throw.
    const MessageType* type = nullptr;
    uint64_t handed = 0;  // the mailbox's bit if it is one of handed(), else 0
  };
  // The plain mailbox with that hash for tells of that type, or null. Stores its place in `place`.
  const PlainTell* FindPlainTell(uint32_t hash, const MessageType& type, uint32_t& place) const {
    const Found* const found = Look(hash);
    if (ABSL_PREDICT_FALSE(found == nullptr || found->plain_tell.type != &type)) return nullptr;
    place = found->place;
    return &found->plain_tell;
  }
  // Mailboxes for which acceptance is counting: no bound in bytes, no time to
  // live, and a sender's overflow is only refused. Bit i is mailbox i.
  uint64_t plain() const { return plain_; }
  // The plain mailboxes for tells whose room is large enough for direct hand-offs (ActorCell::Hand).
  uint64_t handed() const { return handed_; }
  // Mailboxes that fail their actor, or drop their oldest, when they overflow.
  uint64_t overflowing() const { return overflowing_; }
  // Mailboxes that a clause has to name before the actor has started. Bit i is mailbox i.
  uint64_t must_be_handled() const { return must_be_handled_; }
  bool has_bytes() const { return has_bytes_; }
  // True if a mailbox for calls has a time to live.
  bool has_expiring_calls() const { return has_expiring_calls_; }

 private:
  // Twice the largest number of mailboxes, so that a search always ends at a free entry.
  static constexpr size_t kProbes = size_t{2} * limits::kMailboxesPerActorMax;
  static constexpr uint8_t kNoPlace = 0xff;

  MailboxLayout() = default;

  // An entry of the hash table found_, with linear probing.
  struct Found {
    PlainTell plain_tell;
    uint32_t hash = 0;
    uint8_t place = kNoPlace;  // free
  };
  // The entry of the mailbox with that hash; null if there is none.
  const Found* Look(uint32_t hash) const {
    const Found& first = found_[hash % kProbes];
    return ABSL_PREDICT_TRUE(first.hash == hash && first.place != kNoPlace) ? &first : Probe(hash);
  }
  UNDERSTUDY_SLOW_PATH const Found* Probe(uint32_t hash) const;

  // The data of a mailbox that the owner uses for each message: the two fields of Publishing.
  struct Brief {
    uint32_t room = 0;
    uint32_t mask = 0;
  };

  std::array<Found, kProbes> found_;
  std::unique_ptr<Brief[]> briefs_;
  uint32_t size_ = 0;
  std::vector<const MailboxDeclaration*> declarations_;
  uint64_t plain_ = 0;
  uint64_t handed_ = 0;
  uint64_t overflowing_ = 0;
  uint64_t must_be_handled_ = 0;
  bool has_bytes_ = false;
  bool has_expiring_calls_ = false;
  uint32_t id_ = 0;
  // The layouts that have these mailboxes and one more: a list linked by sibling_, to which With adds at the front.
  mutable std::atomic<const MailboxLayout*> longer_{nullptr};
  mutable const MailboxLayout* sibling_ = nullptr;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SEND_MAILBOX_LAYOUT_H_
