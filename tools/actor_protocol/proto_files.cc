#include "understudy/tools/actor_protocol/proto_files.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/compiler/importer.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"
#include "understudy/proto/options.pb.h"
#include "understudy/tools/actor_protocol/value_type.h"

namespace understudy::actor_protocol {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;
using google::protobuf::FileDescriptorProto;
using google::protobuf::MethodDescriptor;
using google::protobuf::ServiceDescriptor;
using google::protobuf::SourceLocation;

using PathOfFile = std::map<std::string, std::string>;  // by import path

class ErrorList : public google::protobuf::compiler::MultiFileErrorCollector {
 public:
  explicit ErrorList(const PathOfFile& paths) : paths_(paths) {}

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

// Returns the default value of a field as text; empty if that is zero or empty.
std::string DefaultOf(const FieldDescriptor& field) {
  if (field.is_repeated()) return "";
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return field.default_value_int32() == 0 ? "" : absl::StrCat(field.default_value_int32());
    case FieldDescriptor::CPPTYPE_INT64:
      return field.default_value_int64() == 0 ? "" : absl::StrCat(field.default_value_int64());
    case FieldDescriptor::CPPTYPE_UINT32:
      return field.default_value_uint32() == 0 ? "" : absl::StrCat(field.default_value_uint32());
    case FieldDescriptor::CPPTYPE_UINT64:
      return field.default_value_uint64() == 0 ? "" : absl::StrCat(field.default_value_uint64());
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return field.default_value_double() == 0 ? "" : absl::StrCat(field.default_value_double());
    case FieldDescriptor::CPPTYPE_FLOAT:
      return field.default_value_float() == 0 ? "" : absl::StrCat(field.default_value_float());
    case FieldDescriptor::CPPTYPE_BOOL:
      return field.default_value_bool() ? "true" : "";
    case FieldDescriptor::CPPTYPE_ENUM:
      return field.default_value_enum()->number() == 0 ? "" : absl::StrCat(field.default_value_enum()->number());
    case FieldDescriptor::CPPTYPE_STRING:
      return absl::CEscape(field.default_value_string());
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return "";
  }
  return "";
}

Field::Label LabelOf(const FieldDescriptor& field) {
  if (field.is_map()) return Field::MAP;
  if (field.is_repeated()) return Field::REPEATED;
  if (field.is_required()) return Field::REQUIRED;
  const bool is_message = field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
  return !is_message && field.has_presence() && field.real_containing_oneof() == nullptr ? Field::OPTIONAL
                                                                                         : Field::SINGULAR;
}

std::string TypeOf(const FieldDescriptor& field) {
  if (field.message_type() != nullptr) return absl::StrCat(field.type_name(), " ", field.message_type()->full_name());
  if (field.enum_type() != nullptr) return absl::StrCat(field.type_name(), " ", field.enum_type()->full_name());
  return field.type_name();
}

// Sorted, so that equal declarations in another order are equal.
template <class Ranges>
void Sort(Ranges& ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.first() < b.first(); });
}

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
    // The last of them may add others, which sort before it.
    for (size_t i = 0; i < waiting_.size(); ++i) FindTypesOf(*waiting_[i]);
    for (const auto& [name, message] : messages_) AddMessage(*message);
    for (const auto& [name, type] : enums_) AddEnum(*type);
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
    FindMessage(*method.input_type());
    rpc.set_cast(method.options().GetExtension(options::cast));
    if (!rpc.cast()) {
      rpc.set_reply(method.output_type()->full_name());
      FindMessage(*method.output_type());
    }
    rpc.set_optional_rpc(method.options().GetExtension(options::optional_rpc));
    rpc.set_stream_of_requests(method.client_streaming());
    rpc.set_stream_of_replies(method.server_streaming());
  }

  void FindMessage(const Descriptor& message) {
    if (IsProtobufs(message.full_name())) return;
    if (messages_.emplace(message.full_name(), &message).second) waiting_.push_back(&message);
  }
  void FindTypesOf(const Descriptor& message) {
    for (const auto& [number, field] : FieldsOf(message)) {
      const FieldDescriptor& value = field->is_map() ? *field->message_type()->map_value() : *field;
      if (value.message_type() != nullptr) FindMessage(*value.message_type());
      if (value.enum_type() != nullptr && !IsProtobufs(value.enum_type()->full_name())) {
        enums_.emplace(value.enum_type()->full_name(), value.enum_type());
      }
    }
  }

  // With the extensions that the files declare.
  static std::map<int, const FieldDescriptor*> FieldsOf(const Descriptor& message) {
    std::map<int, const FieldDescriptor*> fields;
    for (int i = 0; i < message.field_count(); ++i) fields[message.field(i)->number()] = message.field(i);
    std::vector<const FieldDescriptor*> extensions;
    message.file()->pool()->FindAllExtensions(&message, &extensions);
    for (const FieldDescriptor* extension : extensions) fields[extension->number()] = extension;
    return fields;
  }

  void AddMessage(const Descriptor& descriptor) {
    MessageType& message = *read_.protocol.add_message();
    message.set_name(descriptor.full_name());
    EnterPlace(descriptor, *descriptor.file(), message);
    for (const auto& [number, field] : FieldsOf(descriptor)) AddField(*field, *message.add_field());
    for (int i = 0; i < descriptor.reserved_range_count(); ++i) {
      Range& range = *message.add_reserved();
      range.set_first(descriptor.reserved_range(i)->start);
      range.set_last(descriptor.reserved_range(i)->end - 1);
    }
    for (int i = 0; i < descriptor.extension_range_count(); ++i) {
      Range& range = *message.add_extensions();
      range.set_first(descriptor.extension_range(i)->start);
      range.set_last(descriptor.extension_range(i)->end - 1);
    }
    Sort(*message.mutable_reserved());
    Sort(*message.mutable_extensions());
  }

  void AddField(const FieldDescriptor& descriptor, Field& field) {
    EnterPlace(descriptor, *descriptor.file(), field);
    field.set_number(descriptor.number());
    field.set_name(descriptor.is_extension() ? absl::StrCat("(", descriptor.full_name(), ")") : descriptor.name());
    field.set_label(LabelOf(descriptor));
    if (descriptor.is_map()) {
      field.set_key(TypeOf(*descriptor.message_type()->map_key()));
      field.set_type(TypeOf(*descriptor.message_type()->map_value()));
    } else {
      field.set_type(TypeOf(descriptor));
    }
    if (descriptor.real_containing_oneof() != nullptr) field.set_oneof(descriptor.real_containing_oneof()->name());
    field.set_default_value(DefaultOf(descriptor));
  }

  void AddEnum(const EnumDescriptor& descriptor) {
    EnumType& type = *read_.protocol.add_enum_();
    type.set_name(descriptor.full_name());
    EnterPlace(descriptor, *descriptor.file(), type);
    type.set_closed(descriptor.file()->syntax() == FileDescriptor::SYNTAX_PROTO2);
    std::map<std::pair<int, std::string>, const EnumValueDescriptor*> values;
    for (int i = 0; i < descriptor.value_count(); ++i) {
      values[{descriptor.value(i)->number(), descriptor.value(i)->name()}] = descriptor.value(i);
    }
    for (const auto& [key, declared] : values) {
      EnumValue& value = *type.add_value();
      value.set_number(declared->number());
      value.set_name(declared->name());
      EnterPlace(*declared, *descriptor.file(), value);
    }
    for (int i = 0; i < descriptor.reserved_range_count(); ++i) {
      Range& range = *type.add_reserved();
      range.set_first(descriptor.reserved_range(i)->start);
      range.set_last(descriptor.reserved_range(i)->end);
    }
    Sort(*type.mutable_reserved());
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
  // The messages and enums that the services use, by full name. waiting_ has the messages in
  // the order in which their fields are read.
  std::map<std::string, const Descriptor*> messages_;
  std::map<std::string, const EnumDescriptor*> enums_;
  std::vector<const Descriptor*> waiting_;
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
  ErrorList errors(paths);
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
