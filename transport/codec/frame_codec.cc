#include "understudy/transport/codec/frame_codec.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "understudy/actors/check.h"
#include "understudy/actors/cut_text.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"
#include "understudy/proto/envelope.pb.h"
#include "understudy/transport/codec/frame_memory.h"
#include "understudy/transport/codec/wire_format.h"

namespace understudy {
namespace {

// Field numbers are below 16, so a tag is one byte. The length of a frame takes at most
// three bytes, and a varint at most ten.
constexpr size_t kFrameFieldsBytes = 64;
constexpr size_t kSlotFieldsBytes = 32;
constexpr size_t kPackedBytesMin = 1024;
// The size of a typical slot: a message of a few dozen bytes with its addresses.
constexpr size_t kUsualSlotBytes = 96;
// A frame of at least this size is returned in the memory in which it was packed; a smaller one is copied.
constexpr size_t kKeptBytesMin = 1024;
constexpr size_t kDefinitionFieldsBytes = 16;
// The control part's texts, cut to this by the session.
constexpr size_t kControlTextBytesMax = 2048;
// The largest key or proof of a handshake: twice the size that the present version uses.
constexpr size_t kSecretBytesMax = 64;
// The highest number of a field of proto::Frame; the control part's come last.
constexpr uint64_t kControlFieldLast = 10;

bool ReadSlot(absl::string_view bytes, SlotView& slot) {
  return internal::ReadFields(bytes, [&](internal::WireReader& reader, uint64_t tag) {
    uint64_t number = 0;
    switch (tag) {
      case internal::TagOf(1, internal::WireType::kBytes):
        return reader.Bytes(slot.body);
      case internal::TagOf(2, internal::WireType::kVarint):
        return reader.Bool(slot.continues);
      case internal::TagOf(3, internal::WireType::kVarint):
        if (!reader.Varint(number)) return false;
        slot.remaining_nanos = static_cast<int64_t>(number);
        return true;
      case internal::TagOf(4, internal::WireType::kVarint):
        if (!reader.Varint(number) || number > UINT32_MAX) return false;
        slot.part_of = static_cast<uint32_t>(number);
        return true;
      default:
        return reader.Skip(tag);
    }
  });
}

void AppendSlot(const SlotView& slot, std::string& bytes) {
  // The fields in the order of their numbers: first the body, then the short fields.
  std::array<char, kSlotFieldsBytes> tail;
  internal::WireWriter after(tail.data());
  after.VarintField(2, slot.continues ? 1 : 0);
  if (slot.remaining_nanos.has_value()) after.PresentVarintField(3, static_cast<uint64_t>(*slot.remaining_nanos));
  after.VarintField(4, slot.part_of);
  const auto tail_bytes = static_cast<size_t>(after.at() - tail.data());
  std::array<char, kSlotFieldsBytes> head;
  internal::WireWriter before(head.data());
  before.BytesFieldHead(5, (slot.body.empty() ? 0 : internal::BytesFieldBytes(slot.body.size())) + tail_bytes);
  if (!slot.body.empty()) before.BytesFieldHead(1, slot.body.size());
  bytes.append(head.data(), static_cast<size_t>(before.at() - head.data()));
  bytes.append(slot.body.data(), slot.body.size());
  bytes.append(tail.data(), tail_bytes);
}

absl::Status BadFrame(absl::string_view what) { return absl::InvalidArgumentError(absl::StrCat("bad frame: ", what)); }

absl::Status CheckBytes(absl::string_view what, size_t bytes, size_t bytes_max) {
  if (bytes <= bytes_max) return absl::OkStatus();
  return BadFrame(absl::StrCat(what, " has ", bytes, " bytes: at most ", bytes_max, " are allowed"));
}

// A handshake's frame has no slots.
absl::Status CheckNoSlots(const proto::Frame& frame) {
  if (frame.slots_size() == 0 && frame.definitions_size() == 0) return absl::OkStatus();
  return BadFrame(absl::StrCat("a handshake has ", frame.slots_size(), " slots and ", frame.definitions_size(),
                               " definitions of mailboxes: expected none"));
}

absl::Status CheckDefinitions(const FrameView& frame) {
  for (const MailboxDefinition& definition : frame.definitions) {
    if (definition.name.empty() || definition.name.size() > limits::kMailboxNameBytesMax) {
      return BadFrame(absl::StrCat("a mailbox's name has ", definition.name.size(), " bytes: expected 1 to ",
                                   limits::kMailboxNameBytesMax));
    }
    if (definition.hash != internal::Fnv1a(definition.name)) {
      return BadFrame(absl::StrCat("the hash of a mailbox is ", definition.hash, ": expected that of its name, ",
                                   internal::Fnv1a(definition.name)));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckSlots(const FrameView& frame) {
  if (frame.slots.empty()) {
    return frame.first_number == 0
               ? absl::OkStatus()
               : BadFrame(absl::StrCat("it has the number of a first slot, ", frame.first_number, ", without a slot"));
  }
  if (frame.slots.size() > limits::kSlotsPerFrameMax) {
    return BadFrame(absl::StrCat(frame.slots.size(), " slots; at most ", limits::kSlotsPerFrameMax, " are allowed"));
  }
  if (frame.first_number == 0 || frame.first_number > UINT64_MAX - limits::kSlotsPerFrameMax) {
    return BadFrame(absl::StrCat("the first slot has number ", frame.first_number, ": expected 1 to ",
                                 UINT64_MAX - limits::kSlotsPerFrameMax));
  }
  const auto is_too_large = [](const SlotView& slot) { return slot.body.size() > limits::kSlotBytesMax; };
  const auto large = std::find_if(frame.slots.begin(), frame.slots.end(), is_too_large);
  return large == frame.slots.end() ? absl::OkStatus()
                                    : CheckBytes("a slot", large->body.size(), limits::kSlotBytesMax);
}

absl::Status CheckHandshake(absl::string_view name, uint64_t incarnation, absl::string_view advertise) {
  const absl::Status valid = ValidateNodeName(name);
  if (!valid.ok()) return BadFrame(valid.message());
  if (incarnation == 0) return BadFrame("the incarnation is 0 or missing");
  return CheckBytes("an address", advertise.size(), kControlTextBytesMax);
}

// The first of them that is not OK.
absl::Status FirstError(std::initializer_list<absl::Status> checked) {
  for (const absl::Status& status : checked) {
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status CheckControl(const proto::Frame& frame) {
  switch (frame.control_case()) {
    case proto::Frame::kHello: {
      const proto::Hello& hello = frame.hello();
      return FirstError({CheckNoSlots(frame),
                         CheckBytes("the name in to_node", hello.to_node().size(), limits::kNodeNameBytesMax),
                         CheckBytes("a Hello's key", hello.key().size(), kSecretBytesMax),
                         CheckBytes("a Hello's proof", hello.proof().size(), kSecretBytesMax),
                         CheckHandshake(hello.from_node(), hello.incarnation(), hello.advertise())});
    }
    case proto::Frame::kWelcome: {
      const proto::Welcome& welcome = frame.welcome();
      return FirstError({CheckNoSlots(frame), CheckBytes("a Welcome's key", welcome.key().size(), kSecretBytesMax),
                         CheckBytes("a Welcome's proof", welcome.proof().size(), kSecretBytesMax),
                         CheckHandshake(welcome.from_node(), welcome.incarnation(), welcome.advertise())});
    }
    case proto::Frame::kRefuse:
      return FirstError({CheckNoSlots(frame),
                         CheckBytes("a Refuse's text", frame.refuse().detail().size(), kControlTextBytesMax),
                         CheckBytes("a Refuse's proof", frame.refuse().proof().size(), kSecretBytesMax)});
    case proto::Frame::kGoodbye:
      return CheckBytes("a Goodbye's text", frame.goodbye().why().size(), kControlTextBytesMax);
    case proto::Frame::kHeartbeat:
    case proto::Frame::CONTROL_NOT_SET:
      break;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidateNodeName(absl::string_view name) {
  const auto is_letter = [](char c) { return absl::ascii_islower(c) || absl::ascii_isdigit(c); };
  if (name.empty() || name.size() > limits::kNodeNameBytesMax || !is_letter(name.front()) || !is_letter(name.back()) ||
      !std::all_of(name.begin(), name.end(), [&](char c) { return is_letter(c) || c == '-'; })) {
    return absl::InvalidArgumentError(absl::StrCat("the node's name '", CutText(name, limits::kNodeNameBytesMax),
                                                   "' is not a DNS label: 1 to 63 of a-z, 0-9 and inner '-'"));
  }
  if (name == "understudy") {
    return absl::InvalidArgumentError(
        "no node may be named 'understudy': names of actors under understudy/ are reserved");
  }
  return absl::OkStatus();
}

void PackedSlots::Add(absl::string_view body) {
  UNDERSTUDY_CHECK(body.size() <= limits::kSlotBytesMax, "a slot of ", body.size(), " bytes");
  if (count_ == 0) {
    run_.bytes = internal::TakeRunMemory();
    run_.bytes.reserve(kPackedBytesMin);
  }
  AppendSlot({.body = body}, run_.bytes);
  ++count_;
}

size_t PackedSlots::DropFirst(size_t count) {
  UNDERSTUDY_CHECK(count <= count_, count, " slots of ", count_);
  internal::WireReader reader(run_.bytes);
  size_t dropped = 0;
  size_t body_bytes = 0;
  for (size_t i = 0; i < count; ++i) {
    uint64_t tag = 0;
    absl::string_view bytes;
    SlotView slot;
    UNDERSTUDY_CHECK(reader.Tag(tag) && reader.Bytes(bytes) && ReadSlot(bytes, slot), "slots that were packed here");
    dropped += internal::BytesFieldBytes(bytes.size());
    body_bytes += slot.body.size();
  }
  run_.bytes.erase(0, dropped);
  count_ -= count;
  return body_bytes;
}

FramePacker::FramePacker(uint64_t epoch, uint64_t acknowledged) : bytes_(internal::TakeFrameMemory()) {
  std::array<char, kFrameFieldsBytes> head;
  internal::WireWriter writer(head.data());
  writer.VarintField(1, epoch);
  writer.VarintField(2, acknowledged);
  bytes_.assign(head.data(), static_cast<size_t>(writer.at() - head.data()));
  definitions_end_ = bytes_.size();
}

bool FramePacker::Begin(uint64_t number, size_t count, size_t bytes, const MailboxDefinition* define) {
  if (define != nullptr) bytes += define->name.size() + kDefinitionFieldsBytes;
  if (bytes_.size() + kFrameFieldsBytes + bytes > limits::kFrameBytesMax ||
      slots_ + count > limits::kSlotsPerFrameMax) {
    return false;
  }
  if (!has_slots()) {
    std::array<char, kSlotFieldsBytes> head;
    first_number_ = number;
    internal::WireWriter writer(head.data());
    writer.VarintField(3, number);
    bytes_.append(head.data(), static_cast<size_t>(writer.at() - head.data()));
    definitions_end_ = bytes_.size();
  }
  UNDERSTUDY_DCHECK(number == first_number_ + slots_, "slot ", number, " is out of order");
  if (define != nullptr) Define(*define);
  slots_ += count;
  return true;
}

bool FramePacker::Add(uint64_t number, const SlotView& slot, const MailboxDefinition* define) {
  UNDERSTUDY_CHECK(slot.body.size() <= limits::kSlotBytesMax, "a slot of ", slot.body.size(), " bytes");
  if (!Begin(number, 1, slot.body.size() + kSlotFieldsBytes, define)) return false;
  AppendSlot(slot, bytes_);
  return true;
}

bool FramePacker::Add(uint64_t first, const PackedSlots& slots, const MailboxDefinition* define) {
  if (!Begin(first, slots.count(), slots.bytes().size(), define)) return false;
  bytes_.append(slots.bytes().data(), slots.bytes().size());
  return true;
}

// Inserts the definition before the slots that the frame already has. Moving them is acceptable, because definitions
// are rare.
void FramePacker::Define(const MailboxDefinition& definition) {
  const size_t name = definition.name.empty() ? 0 : internal::BytesFieldBytes(definition.name.size());
  const size_t inner = (definition.hash == 0 ? 0 : 5) + name;
  std::string bytes(internal::BytesFieldBytes(inner), '\0');
  internal::WireWriter writer(bytes.data());
  writer.BytesFieldHead(4, inner);
  writer.Fixed32Field(1, definition.hash);
  if (name > 0) writer.BytesField(2, definition.name);
  bytes_.insert(definitions_end_, bytes);
  definitions_end_ += bytes.size();
}

size_t FramePacker::body_bytes_left() const {
  if (slots_ >= limits::kSlotsPerFrameMax) return 0;
  return limits::kFrameBytesMax -
         std::min(limits::kFrameBytesMax, bytes_.size() + kFrameFieldsBytes + kSlotFieldsBytes);
}

std::string FramePacker::Encode() {
  // The control part comes last, because its field numbers are above all others.
  if (control_.has_value()) control_->AppendToString(&bytes_);
  UNDERSTUDY_CHECK(bytes_.size() <= limits::kFrameBytesMax, "a frame of ", bytes_.size(), " bytes");
  if (bytes_.size() >= kKeptBytesMin) return std::move(bytes_);
  // A small frame may be kept for long, so it is copied and the large memory is returned.
  std::string small = bytes_;
  internal::KeepMemory(std::move(bytes_));
  return small;
}

namespace {

bool ReadDefinition(absl::string_view bytes, MailboxDefinition& definition) {
  return internal::ReadFields(bytes, [&](internal::WireReader& reader, uint64_t tag) {
    switch (tag) {
      case internal::TagOf(1, internal::WireType::kFixed32):
        return reader.Fixed32(definition.hash);
      case internal::TagOf(2, internal::WireType::kBytes):
        return reader.Bytes(definition.name);
      default:
        return reader.Skip(tag);
    }
  });
}

// Reads a frame by hand. Returns false if it has an unusual form or a control part, which are left to protobuf.
bool ReadFrame(absl::string_view bytes, FrameView& frame) {
  return internal::ReadFields(bytes, [&](internal::WireReader& reader, uint64_t tag) {
    absl::string_view inner;
    switch (tag) {
      case internal::TagOf(1, internal::WireType::kVarint):
        return reader.Varint(frame.epoch);
      case internal::TagOf(2, internal::WireType::kVarint):
        return reader.Varint(frame.acknowledged);
      case internal::TagOf(3, internal::WireType::kVarint):
        return reader.Varint(frame.first_number);
      case internal::TagOf(4, internal::WireType::kBytes):
        return reader.Bytes(inner) && ReadDefinition(inner, frame.definitions.emplace_back());
      case internal::TagOf(5, internal::WireType::kBytes):
        // A frame with more slots is left to protobuf, and then refused by CheckSlots.
        return frame.slots.size() <= limits::kSlotsPerFrameMax && reader.Bytes(inner) &&
               ReadSlot(inner, frame.slots.emplace_back());
      default:
        return tag >> 3 > kControlFieldLast && reader.Skip(tag);
    }
  });
}

absl::Status TooManyBytes(size_t bytes) {
  return BadFrame(absl::StrCat(bytes, " bytes; at most ", limits::kFrameBytesMax, " are allowed"));
}

// The checks that apply to a frame whether it was read by hand or by protobuf.
absl::Status CheckFrame(const FrameView& frame) {
  absl::Status checked = CheckDefinitions(frame);
  checked.Update(CheckSlots(frame));
  if (frame.control != nullptr) checked.Update(CheckControl(*frame.control));
  const bool needs_epoch = frame.control == nullptr || (!frame.control->has_hello() && !frame.control->has_refuse());
  if (needs_epoch && frame.epoch == 0) checked.Update(BadFrame("the epoch is 0 or missing"));
  return checked;
}

absl::StatusOr<std::unique_ptr<proto::Frame>> Parse(absl::string_view bytes) {
  if (bytes.size() > limits::kFrameBytesMax) return TooManyBytes(bytes.size());
  auto frame = std::make_unique<proto::Frame>();
  if (!frame->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return BadFrame(absl::StrCat(bytes.size(), " bytes do not parse"));
  }
  return frame;
}

FrameView ViewOf(std::unique_ptr<const proto::Frame> parsed) {
  FrameView frame;
  frame.epoch = parsed->epoch();
  frame.acknowledged = parsed->acknowledged();
  frame.first_number = parsed->first_number();
  for (const proto::MailboxDefinition& definition : parsed->definitions()) {
    frame.definitions.push_back({.hash = definition.hash(), .name = definition.name()});
  }
  for (const proto::Slot& slot : parsed->slots()) {
    SlotView& view = frame.slots.emplace_back();
    view.body = slot.body();
    view.part_of = slot.part_of();
    view.continues = slot.continues();
    if (slot.has_remaining_nanos()) view.remaining_nanos = slot.remaining_nanos();
  }
  frame.control = std::move(parsed);
  return frame;
}

}  // namespace

absl::StatusOr<FrameView> DecodeSessionFrame(absl::string_view bytes) {
  if (bytes.size() > limits::kFrameBytesMax) return TooManyBytes(bytes.size());
  FrameView frame;
  frame.slots.reserve(bytes.size() / kUsualSlotBytes);
  if (!ReadFrame(bytes, frame)) return internal::DecodeFrameByProtobuf(bytes);
  absl::Status checked = CheckFrame(frame);
  if (!checked.ok()) return checked;
  return frame;
}

absl::StatusOr<FrameView> internal::DecodeFrameByProtobuf(absl::string_view bytes) {
  absl::StatusOr<std::unique_ptr<proto::Frame>> parsed = Parse(bytes);
  if (!parsed.ok()) return parsed.status();
  FrameView frame = ViewOf(*std::move(parsed));
  absl::Status checked = CheckFrame(frame);
  if (!checked.ok()) return checked;
  return frame;
}

absl::StatusOr<proto::Frame> DecodeFrame(absl::string_view bytes) {
  absl::StatusOr<FrameView> frame = internal::DecodeFrameByProtobuf(bytes);
  if (!frame.ok()) return frame.status();
  return *frame->control;
}

}  // namespace understudy
