// Recorded frames of a program with the old version of wallet.proto, as client and as server, are replayed to a node of
// a program with the new version. wallet_recorder wrote old_client.frames and old_server.frames.
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor_spec.h"
#include "understudy/actors/message.h"
#include "understudy/actors/test_system.h"
#include "understudy/proto/envelope.pb.h"
#include "understudy/proto/names.pb.h"
#include "understudy/tests/transport/protocol/versions/customer.h"
#include "understudy/tests/transport/protocol/versions/purse.h"
#include "understudy/tests/transport/protocol/versions/transcript.h"
#include "understudy/tests/transport/protocol/versions/wallet_version.h"
#include "understudy/transport/session/frame_stream.h"
#include "understudy/transport/testing/simulated_cluster.h"

namespace wallet {
namespace {

using testing::ElementsAre;
using testing::SizeIs;
using understudy::FrameStream;
namespace proto = understudy::proto;

Transcript Read(const std::string& name) {
  Transcript transcript;
  std::ifstream file("tests/transport/protocol/versions/" + name);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::vector<std::string> parts = absl::StrSplit(line, ' ');
    transcript.push_back({.from = parts.at(0), .bytes = absl::HexStringToBytes(parts.at(1))});
  }
  return transcript;
}

// The frames that one end of a stream has written so far.
struct Written {
  int frames = 0;
  uint64_t last_slot = 0;
  uint64_t incarnation = 0;
  proto::Address actor;  // the one that it published, or from which its first message came
  std::vector<proto::Envelope> envelopes;
  int descriptions = 0;  // of messages, and requests of them, because fingerprints differ

  void Add(const std::string& bytes) {
    proto::Frame frame;
    ASSERT_TRUE(frame.ParseFromString(bytes));
    ++frames;
    if (frame.has_hello()) incarnation = frame.hello().incarnation();
    if (frame.has_welcome()) incarnation = frame.welcome().incarnation();
    if (frame.slots_size() > 0) last_slot = frame.first_number() + static_cast<uint64_t>(frame.slots_size()) - 1;
    for (const proto::Slot& slot : frame.slots()) {
      ASSERT_FALSE(slot.continues() || slot.part_of() != 0);
      proto::Envelope& envelope = envelopes.emplace_back();
      ASSERT_TRUE(envelope.ParseFromString(slot.body()));
      proto::NameChanges names;
      ASSERT_TRUE(names.ParseFromString(envelope.names()));
      descriptions += names.descriptions_size() + names.description_requests_size();
      if (actor.serial() != 0) continue;
      for (const proto::NameChange& change : names.changes()) {
        actor.set_incarnation(incarnation);
        actor.set_cell(change.claim().cell());
        actor.set_serial(change.claim().serial());
      }
      if (envelope.has_message()) actor = envelope.message().from();
    }
  }
};

// Writes the frames of one end of a transcript into a stream, each when the other end has written the slots that it
// acknowledges. The other end's recorded addresses are replaced by its addresses in this run.
class Player final : public FrameStream::Events {
 public:
  Player(const Transcript& transcript, absl::string_view own) : answers_(own == kServer) {
    for (const RecordedFrame& frame : transcript) {
      if (frame.from == own) {
        frames_.push_back(frame.bytes);
      } else {
        recorded_.Add(frame.bytes);
      }
    }
  }

  void Begin(std::unique_ptr<FrameStream> stream) { stream_ = std::move(stream); }
  void OnFrame(std::string frame) override { peer_.Add(frame); }
  void OnWritten() override { is_writing_ = false; }
  void OnClosed(absl::Status why) override { closed_ = std::move(why); }

  // Writes the next frame if its time has come. Returns whether all are written.
  bool Play() {
    if (stream_ == nullptr || is_writing_ || next_ == frames_.size()) return next_ == frames_.size();
    proto::Frame frame;
    EXPECT_TRUE(frame.ParseFromString(frames_[next_]));
    // A Welcome answers a Hello, and the client's second frame accepts the Welcome.
    const int before = answers_ ? (next_ == 0 ? 1 : 2) : (next_ == 0 ? 0 : 1);
    if (peer_.frames < before || peer_.last_slot < frame.acknowledged()) return false;
    for (proto::Slot& slot : *frame.mutable_slots()) {
      proto::Envelope envelope;
      EXPECT_TRUE(envelope.ParseFromString(slot.body()));
      Readdress(envelope);
      slot.set_body(envelope.SerializeAsString());
    }
    is_writing_ = true;
    ++next_;
    stream_->Write(frame.SerializeAsString());
    return next_ == frames_.size();
  }
  const Written& peer() const { return peer_; }
  const absl::Status& closed() const { return closed_; }
  std::string Progress() const {
    return absl::StrCat(next_, " of ", frames_.size(), " frames are written; the other end has written ", peer_.frames,
                        " frames and ", peer_.last_slot, " slots; ", closed_.ToString());
  }

 private:
  void Readdress(proto::Envelope& envelope) {
    if (envelope.has_message()) Readdress(*envelope.mutable_message());
    if (envelope.has_signal()) Readdress(*envelope.mutable_signal());
    if (envelope.has_refused()) Readdress(*envelope.mutable_refused());
    if (!envelope.has_credits()) return;
    for (proto::Credit& credit : *envelope.mutable_credits()->mutable_credits()) Replace(*credit.mutable_to());
  }
  template <class M>
  void Readdress(M& message) {
    Replace(*message.mutable_from());
    Replace(*message.mutable_to());
  }
  void Replace(proto::Address& address) {
    if (address.incarnation() != recorded_.incarnation) return;
    EXPECT_EQ(address.cell(), recorded_.actor.cell());
    EXPECT_EQ(address.serial(), recorded_.actor.serial());
    address = peer_.actor;
  }

  const bool answers_;
  std::vector<std::string> frames_;
  Written recorded_;  // by the other end, when this was recorded
  Written peer_;      // by the other end
  std::unique_ptr<FrameStream> stream_;
  bool is_writing_ = false;
  size_t next_ = 0;
  absl::Status closed_;
};

// The signals of that kind which the end wrote.
std::vector<proto::Signal> SignalsOf(const Written& written, understudy::SignalKind kind) {
  std::vector<proto::Signal> signals;
  for (const proto::Envelope& envelope : written.envelopes) {
    if (envelope.has_signal() && envelope.signal().kind() == static_cast<int>(kind)) {
      signals.push_back(envelope.signal());
    }
  }
  return signals;
}

TEST(RecordedWalletTest, AnOldClientUsesTheActorOfANewNode) {
  Player client(Read("old_client.frames"), kClient);
  understudy::SimulatedCluster cluster({.seed = 1, .nodes = {std::string(kServer)}});
  const WalletRef wallet =
      cluster.system(kServer).Spawn<Purse>(understudy::SpawnOptions{.published_as = std::string(kName)});
  client.Begin(cluster.network().DialerFor(kClient)->Dial(kServer, kServer, &client));
  EXPECT_TRUE(cluster.RunUntil([&] { return client.Play(); }, absl::Minutes(1))) << client.Progress();
  cluster.RunFor(absl::Milliseconds(50));

  // Both payments arrived; fields that the old client does not know are empty.
  absl::StatusOr<PayReply> balance = cluster.system(kServer).Ask(wallet.pay(), PayRequest(), absl::Seconds(1));
  ASSERT_TRUE(balance.ok()) << balance.status();
  EXPECT_EQ(balance->balance(), 500);
  // The ask was answered, with a field that the old client ignores, and the stream had its items and its end.
  const std::vector<proto::Signal> replies = SignalsOf(client.peer(), understudy::SignalKind::kReply);
  ASSERT_THAT(replies, SizeIs(2));
  PayReply reply;
  EXPECT_TRUE(reply.ParseFromString(replies[0].payload()));
  EXPECT_EQ(reply.balance(), 500);
  EXPECT_EQ(reply.coupons_size(), 1);
  EXPECT_EQ(replies[1].status().code(), 0);
  EXPECT_THAT(SignalsOf(client.peer(), understudy::SignalKind::kItem), SizeIs(3));
  EXPECT_EQ(client.peer().descriptions, 1) << "the old client asks what the messages are";
  EXPECT_TRUE(client.closed().ok()) << client.Progress();
}

TEST(RecordedWalletTest, ANewClientUsesTheActorOfAnOldNode) {
  Player server(Read("old_server.frames"), kServer);
  Receipt receipt;
  understudy::SimulatedCluster cluster({.seed = 1, .nodes = {std::string(kClient)}});
  cluster.network().Listen(kServer, [&](std::unique_ptr<FrameStream> stream, const auto&) {
    server.Begin(std::move(stream));
    return &server;
  });
  ASSERT_TRUE(cluster.core(kClient).SetPeer(std::string(kServer), std::string(kServer)).ok());
  cluster.system(kClient).Spawn<Customer>(&receipt);
  EXPECT_TRUE(cluster.RunUntil([&] { return server.Play(); }, absl::Minutes(1))) << server.Progress();
  cluster.RunFor(absl::Milliseconds(50));
  EXPECT_TRUE(receipt.end.ok()) << receipt.end;
  EXPECT_THAT(receipt.balances, ElementsAre(500, 500, 500, 500));
  EXPECT_EQ(server.peer().descriptions, 1) << "the new client asks what the messages are";
}

}  // namespace
}  // namespace wallet
