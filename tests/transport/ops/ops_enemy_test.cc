// Tests of hostile clients of the operator's service, which open connections, send invalid data or do not read.
#include <fcntl.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/channel_arguments.h>
#include <grpcpp/support/slice.h>
#include <grpcpp/support/status.h>
#include <grpcpp/support/sync_stream.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/clock.h"
#include "understudy/proto/ops.grpc.pb.h"
#include "understudy/proto/ops.pb.h"
#include "understudy/tests/transport/ops/ops_client.h"
#include "understudy/tests/transport/socket_path.h"
#include "understudy/transport/credentials.h"
#include "understudy/transport/node.h"
#include "understudy/transport/ops/ops_limits.h"
#include "understudy/transport/ops/ops_server.h"

namespace understudy {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::SizeIs;

using OpsEnemyTest = OpsClientTest;

// A connection that does not speak gRPC. -1 if it cannot be made.
int RawConnection() {
  const int raw = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un address = SocketAddress();
  if (connect(raw, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return raw;
  close(raw);
  return -1;
}

// True if the other end closes the connection in time. Bytes that come before are thrown away.
bool IsClosed(int raw) {
  const MonotonicTime until = Clock::Real().Now() + kWithin;
  while (Clock::Real().Now() < until) {
    pollfd polled = {.fd = raw, .events = POLLIN, .revents = 0};
    if (poll(&polled, 1, 1000) <= 0) continue;
    char bytes[4096];
    if (read(raw, bytes, sizeof(bytes)) <= 0) return true;
  }
  return false;
}

TEST_F(OpsEnemyTest, AConnectionOfAnotherUserIsClosedAndLogged) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  StartOps();
  ASSERT_EQ(chmod(SocketPath().c_str(), 0666), 0);  // else the file system refuses
  constexpr unsigned kNobody = 65534;
  const sockaddr_un address = SocketAddress();
  const pid_t child = fork();
  if (child == 0) {
    // Only async-signal-safe functions: the parent has threads. 3: this process cannot change its user.
    if (syscall(SYS_setresuid, kNobody, kNobody, kNobody) != 0) _exit(3);
    const int raw = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connect(raw, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) _exit(2);
    char byte = 0;
    _exit(read(raw, &byte, 1) <= 0 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (WEXITSTATUS(status) == 3) GTEST_SKIP() << "this process may not change its user";
  EXPECT_EQ(status, 0) << "exit status " << WEXITSTATUS(status);
  EXPECT_TRUE(Await([&] { return !log_.lines().empty(); }));
  EXPECT_THAT(log_.lines(), Contains(HasSubstr("refused a connection: the peer runs as user 65534")));
  EXPECT_TRUE(GetNode(*stub_).ok());
}

// The same test without a second user: the service is for another uid than that of this process.
TEST_F(OpsEnemyTest, AConnectionOfAUserThatTheServiceIsNotForIsClosedAndTold) {
  absl::Mutex mu;
  std::vector<std::string> told;
  const absl::StatusOr<std::unique_ptr<internal::OpsServer>> server = internal::OpsServer::Start(
      {.address = {.reach = NodeAddress::Reach::kUnixSocket, .path = SocketPath()}, .uid = geteuid() + 1}, {},
      [&](absl::string_view what) {
        const absl::MutexLock lock(&mu);
        told.emplace_back(what);
      });
  ASSERT_TRUE(server.ok()) << server.status();
  const int raw = RawConnection();
  ASSERT_GE(raw, 0);
  EXPECT_TRUE(IsClosed(raw));
  close(raw);
  EXPECT_TRUE(Await([&] {
    const absl::MutexLock lock(&mu);
    return !told.empty();
  }));
  const absl::MutexLock lock(&mu);
  EXPECT_THAT(told, Contains(HasSubstr(absl::StrCat("refused a connection: the peer runs as user ", geteuid()))));
}

TEST_F(OpsEnemyTest, FurtherConnectionsAreClosedUntilAnotherEnds) {
  StartOps();
  std::vector<std::unique_ptr<Stub>> stubs;
  for (size_t i = 0; i < limits::kOpsConnectionsMax; ++i) {
    stubs.push_back(NewStub());
    ASSERT_TRUE(GetNode(*stubs.back()).ok());
  }
  const int one_more = RawConnection();
  ASSERT_GE(one_more, 0);
  EXPECT_TRUE(IsClosed(one_more));
  close(one_more);
  EXPECT_TRUE(Await([&] { return !log_.lines().empty(); }));
  EXPECT_THAT(log_.lines(), Contains(HasSubstr("refused a connection: there are 16 already")));
  EXPECT_TRUE(GetNode(*stubs[0]).ok());
  stubs.pop_back();
  ExpectServed();
}

TEST_F(OpsEnemyTest, AConnectionThatDoesNotSpeakGrpcIsClosedAndFreesItsPlace) {
  StartOps();
  for (size_t i = 0; i < 2 * limits::kOpsConnectionsMax; ++i) {
    const int raw = RawConnection();
    ASSERT_GE(raw, 0);
    const absl::string_view text = i % 2 == 0 ? "GET / HTTP/1.1\r\n\r\n" : "\xff\xff\xff\xff not HTTP at all";
    EXPECT_EQ(write(raw, text.data(), text.size()), static_cast<ssize_t>(text.size()));
    EXPECT_TRUE(IsClosed(raw)) << i;
    close(raw);
  }
  ExpectServed();
}

TEST_F(OpsEnemyTest, ConnectionsThatSayNothingGiveTheirPlacesBack) {
  StartOps();
  std::vector<int> silent;
  for (size_t i = 0; i < limits::kOpsConnectionsMax; ++i) silent.push_back(RawConnection());
  ExpectServed();
  for (const int raw : silent) {
    EXPECT_TRUE(IsClosed(raw));
    close(raw);
  }
}

TEST_F(OpsEnemyTest, ClientsThatDieInTheMiddleFreeTheirPlaces) {
  StartOps();
  StartTree();
  const sockaddr_un address = SocketAddress();
  for (size_t i = 0; i < 3 * limits::kOpsConnectionsMax; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      const int raw = socket(AF_UNIX, SOCK_STREAM, 0);
      if (connect(raw, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) _exit(2);
      // The preface, settings, and a frame of headers that is cut off.
      constexpr char kBegin[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0\0\0\100\1\4\0\0\0\1\203";
      (void)!write(raw, kBegin, sizeof(kBegin) - 1);
      (void)kill(getpid(), SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);
  }
  ExpectServed();
  // Followers that go without a word.
  for (int i = 0; i < 20; ++i) {
    const std::unique_ptr<Stub> follower = NewStub();
    grpc::ClientContext context;
    const auto events = follower->FollowEvents(&context, proto::FollowRequest());
    proto::EventEntry event;
    EXPECT_TRUE(events->Read(&event));
    context.TryCancel();
  }
  ExpectServed();
}

TEST_F(OpsEnemyTest, WithoutDescriptorsItServesThoseThatAreConnectedAndLaterTheOthers) {
  StartOps();
  ASSERT_TRUE(GetNode(*stub_).ok());
  const int waiting = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  std::vector<int> taken;
  const int highest = open("/dev/null", O_RDONLY | O_CLOEXEC);
  rlimit few = before;
  few.rlim_cur = static_cast<rlim_t>(highest) + 5;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  taken.push_back(highest);
  for (int fd = 0; (fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;) taken.push_back(fd);
  const sockaddr_un address = SocketAddress();
  ASSERT_EQ(connect(waiting, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(GetNode(*stub_).ok());
  // With one descriptor the connection can be taken but not watched.
  close(taken.back());
  taken.pop_back();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(GetNode(*stub_).ok());
  for (const int fd : taken) close(fd);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  close(waiting);
  ExpectServed();
}

// Calls a method with any bytes.
grpc::Status CallWithBytes(const std::string& method, absl::optional<std::string> bytes) {
  grpc::GenericStub stub(grpc::CreateChannel(absl::StrCat("unix:", SocketPath()), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  const std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call = stub.PrepareCall(&context, method, &queue);
  const auto await = [&] {
    void* tag = nullptr;
    bool ok = false;
    EXPECT_TRUE(queue.Next(&tag, &ok));
    return ok;
  };
  call->StartCall(nullptr);
  (void)await();
  if (bytes.has_value()) {
    const grpc::Slice slice(*bytes);
    call->Write(grpc::ByteBuffer(&slice, 1), nullptr);
    (void)await();
  }
  call->WritesDone(nullptr);
  (void)await();
  grpc::Status status;
  call->Finish(&status, nullptr);
  (void)await();
  return status;
}

TEST_F(OpsEnemyTest, ARequestThatIsNoneIsRefused) {
  StartOps();
  const std::string service = "/understudy.proto.Ops/";
  EXPECT_EQ(CallWithBytes(service + "GetActor", "\xff\xff\xff\xff").error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(CallWithBytes(service + "FollowEvents", "\xff\xff\xff\xff").error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(CallWithBytes(service + "GetActor", "\n\x02\xff\xfe").error_code(), grpc::StatusCode::INVALID_ARGUMENT)
      << "a name that is not UTF-8";
  EXPECT_EQ(CallWithBytes(service + "GetActor", absl::nullopt).error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_EQ(CallWithBytes(service + "GetActor", std::string(1'000'000, '\0')).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(CallWithBytes(service + "Erase", "").error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(CallWithBytes("/other.Service/GetActor", "").error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_TRUE(GetNode(*stub_).ok());
}

// A connection of its own, that takes at most 64 KiB of a reply that is not read.
std::shared_ptr<grpc::Channel> NarrowChannel() {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 64 << 10);
  return grpc::CreateCustomChannel(absl::StrCat("unix:", SocketPath()), grpc::InsecureChannelCredentials(), arguments);
}

// A call whose reply is not read until the test says so.
class UnreadCall {
 public:
  UnreadCall(const std::shared_ptr<grpc::Channel>& channel, const std::string& method)
      : stub_(channel), call_(stub_.PrepareCall(&context_, method, &queue_)) {
    call_->StartCall(nullptr);
    EXPECT_TRUE(Await());
    const grpc::Slice empty;
    call_->WriteLast(grpc::ByteBuffer(&empty, 1), grpc::WriteOptions(), nullptr);
    EXPECT_TRUE(Await());
  }
  // The size of the reply; 0 if there is none.
  size_t Read() {
    grpc::ByteBuffer reply;
    call_->Read(&reply, nullptr);
    return Await() ? reply.Length() : 0;
  }
  grpc::StatusCode End() {
    grpc::Status status;
    call_->Finish(&status, nullptr);
    EXPECT_TRUE(Await());
    return status.error_code();
  }

 private:
  bool Await() {
    void* tag = nullptr;
    bool ok = false;
    const auto until = std::chrono::system_clock::now() + absl::ToChronoSeconds(kWithin);
    return queue_.AsyncNext(&tag, &ok, until) == grpc::CompletionQueue::GOT_EVENT && ok;
  }

  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  const std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
};

TEST_F(OpsEnemyTest, TheOldestLargeReplyThatIsNotReadIsGivenUpAtTheBoundOfAll) {
  std::atomic<size_t> asked{0};
  absl::Notification given_up;
  internal::OpsMethods methods;
  const auto add = [&](const char* method, size_t bytes) {
    methods.unary[method] = [&asked, bytes](const auto& /*caller*/, const std::string& /*request*/) {
      ++asked;
      return std::string(bytes, 'x');
    };
  };
  constexpr size_t kSmall = size_t{256} << 10;  // more than a connection takes
  add("/test/Small", kSmall);
  add("/test/Large", limits::kOpsReplyBytesMax);
  const absl::StatusOr<std::unique_ptr<internal::OpsServer>> server = internal::OpsServer::Start(
      {.address = {.reach = NodeAddress::Reach::kUnixSocket, .path = SocketPath()}, .uid = geteuid()}, methods,
      [&given_up](absl::string_view) { given_up.Notify(); });
  ASSERT_TRUE(server.ok()) << server.status();
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  std::vector<std::unique_ptr<UnreadCall>> calls;
  const auto ask = [&](const char* method) {
    if (calls.size() % limits::kOpsCallsPerConnectionMax == 0) channels.push_back(NarrowChannel());
    calls.push_back(std::make_unique<UnreadCall>(channels.back(), method));
    EXPECT_TRUE(Await([&] { return asked.load() == calls.size(); }));
  };
  ask("/test/Small");
  for (size_t bytes = 0; bytes <= limits::kOpsUnreadBytesMax; bytes += limits::kOpsReplyBytesMax) ask("/test/Large");
  ASSERT_TRUE(given_up.WaitForNotificationWithTimeout(kWithin));
  EXPECT_EQ(calls[1]->Read(), 0U);
  EXPECT_EQ(calls[1]->End(), grpc::StatusCode::CANCELLED);
  EXPECT_EQ(calls[0]->Read(), kSmall);
  for (size_t i = 2; i < calls.size(); ++i) {
    EXPECT_EQ(calls[i]->Read(), limits::kOpsReplyBytesMax) << i;
    EXPECT_EQ(calls[i]->End(), grpc::StatusCode::OK) << i;
  }
  EXPECT_EQ(calls[0]->End(), grpc::StatusCode::OK);
}

TEST_F(OpsEnemyTest, PagesOfAnySizeFromAnyPlaceAreAnswered) {
  StartOps();
  StartTree();
  proto::ListActorsRequest actors;
  actors.set_at_most(UINT32_MAX);
  for (const uint64_t after : {uint64_t{0}, uint64_t{1'000'000'007}, UINT64_MAX}) {
    actors.set_after(after);
    proto::ListActorsReply reply;
    EXPECT_TRUE(Call(*stub_, &Stub::ListActors, actors, &reply).ok());
    EXPECT_THAT(reply.actors(), SizeIs(after == 0 ? 2 : 0));
  }
  proto::ListNamesRequest names;
  names.set_at_most(UINT32_MAX);
  names.set_page(std::string(3000, '\xff'));
  proto::ListNamesReply reply;
  EXPECT_TRUE(Call(*stub_, &Stub::ListNames, names, &reply).ok());
  EXPECT_THAT(reply.names(), SizeIs(0));
}

TEST_F(OpsEnemyTest, ASlowReaderLosesTheOldestAndIsToldHowMany) {
  StartOps();
  const Ref<Clerk> gone = system_.Spawn<Clerk>();
  system_.Kill(gone.pid());
  ASSERT_TRUE(system_.AwaitEnd(gone.pid(), kWithin).ok());
  grpc::ClientContext context;
  const auto letters = stub_->FollowDeadLetters(&context, proto::FollowRequest());
  constexpr uint64_t kLetters = 100'000;
  for (uint64_t i = 0; i < kLetters; ++i) gone[&Clerk::file].Tell(1);
  uint64_t lost = 0;
  uint64_t got = 0;
  proto::DeadLetterEntry letter;
  while (letter.number() < kLetters && letters->Read(&letter)) {
    lost += letter.lost();
    ++got;
  }
  EXPECT_EQ(letter.number(), kLetters);
  EXPECT_EQ(got + lost, kLetters);
  EXPECT_GT(lost, 0U) << "more than what the connection holds was kept for this reader";
  context.TryCancel();
}

TEST_F(OpsEnemyTest, AnActionWithoutItsOptionIsRefusedWithALineInTheLog) {
  absl::StatusOr<std::unique_ptr<Node>> node = Node::Start(system_, {.listen = ""});
  ASSERT_TRUE(node.ok()) << node.status();
  StartOps({.node = node->get(), .actions = {}});
  StartTree();
  const absl::optional<Pid> clerk = system_.WhereIs("clerk");
  for (const auto& [action, text] :
       {std::pair(proto::STOP, "stop clerk"), std::pair(proto::KILL, "kill clerk"),
        std::pair(proto::RESTART, "restart child 'clerk' of clerk"), std::pair(proto::DRAIN, "drain the node")}) {
    const grpc::Status status = Act(*stub_, action, "clerk", "clerk");
    EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED) << text;
    EXPECT_THAT(log_.lines(), Contains(HasSubstr(absl::StrCat("asks to ", text, ": refused"))));
  }
  EXPECT_EQ(Act(*stub_, static_cast<proto::Action>(99), "clerk").error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(system_.WhereIs("clerk"), clerk);
  ops_ = nullptr;
}

}  // namespace
}  // namespace understudy
