#include "understudy/tools/actor_protocol/proto_files.h"

#include <map>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/compiler/importer.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"
#include "understudy/proto/options.pb.h"
#include "understudy/transport/protocol/type_reader.h"

namespace understudy::actor_protocol {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FileDescriptor;
using google::protobuf::FileDescriptorProto;
using google::protobuf::MethodDescriptor;
using google::protobuf::ServiceDescriptor;
using google::protobuf::SourceLocation;

using PathOfFile = std::map<std::string, std::string>;  // by import path

class ImportErrors : public google::protobuf::compiler::MultiFileErrorCollector {
 public:
  explicit ImportErrors(const PathOfFile& paths) : paths_(paths) {}

  void AddError(const std::string& file, int line, int column, const std::string& what) override {
    const auto path = paths_.find(file);
    const Place place{.file = path == paths_.end() ? file : path->second, .line = line + 1, .column = column + 1};
    texts_.push_back(absl::StrCat(place.Text(), ": ", what));
  }

  absl::Status Status() const { return absl::InvalidArgumentError(absl::StrJoin(texts_, "\n")); }

 private:
  const PathOfFile& paths_;
  std::vector<std::string> texts_;
};

class ProtocolReader {
 public:
  explicit ProtocolReader(const PathOfFile& paths) : paths_(paths) {}

  PlacedProtocol Read(const std::vector<const FileDescriptor*>& files) {
    std::map<std::string, const ServiceDescriptor*> services;
    std::set<std::string> names;
    for (const FileDescriptor* file : files) {
      EnterDefined(*file);
      names.insert(file->name());
      for (int i = 0; i < file->service_count(); ++i) services[file->service(i)->full_name()] = file->service(i);
    }
    for (const std::string& name : names) read_.protocol.add_file(name);
    for (const auto& [name, service] : services) AddService(*service);
    types_.WriteTo(read_.protocol);
    return std::move(read_);
  }

 private:
  void EnterDefined(const FileDescriptor& file) {
    if (!files_seen_.insert(&file).second) return;
    SourceLocation place;
    if (file.GetSourceLocation({FileDescriptorProto::kPackageFieldNumber}, &place)) {
      read_.packages.emplace(file.package(), PlaceAt(file, place));
    } else {
      read_.packages.emplace(file.package(), Place{.file = PathOf(file)});
    }
    for (int i = 0; i < file.message_type_count(); ++i) EnterDefined(*file.message_type(i));
    for (int i = 0; i < file.enum_type_count(); ++i) read_.defined.insert(file.enum_type(i)->full_name());
    for (int i = 0; i < file.dependency_count(); ++i) EnterDefined(*file.dependency(i));
  }
  void EnterDefined(const Descriptor& message) {
    read_.defined.insert(message.full_name());
    for (int i = 0; i < message.nested_type_count(); ++i) EnterDefined(*message.nested_type(i));
    for (int i = 0; i < message.enum_type_count(); ++i) read_.defined.insert(message.enum_type(i)->full_name());
  }

  void AddService(const ServiceDescriptor& descriptor) {
    Service& service = *read_.protocol.add_service();
    service.set_name(descriptor.full_name());
    EnterPlace(descriptor, *descriptor.file(), service);
    std::map<std::string, const MethodDescriptor*> rpcs;
    for (int i = 0; i < descriptor.method_count(); ++i) rpcs[descriptor.method(i)->name()] = descriptor.method(i);
    for (const auto& [name, method] : rpcs) AddRpc(*method, *service.add_rpc());
  }

  void AddRpc(const MethodDescriptor& method, Rpc& rpc) {
    EnterPlace(method, *method.service()->file(), rpc);
    rpc.set_name(method.name());
    rpc.set_request(method.input_type()->full_name());
    types_.Add(*method.input_type());
    rpc.set_cast(method.options().GetExtension(options::cast));
    if (!rpc.cast()) {
      rpc.set_reply(method.output_type()->full_name());
      types_.Add(*method.output_type());
    }
    rpc.set_optional_rpc(method.options().GetExtension(options::optional_rpc));
    rpc.set_stream_of_requests(method.client_streaming());
    rpc.set_stream_of_replies(method.server_streaming());
  }

  template <class D>
  void EnterPlace(const D& descriptor, const FileDescriptor& file, const google::protobuf::Message& part) {
    SourceLocation place;
    read_.places[&part] = descriptor.GetSourceLocation(&place) ? PlaceAt(file, place) : Place{.file = PathOf(file)};
  }
  Place PlaceAt(const FileDescriptor& file, const SourceLocation& place) const {
    return {.file = PathOf(file), .line = place.start_line + 1, .column = place.start_column + 1};
  }
  std::string PathOf(const FileDescriptor& file) const {
    const auto path = paths_.find(file.name());
    return path == paths_.end() ? file.name() : path->second;
  }

  const PathOfFile& paths_;
  PlacedProtocol read_;
  std::set<const FileDescriptor*> files_seen_;
  // Collects the messages and enums that the services use.
  TypeReader types_{
      [this](const google::protobuf::Message& part, const FileDescriptor& file, const SourceLocation* place) {
        read_.places[&part] = place != nullptr ? PlaceAt(file, *place) : Place{.file = PathOf(file)};
      }};
};

}  // namespace

absl::StatusOr<PlacedProtocol> ReadProtoFiles(const std::vector<std::string>& files,
                                              const std::vector<ProtoFile>& sources) {
  google::protobuf::compiler::DiskSourceTree tree;
  PathOfFile paths;
  for (const ProtoFile& source : sources) {
    tree.MapPath(source.import_path, source.path);
    paths[source.import_path] = source.path;
  }
  ImportErrors errors(paths);
  google::protobuf::compiler::Importer importer(&tree, &errors);
  std::vector<const FileDescriptor*> read;
  for (const std::string& file : files) {
    const FileDescriptor* const descriptor = importer.Import(file);
    if (descriptor == nullptr) return errors.Status();
    read.push_back(descriptor);
  }
  PlacedProtocol protocol = ProtocolReader(paths).Read(read);
  if (protocol.protocol.service().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(absl::StrJoin(files, ", "), ": no service is declared here, so there is no protocol to compare: ",
                     "`proto` must name the proto_library that has the services"));
  }
  return protocol;
}

}  // namespace understudy::actor_protocol
