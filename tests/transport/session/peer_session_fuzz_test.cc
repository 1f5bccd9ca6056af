// Feeds a PeerSession arbitrary frames at arbitrary times. It does not crash, is no longer due after a bounded number
// of Ticks, keeps few streams, reserves no more memory than a frame needs, and its ledger balances.
//
// The input is a list of steps: a byte for the kind of step, a byte for the stream or for the time that passes, and for
// frames a length and that many bytes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/check.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/pid.h"
#include "understudy/proto/envelope.pb.h"
#include "understudy/tests/transport/hello.h"
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/session/handshake.h"
#include "understudy/transport/session/peer_session.h"
#include "understudy/transport/session/stream_identity.h"

namespace understudy {
namespace {

// Held, dialled, carrying, those of four offers, and those that wait for their last frame to be read.
constexpr size_t kStreamsMax = 16;
// A frame of the fuzzer has at most 255 bytes, a slot at least 2, and a vector that grows doubles its capacity.
constexpr size_t kMessagesReservedMax = 255;

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
  Fuzzed() : session_(Config()) {}

  void Do(Input& input) {
    const uint8_t what = input.Byte();
    const uint8_t which = input.Byte();
    const StreamIdentity identity = which % 2 == 0 ? StreamIdentity::Unproved() : StreamIdentity::SameUser();
    switch (what % 8) {
      case 0: {
        proto::Hello hello = HelloFrom("b", 2 + which % 3, "a", input.Byte());
        hello.set_resume_epoch(input.Byte() % 4);
        hello.set_to_incarnation(1);
        Open(hello, identity);
        break;
      }
      case 1: {
        const absl::StatusOr<proto::Frame> frame = DecodeHandshake(input.Text());
        if (frame.ok() && frame->has_hello() && frame->hello().from_node() == "b") Open(frame->hello(), identity);
        break;
      }
      case 2:
        if (const uint64_t stream = Pick(which); stream != 0) session_.OnStreamFrame(stream, input.Text(), now_);
        break;
      case 3:
        if (const uint64_t stream = Pick(which); stream != 0) {
          session_.OnStreamFrame(stream, HeartbeatFrame(1 + input.Byte() % 4), now_);
        }
        break;
      case 4:
        if (const uint64_t stream = Pick(which); stream != 0) session_.OnStreamWritten(stream, now_);
        break;
      case 5:
        if (const uint64_t stream = Pick(which); stream != 0) {
          streams_.erase(stream);
          session_.OnStreamClosed(stream, absl::UnavailableError("closed"), now_);
        }
        break;
      case 6:
        now_ = now_ + absl::Milliseconds(20 * int64_t{which});
        session_.Tick(now_);
        UNDERSTUDY_CHECK(session_.NextDeadline() > now_, "due for ever");
        break;
      default:
        if (which < 250) {
          session_.SetDialable(identity, now_);
        } else {
          session_.Leave("done", now_);
        }
        break;
    }
    Take();
  }

 private:
  static SessionConfig Config() {
    SessionConfig config;
    config.node = "a";
    config.peer = "b";
    config.incarnation = {1};
    config.peer_place = [](NodeIncarnation) { return 2; };
    config.new_key = KeysOf(1);
    return config;
  }
  void Open(const proto::Hello& hello, const StreamIdentity& identity) {
    streams_.insert(session_.OnAccepted(hello, identity, now_));
  }
  uint64_t Pick(uint8_t which) const {
    if (streams_.empty()) return 0;
    auto stream = streams_.begin();
    std::advance(stream, which % streams_.size());
    return *stream;
  }
  void Take() {
    size_t reserved = 0;
    for (const SessionAction& action : session_.TakeActions()) {
      if (const auto* dial = std::get_if<DialStream>(&action)) streams_.insert(dial->stream);
      if (const auto* close = std::get_if<CloseStream>(&action)) streams_.erase(close->stream);
      if (const auto* arrived = std::get_if<MessagesArrived>(&action)) reserved += arrived->messages.capacity();
    }
    UNDERSTUDY_CHECK(reserved <= kMessagesReservedMax, "room for ", reserved, " messages is reserved for one frame");
    UNDERSTUDY_CHECK(streams_.size() <= kStreamsMax, streams_.size(), " streams are open");
    UNDERSTUDY_CHECK(session_.ledger().balances(), "the ledger does not balance");
    UNDERSTUDY_CHECK(session_.is_live() || !session_.is_up(), "up without a session");
  }

  PeerSession session_;
  MonotonicTime now_ = MonotonicTime::FromNanos(1000000000);
  std::set<uint64_t> streams_;
};

}  // namespace
}  // namespace understudy

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  understudy::Input input(absl::string_view(reinterpret_cast<const char*>(data), size));
  understudy::Fuzzed fuzzed;
  while (!input.is_over()) fuzzed.Do(input);
  return 0;
}
