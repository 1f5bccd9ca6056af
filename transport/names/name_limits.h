// Bounds of the names that nodes tell each other, each with its reason. The
// number of names of one node is limits::kNamesPerNodeMax.
#ifndef UNDERSTUDY_TRANSPORT_NAMES_NAME_LIMITS_H_
#define UNDERSTUDY_TRANSPORT_NAMES_NAME_LIMITS_H_

#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"

namespace understudy::limits {

// The full name of a protobuf message: four times the longest in common use.
inline constexpr size_t kMessageNameBytesMax = 512;
// The most different sets of mailboxes that the published actors of one node may
// have, and the bytes of all of them. A session keeps the peer's sets until it ends.
// A mailbox counts as its bytes on the wire and kNameMailboxBytes, which is most of what a short one takes in memory.
// 12 MiB are the sets of some 4,000 actor classes with eight mailboxes.
inline constexpr size_t kNameSignatureSetsMax = 16384;
inline constexpr size_t kNameSignatureBytesMax = size_t{12} << 20;
inline constexpr size_t kNameMailboxBytes = 256;
// The memory that the name of a peer's actor takes in the name table and the registry: six copies of the name, and the
// rest.
inline constexpr size_t kNameCopies = 6;
inline constexpr size_t kEnteredNameBytes = 700;
constexpr size_t EnteredBytes(size_t name_bytes) { return kEnteredNameBytes + kNameCopies * name_bytes; }
// The memory that the names and vacancies of a peer may take whose identity is not proved: some 4,700 names of 30
// bytes. Further claims are refused. It is 1 GiB for all of kUnprovedPeersMax.
inline constexpr size_t kUnprovedNameBytesMax = size_t{4} << 20;
// The bytes of the sets of mailboxes of such a peer: those of some 1,400 actor classes. Claims with further sets are
// refused, and so are those of a proved peer beyond kNameSignatureBytesMax.
inline constexpr size_t kUnprovedNameSignatureBytesMax = size_t{4} << 20;
// The names and vacancies that are entered of any peer, for each of the kNamesPerNodeMax that it may own; further
// claims are refused. It is more than one, because a name that changes again keeps its place among the changes that
// wait to be told: its claim may arrive before the release of another name that made room for it.
inline constexpr size_t kEnteredPerOwned = 2;
// The size up to which a part of the changes of names is filled. Such a part fits
// one slot, so that nothing else is sent between its pieces, and has some 1,000 names.
inline constexpr size_t kNamePartBytes = size_t{48} << 10;
// A set of mailboxes above this size travels in a part of its own.
inline constexpr size_t kSmallSignatureBytes = size_t{8} << 10;
// The largest part that is read: the largest possible set of mailboxes is 64 of
// 2 KiB each.
inline constexpr size_t kNamePartBytesMax = size_t{160} << 10;
// The largest description of messages that is sent or read; with it a part is below kNamePartBytesMax. A description
// has some 30 bytes for each field, so this is enough for 4,000 fields.
inline constexpr size_t kDescriptionBytesMax = size_t{128} << 10;
// The most requests for descriptions in one part, so that they add at most 4 KiB to it.
inline constexpr size_t kDescriptionRequestsPerPartMax = 256;
// The cost that the comparisons with one peer's descriptions, and the descriptions that it asks for, may have at once:
// some 0.3 s. The cost is the number of pairs of fields and values that are compared, plus the bytes of the
// descriptions, plus 16 for each message, field and value: 4,000 for two messages of 30 fields.
inline constexpr int64_t kComparisonStepsMax = 16'000'000;
// The time in which the peer gets these steps again: so long that a peer which begins sessions again and again takes at
// most half a hundredth of a thread.
inline constexpr absl::Duration kComparisonStepsWithin = absl::Minutes(1);
// The peers for which these steps are counted one by one; further ones share them.
inline constexpr size_t kComparisonBudgetsMax = 4096;
// The most parts sent to a peer that it has not taken yet. They suffice for 8,000
// names in each round trip; a peer that takes none makes this node keep 8 parts.
inline constexpr uint32_t kNamePartsUntakenMax = 8;

// The most bytes of Downs and exits that wait for earlier releases of names (NameFeed::Hold). This is half of what a
// session keeps of signals, so that they find room there when their turn comes.
inline constexpr size_t kHeldSignalBytesMax = size_t{128} << 20;

}  // namespace understudy::limits

#endif  // UNDERSTUDY_TRANSPORT_NAMES_NAME_LIMITS_H_
