// Impostor: listens at a node's socket and sends replies that a real node never sends. The destructor stops it.
#ifndef UNDERSTUDY_TESTS_TOOLS_UNDERSTUDY_IMPOSTOR_H_
#define UNDERSTUDY_TESTS_TOOLS_UNDERSTUDY_IMPOSTOR_H_

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>
#include <grpcpp/support/sync_stream.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "understudy/proto/ops.grpc.pb.h"
#include "understudy/proto/ops.pb.h"

namespace understudy::tool {

// A text that contains a terminal escape sequence, reverses the direction of text, and ends a JSON string or an HTML
// element.
inline constexpr char kHostile[] = "\x1b]0;owned\x07\u009b2J\u202e\n{\"\\</script><img src=x onerror=alert(1)>";

class Impostor : public proto::Ops::Service {
 public:
  explicit Impostor(const std::string& path) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(absl::StrCat("unix:", path), grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~Impostor() override { server_->Shutdown(std::chrono::system_clock::now()); }  // also ends calls in progress

  grpc::Status GetNode(grpc::ServerContext*, const proto::GetNodeRequest*, proto::NodeDetails* reply) override {
    reply->set_name(kHostile);
    reply->set_address(kHostile);
    return grpc::Status::OK;
  }
  grpc::Status TopActors(grpc::ServerContext*, const proto::TopActorsRequest*, proto::ListActorsReply* reply) override {
    Fill(*reply->add_actors());
    return grpc::Status::OK;
  }
  grpc::Status ListActors(grpc::ServerContext*, const proto::ListActorsRequest*,
                          proto::ListActorsReply* reply) override {
    Fill(*reply->add_actors());
    return grpc::Status::OK;
  }
  grpc::Status GetActor(grpc::ServerContext*, const proto::GetActorRequest*, proto::ActorDetails* reply) override {
    Fill(*reply);
    return grpc::Status::OK;
  }
  grpc::Status ListNames(grpc::ServerContext*, const proto::ListNamesRequest*, proto::ListNamesReply* reply) override {
    reply->add_names()->set_name(kHostile);
    reply->set_has_more(true);  // but no position of the next page is given
    return grpc::Status::OK;
  }
  grpc::Status GetTree(grpc::ServerContext*, const proto::GetTreeRequest*, proto::GetTreeReply* reply) override {
    for (int i = 0; i < 3; ++i) {  // each supervisor is many times a child of itself and of all others
      proto::SupervisorDetails& supervisor = *reply->add_supervisors();
      supervisor.set_pid(absl::StrCat(kHostile, i));
      supervisor.set_parent(absl::StrCat(kHostile, (i + 1) % 3));
      supervisor.set_strategy(kHostile);
      supervisor.set_period_nanos(INT64_MIN);
      for (int child = 0; child < 300; ++child) {
        supervisor.add_children()->set_pid(absl::StrCat(kHostile, child % 3));
      }
      proto::ChildDetails& child = *supervisor.add_children();
      child.set_id(kHostile);
      child.set_last_exit(kHostile);
      child.set_exited_at_nanos(INT64_MIN);
      child.set_starts_at_nanos(INT64_MAX);
    }
    reply->set_clock_nanos(INT64_MAX);
    proto::SupervisorDetails& root = *reply->add_supervisors();
    root.set_pid("root");
    for (int i = 0; i < 3; ++i) root.add_children()->set_pid(absl::StrCat(kHostile, i));
    return grpc::Status::OK;
  }
  grpc::Status FollowEvents(grpc::ServerContext*, const proto::FollowRequest*,
                            grpc::ServerWriter<proto::EventEntry>* writer) override {
    proto::EventEntry entry;
    entry.set_reason(kHostile);
    entry.set_time_unix_nanos(INT64_MAX);
    writer->Write(entry);
    return grpc::Status(grpc::StatusCode::INTERNAL, kHostile);
  }
  // Sends nothing, as a suspended node does.
  grpc::Status FollowDeadLetters(grpc::ServerContext* context, const proto::FollowRequest*,
                                 grpc::ServerWriter<proto::DeadLetterEntry>*) override {
    const absl::Notification never;
    while (!context->IsCancelled()) (void)never.WaitForNotificationWithTimeout(absl::Milliseconds(1));
    return grpc::Status::CANCELLED;
  }
  grpc::Status Act(grpc::ServerContext*, const proto::ActRequest*, proto::ActReply* reply) override {
    reply->set_done(kHostile);
    return grpc::Status::OK;
  }

 private:
  static void Fill(proto::ActorDetails& actor) {
    actor.set_pid(kHostile);
    actor.set_state(static_cast<proto::ActorStateValue>(77));
    actor.set_class_name(kHostile);
    actor.add_names(kHostile);
    actor.add_links(kHostile);
    actor.add_mailboxes()->set_name(kHostile);
    actor.set_doing_for_nanos(INT64_MIN);
  }
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace understudy::tool

#endif  // UNDERSTUDY_TESTS_TOOLS_UNDERSTUDY_IMPOSTOR_H_
