// OpsChannel: this tool's way to the operator's service of one node.
//
// A node's texts are made printable before they are returned. This repository's service makes them printable too, but
// some other process may listen on the socket. Threads: any.
#ifndef UNDERSTUDY_TOOLS_UNDERSTUDY_OPS_CHANNEL_H_
#define UNDERSTUDY_TOOLS_UNDERSTUDY_OPS_CHANNEL_H_

#include <google/protobuf/message.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include <chrono>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "understudy/proto/ops.grpc.pb.h"
#include "understudy/proto/ops.pb.h"
#include "understudy/transport/credentials.h"

namespace understudy::tool {

// Where a node's operator's service is.
struct OpsTarget {
  // The path of a Unix socket; tls://NODE@HOST:PORT, where NODE is the DNS name of the node's certificate; or
  // tcp://HOST:PORT, which is plain and must be loopback.
  std::string address;
  TlsFiles tls = {};  // for tls://
};

// InvalidArgument: the address is not one of those above, or is of tls:// and a file of `tls` is not named. Reads no
// file.
absl::Status CheckAddress(const OpsTarget& target);

// Returns an error if this machine alone shows that the target is wrong: its address, the files of `tls`, or the
// socket's file. NotFound means that there is no such file; the target can still be reached once its node runs.
absl::Status CheckTarget(const OpsTarget& target);

absl::Status ToAbsl(const grpc::Status& status);

// Makes the texts in `message` printable.
void MakePrintable(google::protobuf::Message& message);

class OpsChannel {
 public:
  template <class Request, class Reply>
  using Method = grpc::Status (proto::Ops::Stub::*)(grpc::ClientContext*, const Request&, Reply*);

  // Connects when it is used first, and again after a connection has ended. Reads the files of target.tls now. A
  // tls:// or tcp:// target that CheckTarget refuses now is never reached: all calls fail with InvalidArgument.
  explicit OpsChannel(const OpsTarget& target);

  // Waits for the answer. DeadlineExceeded: none came within `within`.
  template <class Request, class Reply>
  absl::StatusOr<Reply> Ask(Method<Request, Reply> method, const Request& request, std::chrono::milliseconds within) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + within);
    Reply reply;
    const grpc::Status status = ((*stub_).*method)(&context, request, &reply);
    if (!status.ok()) return ToAbsl(status);
    MakePrintable(reply);
    return reply;
  }

  // For the streams, whose entries the caller makes printable.
  proto::Ops::Stub& stub() { return *stub_; }

 private:
  const std::unique_ptr<proto::Ops::Stub> stub_;
};

}  // namespace understudy::tool

#endif  // UNDERSTUDY_TOOLS_UNDERSTUDY_OPS_CHANNEL_H_
