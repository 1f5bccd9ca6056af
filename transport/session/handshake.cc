#include "understudy/transport/session/handshake.h"

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
#include "understudy/actors/cut_text.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/pid.h"
#include "understudy/proto/envelope.pb.h"
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/session/session_proof.h"
#include "understudy/transport/session_times.h"

namespace understudy {
namespace {

std::string RangeText(uint32_t lowest, uint32_t highest) {
  return lowest == highest ? absl::StrCat("wire version ", lowest)
                           : absl::StrCat("wire versions ", lowest, " to ", highest);
}

// A Hello of version 1 has no version_highest, so its version is its highest.
uint32_t HighestOf(const proto::Hello& hello) { return std::max(hello.version(), hello.version_highest()); }

Refusal Mistaken(std::string detail) { return {.reason = proto::Refuse::MISTAKEN, .detail = std::move(detail)}; }

}  // namespace

absl::StatusOr<proto::Frame> DecodeHandshake(absl::string_view bytes) {
  if (bytes.size() > kHandshakeBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("a handshake of ", bytes.size(), " bytes: expected at most ", kHandshakeBytesMax));
  }
  return DecodeFrame(bytes);
}

absl::optional<uint32_t> CommonVersion(const proto::Hello& hello, const WireVersions& ours) {
  const uint32_t common = std::min(HighestOf(hello), ours.highest);
  if (common < ours.lowest || common < hello.version()) return absl::nullopt;
  return common;
}

std::string RefusalCause(proto::Refuse::Reason reason) {
  const std::string& name = proto::Refuse::Reason_Name(reason);
  return name.empty() ? "unknown" : absl::AsciiStrToLower(name);
}

absl::optional<Refusal> CheckHello(const proto::Hello& hello, absl::string_view node, const WireVersions& ours) {
  if (!CommonVersion(hello, ours).has_value()) {
    const std::string both = absl::StrCat("this node speaks ", RangeText(ours.lowest, ours.highest), ", node ",
                                          hello.from_node(), " speaks ", RangeText(hello.version(), HighestOf(hello)));
    if (HighestOf(hello) < 2) {
      return Mistaken(absl::StrCat(both,
                                   ": in wire version 1 a session has no secret and can be taken over, so it is "
                                   "not spoken any more; build node ",
                                   hello.from_node(), " with a later Understudy"));
    }
    const bool theirs_is_older = HighestOf(hello) < ours.lowest;
    return Mistaken(absl::StrCat(both, "; build node ", theirs_is_older ? hello.from_node() : std::string(node),
                                 " with a later Understudy"));
  }
  if (hello.to_node() != node) {
    return Mistaken(absl::StrCat("this is node ", node, ", and the stream is for node ", hello.to_node(),
                                 "; correct the address of node ", hello.to_node(), " at node ", hello.from_node()));
  }
  if (hello.from_node() == node) {
    return Mistaken(absl::StrCat("this node is called ", node, " too; give one of the two another name"));
  }
  if (hello.key().size() != kSessionKeyBytes) {
    return Mistaken(absl::StrCat("the Hello has a key of ", hello.key().size(), " bytes: expected ", kSessionKeyBytes));
  }
  if (hello.new_epoch() == 0 || hello.new_epoch() >= kEpochEnd || hello.dial() == 0) {
    return Mistaken(absl::StrCat("the Hello has epoch ", hello.new_epoch(), " and dial ", hello.dial(),
                                 ": expected positive numbers, and an epoch below ", kEpochEnd));
  }
  if (const absl::Status times = CheckTimes(hello.times()); !times.ok()) {
    return Mistaken(std::string(times.message()));
  }
  return absl::nullopt;
}

absl::Status CheckWelcome(const proto::Frame& frame, absl::string_view peer, const WireVersions& ours, bool resumes,
                          uint64_t epoch_min) {
  const proto::Welcome& welcome = frame.welcome();
  if (welcome.from_node() != peer) {
    return absl::InvalidArgumentError(
        absl::StrCat("node ", welcome.from_node(), " answers at the address of node ", peer));
  }
  if (welcome.version() < ours.lowest || welcome.version() > ours.highest) {
    return absl::InvalidArgumentError(absl::StrCat("the Welcome chooses wire version ", welcome.version(),
                                                   ": this node speaks ", RangeText(ours.lowest, ours.highest)));
  }
  if (welcome.resumed() != resumes) {
    return absl::InvalidArgumentError(resumes ? "the Welcome is for a new session: expected the old one"
                                              : "the Welcome resumes a session: expected a new one");
  }
  if (welcome.epoch() != frame.epoch() || welcome.epoch() >= kEpochEnd) {
    return absl::InvalidArgumentError(
        absl::StrCat("the Welcome has epoch ", welcome.epoch(), " in a frame of epoch ", frame.epoch()));
  }
  if (!resumes && welcome.epoch() < epoch_min) {
    return absl::InvalidArgumentError(
        absl::StrCat("the Welcome has epoch ", welcome.epoch(), ": expected at least ", epoch_min));
  }
  if (!resumes && welcome.key().size() != kSessionKeyBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the Welcome has a key of ", welcome.key().size(), " bytes: expected ", kSessionKeyBytes));
  }
  return resumes ? absl::OkStatus() : CheckTimes(welcome.times());
}

std::string RefuseFrame(const Refusal& refusal, const WireVersions& ours, NodeIncarnation incarnation,
                        absl::string_view proof) {
  FramePacker packer(0, 0);
  proto::Refuse& refuse = *packer.frame().mutable_refuse();
  refuse.set_reason(refusal.reason);
  refuse.set_detail(CutText(refusal.detail, limits::kMailboxNameBytesMax));
  refuse.set_version(ours.lowest);
  refuse.set_version_highest(ours.highest);
  refuse.set_proof(std::string(proof));
  refuse.set_incarnation(incarnation.bits);
  return packer.Encode();
}

}  // namespace understudy
