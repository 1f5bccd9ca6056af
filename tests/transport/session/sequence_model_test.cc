// Every history of one direction of a session within small bounds: envelopes of several senders, one of them in parts,
// on streams that break and whose frames come twice, too early, or late from a stream that has been replaced. Each
// envelope arrives once, whole and in its sender's order, and when both ends are quiet neither keeps an envelope.
#include <malloc.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/fault_point.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/message.h"
#include "understudy/proto/envelope.pb.h"
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/session/reliable_sequence.h"
#include "understudy/transport/session/send_queues.h"

namespace understudy {
namespace {

// The envelopes that are appended, in this order, at any time. The name of an envelope is its first byte.
struct Planned {
  char name;
  uint64_t sender;
  size_t bytes;
  bool names_mailbox;
};
constexpr Planned kPlan[] = {
    {'L', 1, limits::kSlotBytesMax + 500, true}, {'a', 1, 10, true}, {'b', 2, 10, true}, {'n', 0, 10, false}};
constexpr size_t kFramesOnTheirWayMax = 3;

// The faults, and how often each may happen.
struct Budget {
  int breaks = 0;   // the stream is lost, with what is on its way
  int repeats = 0;  // the next frame comes twice
  int early = 0;    // the frame behind the next one comes before it, and again in its turn
  int late = 0;     // a frame of a stream that was lost comes
};

enum class Step : uint8_t { kAppend, kWrite, kArrive, kAcknowledge, kAcknowledgeOne, kBreak, kRepeat, kEarly, kLate };

// A sender and a receiver, and the stream between them.
class World {
 public:
  explicit World(const Budget& budget) : left_(budget) {}

  const std::string& wrong() const { return wrong_; }

  std::vector<Step> Steps() const {
    std::vector<Step> steps;
    const auto may = [&](bool is_possible, Step step) {
      if (is_possible) steps.push_back(step);
    };
    may(appended_ < std::size(kPlan), Step::kAppend);
    may(sender_.has_unsent() && wire_.size() < kFramesOnTheirWayMax, Step::kWrite);
    may(!wire_.empty(), Step::kArrive);
    may(receiver_.received() > sender_.acknowledged(), Step::kAcknowledge);
    may(receiver_.received() > sender_.acknowledged() + 1, Step::kAcknowledgeOne);
    may(left_.breaks > 0, Step::kBreak);
    may(left_.repeats > 0 && !wire_.empty(), Step::kRepeat);
    may(left_.early > 0 && wire_.size() > 1, Step::kEarly);
    may(left_.late > 0 && !late_.empty(), Step::kLate);
    return steps;
  }

  void Do(Step step) {
    switch (step) {
      case Step::kAppend:
        Append();
        break;
      case Step::kWrite:
        Write();
        break;
      case Step::kRepeat:
        --left_.repeats;
        Arrive(wire_.front(), Frame::kNext);
        break;
      case Step::kArrive: {
        const std::string frame = std::move(wire_.front());
        wire_.pop_front();
        Arrive(frame, Frame::kNext);
        break;
      }
      case Step::kEarly:
        --left_.early;
        Arrive(wire_[1], Frame::kEarly);
        break;
      case Step::kLate: {
        --left_.late;
        const std::string frame = std::move(late_.front());
        late_.pop_front();
        Arrive(frame, Frame::kLate);
        break;
      }
      case Step::kAcknowledge:
        Acknowledge(receiver_.received());
        break;
      case Step::kAcknowledgeOne:
        Acknowledge(sender_.acknowledged() + 1);
        break;
      case Step::kBreak:
        --left_.breaks;
        if (left_.late > 0) late_.insert(late_.end(), wire_.begin(), wire_.end());
        wire_.clear();
        defined_out_.clear();
        defined_in_.clear();
        sender_.Rewind();
        break;
    }
    CheckLedger();
  }

  // Nothing goes wrong any more.
  void Settle() {
    while (wrong_.empty() && (!wire_.empty() || sender_.has_unsent())) {
      Do(wire_.empty() ? Step::kWrite : Step::kArrive);
    }
    if (wrong_.empty() && receiver_.received() > sender_.acknowledged()) Do(Step::kAcknowledge);
    if (wrong_.empty() && (arrived_.size() != appended_ || !sender_.all_acknowledged())) {
      wrong_ = absl::StrCat(arrived_.size(), " of ", appended_, " arrived in the end");
    }
  }

  std::string Fingerprint() const {
    std::string text =
        absl::StrCat(sender_.DebugString(), "\n", receiver_.DebugString(), "\n", appended_, " ", arrived_, " ",
                     left_.breaks, left_.repeats, left_.early, left_.late, defined_out_.size(), defined_in_.size());
    for (const auto* frames : {&wire_, &late_}) {
      absl::StrAppend(&text, "\n");
      for (const std::string& frame : *frames) absl::StrAppend(&text, " ", std::hash<std::string>()(frame));
    }
    return text;
  }

 private:
  enum class Frame : uint8_t { kNext, kEarly, kLate };

  static std::string BytesOf(const Planned& planned) {
    std::string bytes(planned.bytes, '.');
    bytes.front() = planned.name;
    bytes.back() = '$';
    return bytes;
  }

  void Append() {
    const Planned& next = kPlan[appended_++];
    OutboundEnvelope envelope{.bytes = BytesOf(next), .sender = next.sender};
    if (next.names_mailbox) envelope.mailbox = internal::MailboxNames::Intern("sequence_model/box");
    if (!sender_.Append(std::move(envelope)).ok()) wrong_ = "an envelope is refused";
  }
  void Write() {
    FramePacker packer(1, 0);
    sender_.Fill(packer, defined_out_, MonotonicTime());
    if (!packer.has_slots()) wrong_ = "what is unsent is not written";
    wire_.push_back(packer.Encode());
  }
  void Acknowledge(uint64_t number) {
    if (!sender_.Acknowledge(number).ok()) wrong_ = "an acknowledgement is refused";
  }

  // A frame that is not the next of its stream either brings nothing new or is an error at its first new slot, and
  // nothing of it is taken.
  void Arrive(const std::string& bytes, Frame which) {
    const absl::StatusOr<proto::Frame> frame = DecodeFrame(bytes);
    ASSERT_TRUE(frame.ok()) << frame.status();
    if (which == Frame::kNext) {
      for (const proto::MailboxDefinition& definition : frame->definitions()) defined_in_.insert(definition.hash());
    }
    uint64_t number = frame->first_number();
    for (const proto::Slot& slot : frame->slots()) {
      const uint64_t before = receiver_.received();
      const auto arrived =
          receiver_.Receive(number, {.body = slot.body(), .part_of = slot.part_of(), .continues = slot.continues()});
      if (!arrived.ok()) {
        if (which == Frame::kNext) wrong_ = absl::StrCat("the next frame is refused: ", arrived.status().message());
        if (number == before + 1 || receiver_.received() != before) wrong_ = "a slot is refused in its turn, or taken";
        return;
      }
      if (arrived->has_value()) Take((*arrived)->bytes, which);
      ++number;
    }
  }
  void Take(absl::string_view bytes, Frame which) {
    const auto planned =
        std::find_if(std::begin(kPlan), std::end(kPlan), [&](const Planned& p) { return p.name == bytes[0]; });
    if (planned == std::end(kPlan) || bytes != BytesOf(*planned)) {
      wrong_ = "an envelope arrives that was not sent so";
      return;
    }
    if (absl::StrContains(arrived_, bytes.substr(0, 1))) wrong_ = absl::StrCat(bytes.substr(0, 1), " arrives twice");
    for (const Planned* later = planned + 1; later != std::end(kPlan); ++later) {
      if (later->sender == planned->sender && absl::StrContains(arrived_, std::string(1, later->name))) {
        wrong_ = absl::StrCat(bytes.substr(0, 1), " arrives after what its sender sent later");
      }
    }
    if (which == Frame::kNext && planned->names_mailbox && defined_in_.empty()) wrong_ = "a mailbox is not defined";
    arrived_ += bytes[0];
  }
  void CheckLedger() {
    const SessionLedger& ledger = sender_.ledger();
    if (!ledger.balances() || ledger.accepted != static_cast<int64_t>(appended_))
      wrong_ = "the ledger does not balance";
    if ((ledger.waiting == 0) != (sender_.bytes_waiting() == 0)) wrong_ = "bytes are kept for nothing, or not kept";
    if (ledger.acknowledged > static_cast<int64_t>(arrived_.size())) wrong_ = "what did not arrive is acknowledged";
  }

  ReliableSequence sender_{{}};
  ReliableSequence receiver_{{}};
  Budget left_;
  size_t appended_ = 0;
  std::string arrived_;           // the names, in order
  std::deque<std::string> wire_;  // frames of the stream
  std::deque<std::string> late_;  // frames of streams that were lost
  std::set<uint32_t> defined_out_;
  std::set<uint32_t> defined_in_;
  std::string wrong_;
};

struct Result {
  size_t states = 0;
  std::string wrong;
};

// Breadth first over all worlds with different fingerprints. A world cannot be copied, so each is made again from its
// steps.
Result Explore(const Budget& budget) {
  // Each world has some 200 KB and is soon gone: most of the time would go to giving them back to the kernel.
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
  mallopt(M_MMAP_THRESHOLD, 64 << 20);
  using Path = std::vector<Step>;
  std::deque<Path> paths = {{}};
  std::unordered_set<std::string> seen;
  const auto replay = [&](const Path& path) {
    auto world = std::make_unique<World>(budget);
    for (const Step step : path) world->Do(step);
    return world;
  };
  while (!paths.empty()) {
    const Path path = std::move(paths.front());
    paths.pop_front();
    const std::unique_ptr<World> world = replay(path);
    std::string wrong = world->wrong();
    const std::vector<Step> steps = world->Steps();
    if (wrong.empty()) {
      if (!seen.insert(world->Fingerprint()).second) continue;
      world->Settle();
      wrong = world->wrong();
    }
    if (!wrong.empty()) {
      const auto number = [](std::string* out, Step step) { absl::StrAppend(out, static_cast<int>(step)); };
      return {.states = seen.size(), .wrong = absl::StrCat(wrong, " after ", absl::StrJoin(path, ",", number))};
    }
    for (const Step step : steps) {
      Path longer = path;
      longer.push_back(step);
      paths.push_back(std::move(longer));
    }
  }
  return {.states = seen.size()};
}

struct Bounds {
  const char* name;
  Budget budget;
  size_t states;
};
constexpr Bounds kBounds[] = {
    {"breaks", {.breaks = 2}, 1525},
    {"breaks and repeats", {.breaks = 1, .repeats = 1}, 2125},
    {"breaks and frames too early", {.breaks = 1, .early = 1}, 1675},
    {"frames of streams that were lost", {.breaks = 1, .late = 2}, 3085},
};

TEST(SequenceModel, EachEnvelopeArrivesOnceWholeAndInItsSendersOrder) {
  for (const Bounds& bounds : kBounds) {
    const Result result = Explore(bounds.budget);
    EXPECT_EQ(result.wrong, "") << bounds.name;
    // Fewer may mean that something which should happen does not happen any more.
    EXPECT_EQ(result.states, bounds.states) << bounds.name;
  }
}

class SequenceModelWithoutARule : public ::testing::TestWithParam<const char*> {};

TEST_P(SequenceModelWithoutARule, IsFound) {
  FaultPoint::Scope broken(GetParam());
  std::string wrong;
  for (const Bounds& bounds : kBounds) {
    if (wrong.empty()) wrong = Explore(bounds.budget).wrong;
  }
  EXPECT_NE(wrong, "");
  printf("%s\n", wrong.c_str());
}

INSTANTIATE_TEST_SUITE_P(Rules, SequenceModelWithoutARule,
                         ::testing::Values("session_forgets_one_unacknowledged", "sequence_takes_repeats",
                                           "sequence_takes_gaps"),
                         [](const auto& rule) { return std::string(rule.param); });

}  // namespace
}  // namespace understudy
