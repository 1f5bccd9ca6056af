// Writes the transcript of a session in which one node has this program's version of wallet.proto and the other node
// has the messages of the other version:
//
//   wallet_recorder client    // this version's is the client
//   wallet_recorder server
//
// Recordings are not made again when Understudy changes: that an old program's frames are still understood is the
// point.
#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/actor_spec.h"
#include "understudy/actors/check.h"
#include "understudy/actors/test_system.h"
#include "understudy/tests/transport/protocol/proto_pool.h"
#include "understudy/tests/transport/protocol/versions/customer.h"
#include "understudy/tests/transport/protocol/versions/purse.h"
#include "understudy/tests/transport/protocol/versions/transcript.h"
#include "understudy/tests/transport/protocol/versions/wallet_version.h"
#include "understudy/transport/session/frame_stream.h"
#include "understudy/transport/testing/simulated_cluster.h"

namespace wallet {
namespace {

using understudy::FrameStream;

constexpr absl::string_view kOtherVersion = "tests/transport/protocol/versions/new/wallet.proto";

void Print(absl::string_view from, absl::string_view frame) {
  printf("%s\n", absl::StrCat(from, " ", absl::BytesToHexString(frame)).c_str());
}

// The server's end of the stream.
class PrintingStream final : public FrameStream {
 public:
  explicit PrintingStream(std::unique_ptr<FrameStream> stream) : stream_(std::move(stream)) {}
  void Write(std::string frame) override {
    Print(kServer, frame);
    stream_->Write(std::move(frame));
  }
  void Close() override { stream_->Close(); }

 private:
  const std::unique_ptr<FrameStream> stream_;
};

// Prints the frames that come from the client.
class PrintingEvents final : public FrameStream::Events {
 public:
  void PassTo(FrameStream::Events* events) { events_ = events; }
  void OnFrame(std::string frame) override {
    Print(kClient, frame);
    events_->OnFrame(std::move(frame));
  }
  void OnWritten() override { events_->OnWritten(); }
  void OnClosed(absl::Status why) override { events_->OnClosed(std::move(why)); }

 private:
  FrameStream::Events* events_ = nullptr;
};

int Record(absl::string_view own) {
  std::ifstream file{std::string(kOtherVersion)};
  std::stringstream text;
  text << file.rdbuf();
  const understudy::ProtoPool other(text.str());
  PrintingEvents from_client;
  Receipt receipt;
  understudy::SimulatedCluster cluster(
      {.seed = 7,
       .nodes = {std::string(kServer), std::string(kClient)},
       .one_dials = true,
       .messages = [&](absl::string_view node) { return node == own ? nullptr : other.get(); }});
  cluster.network().Listen(kServer, [&](std::unique_ptr<FrameStream> stream, const auto& identity) {
    from_client.PassTo(cluster.core(kServer).Accept(std::make_unique<PrintingStream>(std::move(stream)), identity));
    return &from_client;
  });
  cluster.system(kServer).Spawn<Purse>(understudy::SpawnOptions{.published_as = std::string(kName)});
  cluster.system(kClient).Spawn<Customer>(&receipt);
  UNDERSTUDY_CHECK(cluster.RunUntil([&] { return receipt.balances.size() == 4 && receipt.end.ok(); }, absl::Minutes(1)),
                   "the customer ended with ", receipt.end.ToString());
  cluster.RunFor(absl::Milliseconds(10));
  return 0;
}

}  // namespace
}  // namespace wallet

int main(int argc, char** argv) {
  if (argc == 2 && (argv[1] == wallet::kClient || argv[1] == wallet::kServer)) {
    return wallet::Record(argv[1]);
  }
  fprintf(stderr, "usage: wallet_recorder client|server\n");
  return 2;
}
