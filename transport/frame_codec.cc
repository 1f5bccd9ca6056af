#include "understudy/transport/frame_codec.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "understudy/actors/check.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"
#include "understudy/proto/envelope.pb.h"

namespace understudy {
namespace {

// Field numbers are below 16, so a tag is one byte; a length of a frame at most
// three, a varint at most ten.
constexpr size_t kFrameFieldsBytes = 64;
constexpr size_t kSlotFieldsBytes = 32;
constexpr size_t kDefinitionFieldsBytes = 16;
// The control part's texts, cut to this by the session.
constexpr size_t kControlTextBytesMax = 2048;

absl::Status BadFrame(absl::string_view what) { return absl::InvalidArgumentError(absl::StrCat("bad frame: ", what)); }

absl::Status CheckDefinitions(const proto::Frame& frame) {
  for (const proto::MailboxDefinition& definition : frame.definitions()) {
    if (definition.name().empty() || definition.name().size() > limits::kMailboxNameBytesMax) {
      return BadFrame(absl::StrCat("a mailbox's name has ", definition.name().size(), " bytes"));
    }
    if (definition.hash() != internal::Fnv1a(definition.name())) {
      return BadFrame("a mailbox's hash is not that of its name");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckSlots(const proto::Frame& frame) {
  if (frame.slots_size() == 0) {
    return frame.first_number() == 0 ? absl::OkStatus() : BadFrame("a number without a slot");
  }
  if (frame.slots_size() > limits::kSlotsPerFrameMax) {
    return BadFrame(absl::StrCat(frame.slots_size(), " slots; at most ", limits::kSlotsPerFrameMax, " are allowed"));
  }
  if (frame.first_number() == 0 || frame.first_number() > UINT64_MAX - limits::kSlotsPerFrameMax) {
    return BadFrame(absl::StrCat("the first slot has number ", frame.first_number()));
  }
  const auto too_large = [](const proto::Slot& slot) { return slot.body().size() > limits::kSlotBytesMax; };
  if (std::any_of(frame.slots().begin(), frame.slots().end(), too_large)) return BadFrame("a slot is too large");
  return absl::OkStatus();
}

absl::Status CheckHandshake(absl::string_view name, uint64_t incarnation, absl::string_view advertise) {
  const absl::Status valid = ValidateNodeName(name);
  if (!valid.ok()) return BadFrame(valid.message());
  if (incarnation == 0) return BadFrame("no incarnation");
  if (advertise.size() > kControlTextBytesMax) return BadFrame("an address is too long");
  return absl::OkStatus();
}

absl::Status CheckControl(const proto::Frame& frame) {
  switch (frame.control_case()) {
    case proto::Frame::kHello: {
      if (frame.slots_size() > 0 || frame.definitions_size() > 0) return BadFrame("a Hello with slots");
      if (frame.hello().to_node().size() > limits::kNodeNameBytesMax) return BadFrame("a node's name is too long");
      return CheckHandshake(frame.hello().from_node(), frame.hello().incarnation(), frame.hello().advertise());
    }
    case proto::Frame::kWelcome:
      return CheckHandshake(frame.welcome().from_node(), frame.welcome().incarnation(), frame.welcome().advertise());
    case proto::Frame::kRefuse:
      if (frame.slots_size() > 0 || frame.definitions_size() > 0) return BadFrame("a Refuse with slots");
      break;
    case proto::Frame::kHeartbeat:
    case proto::Frame::kGoodbye:
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
    return absl::InvalidArgumentError(absl::StrCat("the node's name '", name.substr(0, limits::kNodeNameBytesMax),
                                                   "' is not a DNS label: 1 to 63 of a-z, 0-9 and inner '-'"));
  }
  return absl::OkStatus();
}

FramePacker::FramePacker(uint64_t epoch, uint64_t acknowledged) : bytes_(kFrameFieldsBytes) {
  frame_.set_epoch(epoch);
  frame_.set_acknowledged(acknowledged);
}

bool FramePacker::Add(uint64_t number, absl::string_view body, bool continues, absl::optional<int64_t> remaining_nanos,
                      const proto::MailboxDefinition* define) {
  UNDERSTUDY_CHECK(body.size() <= limits::kSlotBytesMax, "a slot of ", body.size(), " bytes");
  size_t bytes = body.size() + kSlotFieldsBytes;
  if (define != nullptr) bytes += define->name().size() + kDefinitionFieldsBytes;
  if (bytes_ + bytes > limits::kFrameBytesMax || frame_.slots_size() >= limits::kSlotsPerFrameMax) return false;
  bytes_ += bytes;
  if (!has_slots()) frame_.set_first_number(number);
  UNDERSTUDY_DCHECK(number == frame_.first_number() + frame_.slots_size(), "slot ", number, " is out of order");
  if (define != nullptr) *frame_.add_definitions() = *define;
  proto::Slot& slot = *frame_.add_slots();
  slot.set_body(body.data(), body.size());
  slot.set_continues(continues);
  if (remaining_nanos.has_value()) slot.set_remaining_nanos(*remaining_nanos);
  return true;
}

std::string FramePacker::Encode() const {
  std::string bytes = frame_.SerializeAsString();
  UNDERSTUDY_CHECK(bytes.size() <= limits::kFrameBytesMax, "a frame of ", bytes.size(), " bytes");
  return bytes;
}

absl::StatusOr<proto::Frame> DecodeFrame(absl::string_view bytes) {
  if (bytes.size() > limits::kFrameBytesMax) {
    return BadFrame(absl::StrCat(bytes.size(), " bytes; at most ", limits::kFrameBytesMax, " are allowed"));
  }
  proto::Frame frame;
  if (!frame.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return BadFrame(absl::StrCat(bytes.size(), " bytes do not parse"));
  }
  absl::Status checked = CheckDefinitions(frame);
  checked.Update(CheckSlots(frame));
  checked.Update(CheckControl(frame));
  const bool needs_epoch = !frame.has_hello() && !frame.has_refuse();
  if (needs_epoch && frame.epoch() == 0) checked.Update(BadFrame("no epoch"));
  if (!checked.ok()) return checked;
  return frame;
}

}  // namespace understudy
