// Tests of nodes whose .proto files differ: the result of a lookup, and how messages are still read.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_spec.h"
#include "understudy/actors/channel.h"
#include "understudy/actors/context.h"
#include "understudy/actors/error.h"
#include "understudy/actors/mailbox_signature.h"
#include "understudy/actors/message.h"
#include "understudy/actors/ref.h"
#include "understudy/actors/registry.h"
#include "understudy/actors/task.h"
#include "understudy/proto/envelope.pb.h"
#include "understudy/proto/names.pb.h"
#include "understudy/tests/transport/cluster_test.h"
#include "understudy/tests/transport/hello.h"
#include "understudy/tests/transport/protocol/proto_pool.h"
#include "understudy/tests/transport/puppet.h"
#include "understudy/tests/transport/puppet.pb.h"
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/session/frame_stream.h"
#include "understudy/transport/session/handshake.h"
#include "understudy/transport/testing/simulated_cluster.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class PuppetRef : public Ref<Puppet> {
 public:
  using Ref<Puppet>::Ref;
  explicit PuppetRef(Ref<Puppet> ref) : Ref<Puppet>(ref.pid()) {}
  static std::vector<MailboxSignature> Mailboxes() {
    return {SignatureOf(&Puppet::note), SignatureOf(&Puppet::closed), SignatureOf(&Puppet::ask)};
  }
};
// Uses only a mailbox whose messages are the same on both nodes.
class NotesRef : public Ref<Puppet> {
 public:
  using Ref<Puppet>::Ref;
  static std::vector<MailboxSignature> Mailboxes() { return {SignatureOf(&Puppet::note)}; }
};

// The results of a client that looks a puppet up and asks it.
struct Learned {
  absl::Status looked_up = absl::UnknownError("not yet");
  absl::StatusOr<net_testing::Answer> answer = absl::UnknownError("not yet");
};

template <class R>
class Client final : public Actor {
 public:
  Client(std::string name, std::shared_ptr<Learned> learned) : name_(std::move(name)), learned_(std::move(learned)) {}

 private:
  StartResult Start() override { return Run(); }
  Task<> Run() {
    auto lookup = context().template Lookup<R>(name_, absl::Seconds(5));
    absl::StatusOr<R> puppet = co_await lookup;
    learned_->looked_up = puppet.status();
    if (!puppet.ok()) co_return;
    auto asked = (*puppet)[&Puppet::ask].Ask(NoteOf(41), absl::Seconds(5));
    learned_->answer = co_await asked;
  }

  const std::string name_;
  const std::shared_ptr<Learned> learned_;
};

class NodeProtocolsTest : public ClusterTest {
 protected:
  // Node a has the messages of puppet.proto, and node b these.
  void JoinWith(absl::string_view messages) {
    pool_ = std::make_unique<ProtoPool>(absl::StrCat("syntax = 'proto3'; package understudy.net_testing; ", messages));
    Join({.messages = [pool = pool_->get()](absl::string_view node) { return node == "b" ? pool : nullptr; }});
  }
  template <class R = PuppetRef>
  Learned LookUp(absl::string_view node, absl::string_view name) {
    auto learned = std::make_shared<Learned>();
    cluster().system(node).Spawn<Client<R>>(std::string(name), learned);
    Run(absl::Seconds(6));
    return *learned;
  }

  std::unique_ptr<ProtoPool> pool_;
};

// semantics 8.5
TEST_F(NodeProtocolsTest, ALookupSaysMailboxByMailboxWhatDiffers) {
  JoinWith("message Note { string number = 1; int64 text = 2; } message Answer { int64 number = 1; }");
  Make("b", "puppet");
  EXPECT_EQ(
      LookUp("a", "puppet").looked_up,
      absl::FailedPreconditionError("mailbox puppet/note differs on the actor's node (was: here, is: there): field "
                                    "understudy.net_testing.Note.number, number 1, was int64 and is string; field "
                                    "understudy.net_testing.Note.text, number 2, was bytes and is int64; "
                                    "mailbox puppet/closed differs on the actor's node (was: here, is: there): field "
                                    "understudy.net_testing.Note.number, number 1, was int64 and is string; field "
                                    "understudy.net_testing.Note.text, number 2, was bytes and is int64; "
                                    "mailbox puppet/ask differs on the actor's node (was: here, is: there): field "
                                    "understudy.net_testing.Note.number, number 1, was int64 and is string; field "
                                    "understudy.net_testing.Note.text, number 2, was bytes and is int64"));
}

TEST_F(NodeProtocolsTest, ALookupComparesOnlyTheMailboxesThatTheRefUses) {
  JoinWith("message Note { int64 number = 1; bytes text = 2; } message Answer { string number = 1; }");
  Make("b", "puppet");
  EXPECT_THAT(LookUp("a", "puppet").looked_up.message(),
              HasSubstr("mailbox puppet/ask differs on the actor's node (was: here, is: there): field "
                        "understudy.net_testing.Answer.number, number 1, was int64 and is string"));
  EXPECT_TRUE(LookUp<NotesRef>("a", "puppet").looked_up.ok());
}

// An old client and a new node, and the reverse: whichever of the two has the new field.
TEST_F(NodeProtocolsTest, NodesOfWhichOneHasANewFieldUseEachOthersActors) {
  JoinWith(
      "message Note { int64 number = 1; bytes text = 2; Mood mood = 3; } enum Mood { CALM = 0; } "
      "message Answer { int64 number = 1; repeated string why = 2; }");
  Make("a", "old puppet");
  Make("b", "new puppet");
  for (const auto& [client, name] : {std::pair("a", "new puppet"), std::pair("b", "old puppet")}) {
    const Learned learned = LookUp(client, name);
    EXPECT_TRUE(learned.looked_up.ok()) << learned.looked_up;
    ASSERT_TRUE(learned.answer.ok()) << learned.answer.status();
    EXPECT_EQ(learned.answer->number(), 42);
  }
}

// A request is read by the server and a reply by the client, so of two nodes one may use the other and not the reverse.
TEST_F(NodeProtocolsTest, ANodeMayUseTheActorsOfAnotherThatMayNotUseItsOwn) {
  JoinWith("message Note { int64 number = 1; bytes text = 2; } message Answer { int32 number = 1; }");
  Make("a", "wide puppet");
  Make("b", "narrow puppet");
  EXPECT_TRUE(LookUp("a", "narrow puppet").looked_up.ok());
  EXPECT_THAT(LookUp("b", "wide puppet").looked_up.message(), HasSubstr("was int32 and is int64"));
}

// The frames that a visitor is sent who begins a session with these features: the fingerprints that they have.
std::vector<bool> FingerprintsSentTo(SimulatedCluster& cluster, Visitor& visitor, uint64_t features) {
  const auto stream = cluster.network().DialerFor("stranger")->Dial("a", "a", &visitor);
  proto::Hello hello = HelloFrom("stranger", 7, "a");
  hello.set_features(features);
  stream->Write(FrameOf(hello));
  cluster.RunFor(absl::Milliseconds(50));
  proto::Frame welcome;
  if (visitor.frames.empty() || !welcome.ParseFromString(visitor.frames.back())) return {};
  stream->Write(HeartbeatFrame(welcome.welcome().epoch()));
  cluster.RunFor(absl::Milliseconds(500));
  std::vector<bool> fingerprints;
  for (const std::string& bytes : visitor.frames) {
    proto::Frame frame;
    if (!frame.ParseFromString(bytes)) continue;
    for (const proto::Slot& slot : frame.slots()) {
      proto::Envelope envelope;
      proto::NameChanges changes;
      if (!envelope.ParseFromString(slot.body()) || !changes.ParseFromString(envelope.names())) continue;
      for (const proto::SignatureSet& set : changes.definitions()) {
        for (const proto::MailboxSignature& mailbox : set.mailboxes()) {
          if (mailbox.name() == "puppet/note") fingerprints.push_back(mailbox.fingerprint() != 0);
        }
      }
    }
  }
  return fingerprints;
}

TEST_F(NodeProtocolsTest, ANodeWithTheFeatureIsSentFingerprints) {
  Join();
  Make("a", "puppet");
  EXPECT_THAT(FingerprintsSentTo(cluster(), visitor_, kFeatureFingerprints), ElementsAre(true));
}

TEST_F(NodeProtocolsTest, ANodeWithoutTheFeatureIsSentNoFingerprints) {
  Join();
  Make("a", "puppet");
  EXPECT_THAT(FingerprintsSentTo(cluster(), visitor_, 0), ElementsAre(false));
}

}  // namespace
}  // namespace understudy
