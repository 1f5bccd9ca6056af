// Feeds a name table arbitrary messages of peers in any order. The table does not crash; its look-ups agree with the
// changes that it reports; no actor owns a name that it may not own on this node; no name of this node is lost to such
// a claim or refusal; and the table's memory is bounded.
//
// The input is a list of steps: a byte for the kind of step, a byte for the peer or name, and a few bytes more for the
// contents of a peer's message.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/check.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/pid.h"
#include "understudy/proto/names.pb.h"
#include "understudy/transport/names/name_feed.h"
#include "understudy/transport/names/name_limits.h"
#include "understudy/transport/names/name_table.h"
#include "understudy/transport/protocol/local_types.h"

namespace understudy {
namespace {

constexpr std::array<absl::string_view, 2> kPeers = {"b", "c"};
// The first two may be any node's.
constexpr std::array<absl::string_view, 6> kNames = {"any/1", "any/2", "a/own", "b/its", "c/its", "nobody/1"};

bool MayOwn(absl::string_view node, absl::string_view name) {
  return absl::StartsWith(name, "any/") || absl::StartsWith(name, absl::StrCat(node, "/"));
}

class Input {
 public:
  explicit Input(absl::string_view bytes) : bytes_(bytes) {}
  bool is_over() const { return bytes_.empty(); }
  uint8_t Byte() {
    if (bytes_.empty()) return 0;
    const auto byte = static_cast<uint8_t>(bytes_.front());
    bytes_.remove_prefix(1);
    return byte;
  }
  absl::string_view Text() {
    const size_t size = std::min<size_t>(Byte(), bytes_.size());
    const absl::string_view text = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return text;
  }

 private:
  absl::string_view bytes_;
};

class Fuzzed {
 public:
  Fuzzed() : table_("a", [](absl::string_view peer, absl::string_view name) { return MayOwn(peer, name); }) {}

  void Do(Input& input) {
    const uint8_t what = input.Byte();
    const uint8_t which = input.Byte();
    const std::string peer(kPeers[which % kPeers.size()]);
    const std::string name(kNames[which % kNames.size()]);
    now_ = now_ + absl::Milliseconds(which);
    switch (what % 12) {
      case 0:
        if (!joined_[peer]) table_.OnSessionBegun(peer, IndexOf(peer), now_, FingerprintsOf(which));
        joined_[peer] = true;
        break;
      case 1:
        table_.OnSessionEnded(peer);
        joined_[peer] = false;
        break;
      case 2:
        (void)table_.Claim(name, Pid(1, 1, 1 + which), now_, MailboxesOf(which / 8));
        break;
      case 3:
        if (const auto owner = table_.Find(name); owner.has_value()) table_.Release(name, owner->pid);
        break;
      case 4:
        Tell(peer, std::string(input.Text()));
        break;
      case 5:
        table_.OnChangesEntered(peer);
        break;
      case 6:
        table_.OnGrantsChanged(peer);
        break;
      case 7: {
        const auto owner = table_.Find(name);
        table_.Vacate(name, owner.has_value() ? owner->pid : Pid());
        break;
      }
      case 8:
        table_.Free(name);
        break;
      case 9:
        Tell(peer, AboutMessages(input).SerializeAsString());
        break;
      default:
        Tell(peer, MadeUp(input).SerializeAsString());
        break;
    }
    Look();
  }

 private:
  static uint16_t IndexOf(absl::string_view peer) { return peer == "b" ? 2 : 3; }

  static Fingerprints FingerprintsOf(uint8_t which) {
    return which / 16 % 2 == 0 ? Fingerprints::kTold : Fingerprints::kNotTold;
  }
  // Mailboxes of messages that are linked into this test, so that they have fingerprints here.
  static std::vector<proto::MailboxSignature> MailboxesOf(int kind) {
    if (kind % 4 == 0) return {};
    std::vector<proto::MailboxSignature> mailboxes(2);
    mailboxes[0].set_name(absl::StrCat("claim ", kind % 4));
    mailboxes[0].set_request("understudy.proto.NameClaim");
    mailboxes[1].set_name("changes");
    mailboxes[1].set_is_call(true);
    mailboxes[1].set_request("understudy.proto.NameChanges");
    mailboxes[1].set_reply("understudy.proto.NameMark");
    return mailboxes;
  }

  // A set of mailboxes with made-up fingerprints, requests for descriptions, and a description that is a changed true
  // one, or nothing that one can be.
  static proto::NameChanges AboutMessages(Input& input) {
    proto::NameChanges changes;
    const uint8_t what = input.Byte();
    if (what % 2 == 0) {
      proto::SignatureSet& set = *changes.add_definitions();
      set.set_number(input.Byte() % 4);
      for (const proto::MailboxSignature& mailbox : MailboxesOf(1)) *set.add_mailboxes() = mailbox;
      for (proto::MailboxSignature& mailbox : *set.mutable_mailboxes()) mailbox.set_fingerprint(input.Byte());
    }
    if (what / 2 % 2 == 0) {
      proto::DescriptionRequest& request = *changes.add_description_requests();
      request.set_number(input.Byte() % 4);
      request.set_mailboxes(input.Byte() * 0x8001ULL);
    }
    if (what / 4 % 2 == 0) {
      proto::Description& description = *changes.add_descriptions();
      description.set_number(input.Byte() % 4);
      proto::SignatureSet set;
      for (const proto::MailboxSignature& mailbox : MailboxesOf(1)) *set.add_mailboxes() = mailbox;
      int64_t steps = limits::kComparisonStepsMax;
      std::string protocol = LocalTypes().Describe(set, input.Byte(), steps);
      for (int i = input.Byte() % 4; i > 0 && !protocol.empty(); --i) {
        const size_t at = (size_t{input.Byte()} << 8 | input.Byte()) % protocol.size();
        protocol[at] = static_cast<char>(input.Byte());
      }
      const absl::string_view made_up = input.Text();
      description.set_protocol(made_up.empty() ? protocol : std::string(made_up));
    }
    return changes;
  }

  void Tell(const std::string& peer, const std::string& bytes) {
    if (table_.OnChanges(peer, bytes).ok()) return;
    Look();
    table_.OnSessionEnded(peer);  // a bad frame ends its session
    joined_[peer] = false;
  }

  static proto::NameChanges MadeUp(Input& input) {
    proto::NameChanges changes;
    for (int i = 1 + input.Byte() % 3; i > 0; --i) {
      proto::NameChange& change = *changes.add_changes();
      const uint8_t kind = input.Byte();
      const std::string name(kNames[input.Byte() % kNames.size()]);
      const uint64_t number = input.Byte() % 4;
      if (kind % 8 == 0) {
        proto::NameClaim& claim = *change.mutable_claim();
        claim.set_name(name);
        claim.set_cell(number % 2);
        claim.set_serial(1 + number);
        claim.set_number(number);
        claim.set_age_nanos(int64_t{input.Byte()} * 1000000 - 1000);
        claim.set_signatures(input.Byte() % 3);
        continue;
      }
      proto::NameMark& mark = kind % 8 == 1   ? *change.mutable_release()
                              : kind % 8 == 2 ? *change.mutable_refusal()
                              : kind % 8 == 3 ? *change.mutable_offer()
                              : kind % 8 == 4 ? *change.mutable_confirm()
                              : kind % 8 == 5 ? *change.mutable_cancel()
                              : kind % 8 == 6 ? *change.mutable_vacancy()
                                              : *change.mutable_cancelled();
      mark.set_name(name);
      mark.set_number(number);
    }
    changes.set_taken(input.Byte() % 3);
    changes.set_tell_again(input.Byte() % 8 == 0);
    if (const uint8_t set = input.Byte(); set % 4 == 0) {
      proto::SignatureSet& signatures = *changes.add_definitions();
      signatures.set_number(set / 4 % 4);
      signatures.add_mailboxes()->set_name("mailbox");
    }
    return changes;
  }

  void Look() {
    for (const NameTable::Change& change : table_.TakeChanges()) {
      switch (change.kind) {
        case NameTable::Change::Kind::kShow:
          UNDERSTUDY_CHECK(change.entry.node == "a" || MayOwn(change.entry.node, change.name), change.entry.node,
                           " owns ", change.name);
          shown_[change.name] = change.entry.pid;
          break;
        case NameTable::Change::Kind::kHide:
          shown_.erase(change.name);
          break;
        case NameTable::Change::Kind::kVacant:
          UNDERSTUDY_CHECK(vacant_.insert(change.name).second, change.name, " is vacant twice");
          break;
        case NameTable::Change::Kind::kNotVacant:
          UNDERSTUDY_CHECK(vacant_.erase(change.name) == 1, change.name, " was not vacant");
          break;
        case NameTable::Change::Kind::kLost:
        case NameTable::Change::Kind::kForbidden:
          UNDERSTUDY_CHECK(MayOwn(change.peer, change.name), change.name, " is lost to ", change.peer);
          break;
        case NameTable::Change::Kind::kRefused:
        case NameTable::Change::Kind::kNotGranted:
        case NameTable::Change::Kind::kTooMany:
          break;
      }
    }
    for (const absl::string_view name : kNames) {
      const absl::optional<NameEntry> owner = table_.Find(name);
      const auto shown = shown_.find(std::string(name));
      UNDERSTUDY_CHECK(owner.has_value() == (shown != shown_.end()), name, " is shown otherwise than it was told");
      UNDERSTUDY_CHECK(!owner.has_value() || owner->pid == shown->second, name, " is another's");
      UNDERSTUDY_CHECK(!table_.IsVacant(name) || !owner.has_value(), name, " is vacant and has an owner");
    }
    for (const absl::string_view peer : kPeers) {
      while (const absl::optional<NameFeed::Part> part = table_.TakePart(peer)) {
        UNDERSTUDY_CHECK(part->changes.ByteSizeLong() <= limits::kNamePartBytesMax, "a part is too large");
      }
      const NameFeed* const feed = table_.feed(peer);
      UNDERSTUDY_CHECK(feed == nullptr || feed->parts_untaken() <= limits::kNamePartsUntakenMax, "too many parts");
    }
  }

  NameTable table_;
  MonotonicTime now_ = MonotonicTime::FromNanos(1000000000);
  std::map<std::string, bool> joined_;
  std::map<std::string, Pid> shown_;
  std::set<std::string> vacant_;  // at peers
};

}  // namespace
}  // namespace understudy

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  understudy::Input input(absl::string_view(reinterpret_cast<const char*>(data), size));
  understudy::Fuzzed fuzzed;
  while (!input.is_over()) fuzzed.Do(input);
  return 0;
}
