#include "understudy/tools/understudy/ops_channel.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <grpcpp/channel.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>
#include <grpcpp/support/status.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "understudy/actors/printable_text.h"
#include "understudy/transport/credentials.h"

namespace understudy::tool {
namespace {

// A node that starts again is soon seen.
constexpr int kReconnectsWithinMillis = 1000;
// What a node on a busy machine may take to answer a new connection. gRPC 1.51 ends an attempt after this time.
constexpr int kConnectsWithinMillis = 5000;

// Over TCP, a node whose machine is gone says nothing, so it is asked for a sign of life while a call is under way. A
// server of gRPC ends connections on which such pings come more often than every five minutes.
constexpr int kKeepaliveEveryMillis = 6 * 60 * 1000;
constexpr int kKeepaliveWithinMillis = 20 * 1000;

constexpr char kTls[] = "tls://";
constexpr char kTcp[] = "tcp://";

std::string TextOf(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

// "NODE" and "HOST:PORT" of tls://NODE@HOST:PORT; the node is empty if there is none.
std::pair<std::string, std::string> NodeAndHost(absl::string_view address) {
  absl::string_view rest = absl::StripPrefix(address, kTls);
  const size_t at = rest.find('@');
  if (at == absl::string_view::npos) return {"", std::string(rest)};
  return {std::string(rest.substr(0, at)), std::string(rest.substr(at + 1))};
}

bool IsSocketPath(absl::string_view address) {
  return !absl::StartsWith(address, kTls) && !absl::StartsWith(address, kTcp);
}

std::shared_ptr<grpc::Channel> Connect(const OpsTarget& target) {
  grpc::ChannelArguments arguments;
  if (!IsSocketPath(target.address)) {
    if (!CheckTarget(target).ok()) return grpc::CreateCustomChannel(target.address, nullptr, arguments);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveEveryMillis);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveWithinMillis);
    arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);  // without this, the third ping is never sent
  }
  // The environment does not decide where the tool connects.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kReconnectsWithinMillis / 4);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectsWithinMillis);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kReconnectsWithinMillis);
  if (absl::StartsWith(target.address, kTls)) {
    const auto [node, host] = NodeAndHost(target.address);
    arguments.SetSslTargetNameOverride(node);
    return grpc::CreateCustomChannel(host,
                                     grpc::SslCredentials({.pem_root_certs = TextOf(target.tls.ca_file),
                                                           .pem_private_key = TextOf(target.tls.key_file),
                                                           .pem_cert_chain = TextOf(target.tls.certificate_file)}),
                                     arguments);
  }
  const std::string where = IsSocketPath(target.address) ? absl::StrCat("unix:", target.address)
                                                         : std::string(absl::StripPrefix(target.address, kTcp));
  return grpc::CreateCustomChannel(where, grpc::InsecureChannelCredentials(), arguments);
}

// CheckTarget for the path of a Unix socket.
absl::Status CheckSocket(const std::string& path) {
  struct stat file;
  const std::string shown = PrintableText(path, Backslashes::kKeep);
  if (stat(path.c_str(), &file) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot reach the node's socket ", shown));
  }
  if (!S_ISSOCK(file.st_mode)) {
    return absl::FailedPreconditionError(
        absl::StrCat(shown, " is not a socket: expected the path that the node's OpsOptions::listen has"));
  }
  if (file.st_uid != geteuid()) {
    return absl::PermissionDeniedError(absl::StrCat("the node of ", shown, " runs as user ", file.st_uid,
                                                    ": expected to be run by that user, not by user ", geteuid()));
  }
  if (path.size() >= sizeof(sockaddr_un::sun_path)) {
    return absl::InvalidArgumentError(absl::StrCat("the path ", shown, " has ", path.size(),
                                                   " bytes: expected at most ", sizeof(sockaddr_un::sun_path) - 1));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ToAbsl(const grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

void MakePrintable(google::protobuf::Message& message) {
  using google::protobuf::FieldDescriptor;
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const int count = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        MakePrintable(field->is_repeated() ? *reflection.MutableRepeatedMessage(&message, field, i)
                                           : *reflection.MutableMessage(&message, field));
      } else if (field->type() == FieldDescriptor::TYPE_STRING) {
        if (field->is_repeated()) {
          const std::string text = reflection.GetRepeatedString(message, field, i);
          reflection.SetRepeatedString(&message, field, i, PrintableText(text, Backslashes::kKeep));
        } else {
          const std::string text = reflection.GetString(message, field);
          reflection.SetString(&message, field, PrintableText(text, Backslashes::kKeep));
        }
      }
    }
  }
}

absl::Status CheckAddress(const OpsTarget& target) {
  if (IsSocketPath(target.address)) return absl::OkStatus();
  const std::string shown = PrintableText(target.address, Backslashes::kKeep);
  const bool is_tls = absl::StartsWith(target.address, kTls);
  const auto [node, host] = NodeAndHost(is_tls ? target.address : absl::StripPrefix(target.address, kTcp));
  const absl::StatusOr<NodeAddress> address = NodeAddress::Parse(host);
  if (!address.ok() || address->reach == NodeAddress::Reach::kUnixSocket) {
    return absl::InvalidArgumentError(
        absl::StrCat(shown, " is not an address: expected tls://NODE@HOST:PORT or tcp://127.0.0.1:PORT"));
  }
  if (!is_tls) {
    if (address->reach == NodeAddress::Reach::kLoopback) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(shown, " is another machine's: expected tls://NODE@HOST:PORT, because tcp:// proves nothing"));
  }
  if (node.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(shown,
                     " does not say which node is there: expected tls://NODE@HOST:PORT, with the DNS name of the "
                     "node's certificate"));
  }
  for (const auto& [option, file] :
       {std::pair("--cert", &target.tls.certificate_file), std::pair("--key", &target.tls.key_file),
        std::pair("--ca", &target.tls.ca_file)}) {
    if (file->empty()) {
      return absl::InvalidArgumentError(absl::StrCat(shown, " needs your certificate: expected ", option, "=FILE too"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckTarget(const OpsTarget& target) {
  if (absl::Status address = CheckAddress(target); !address.ok()) return address;
  if (IsSocketPath(target.address)) return CheckSocket(target.address);
  return absl::StartsWith(target.address, kTls) ? Credentials::Tls(target.tls).Check() : absl::OkStatus();
}

OpsChannel::OpsChannel(const OpsTarget& target) : stub_(proto::Ops::NewStub(Connect(target))) {}

}  // namespace understudy::tool
