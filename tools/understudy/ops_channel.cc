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
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "understudy/actors/printable_text.h"

namespace understudy::tool {
namespace {

// A node that starts again is soon seen.
constexpr int kReconnectsWithinMillis = 1000;

std::shared_ptr<grpc::Channel> Connect(const std::string& path) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kReconnectsWithinMillis / 4);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kReconnectsWithinMillis / 4);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kReconnectsWithinMillis);
  return grpc::CreateCustomChannel(absl::StrCat("unix:", path), grpc::InsecureChannelCredentials(), arguments);
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

OpsChannel::OpsChannel(const std::string& path) : stub_(proto::Ops::NewStub(Connect(path))) {}

}  // namespace understudy::tool
