#include "understudy/transport/protocol/type_reader.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "understudy/transport/protocol/protocol.pb.h"
#include "understudy/transport/protocol/value_type.h"

namespace understudy::actor_protocol {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;
using google::protobuf::SourceLocation;

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

// With the extensions that the files declare.
std::map<int, const FieldDescriptor*> FieldsOf(const Descriptor& message) {
  std::map<int, const FieldDescriptor*> fields;
  for (int i = 0; i < message.field_count(); ++i) fields[message.field(i)->number()] = message.field(i);
  if (message.extension_range_count() == 0) return fields;
  std::vector<const FieldDescriptor*> extensions;
  message.file()->pool()->FindAllExtensions(&message, &extensions);
  for (const FieldDescriptor* extension : extensions) fields[extension->number()] = extension;
  return fields;
}

}  // namespace

template <class D>
void TypeReader::Report(const D& descriptor, const FileDescriptor& file, const google::protobuf::Message& part) const {
  if (on_part_ == nullptr) return;
  SourceLocation place;
  on_part_(part, file, descriptor.GetSourceLocation(&place) ? &place : nullptr);
}

void TypeReader::Add(const Descriptor& message) {
  if (IsProtobufs(message.full_name())) return;
  if (messages_.emplace(message.full_name(), &message).second) waiting_.push_back(&message);
  while (!waiting_.empty()) {
    const Descriptor& next = *waiting_.back();
    waiting_.pop_back();
    AddTypesOf(next);
  }
}

void TypeReader::AddTypesOf(const Descriptor& message) {
  for (const auto& [number, field] : FieldsOf(message)) {
    const FieldDescriptor& value = field->is_map() ? *field->message_type()->map_value() : *field;
    if (const Descriptor* const type = value.message_type(); type != nullptr && !IsProtobufs(type->full_name())) {
      if (messages_.emplace(type->full_name(), type).second) waiting_.push_back(type);
    }
    if (const EnumDescriptor* const type = value.enum_type(); type != nullptr && !IsProtobufs(type->full_name())) {
      enums_.emplace(type->full_name(), type);
    }
  }
}

void TypeReader::WriteTo(Protocol& protocol) {
  for (const auto& [name, message] : messages_) Write(*message, *protocol.add_message());
  for (const auto& [name, type] : enums_) Write(*type, *protocol.add_enum_());
}

void TypeReader::Write(const Descriptor& descriptor, MessageType& message) {
  message.set_name(descriptor.full_name());
  Report(descriptor, *descriptor.file(), message);
  for (const auto& [number, field] : FieldsOf(descriptor)) Write(*field, *message.add_field());
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

void TypeReader::Write(const FieldDescriptor& descriptor, Field& field) {
  Report(descriptor, *descriptor.file(), field);
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

void TypeReader::Write(const EnumDescriptor& descriptor, EnumType& type) {
  type.set_name(descriptor.full_name());
  Report(descriptor, *descriptor.file(), type);
  type.set_closed(descriptor.file()->syntax() == FileDescriptor::SYNTAX_PROTO2);
  std::map<std::pair<int, std::string>, const EnumValueDescriptor*> values;
  for (int i = 0; i < descriptor.value_count(); ++i) {
    values[{descriptor.value(i)->number(), descriptor.value(i)->name()}] = descriptor.value(i);
  }
  for (const auto& [key, declared] : values) {
    EnumValue& value = *type.add_value();
    value.set_number(declared->number());
    value.set_name(declared->name());
    Report(*declared, *descriptor.file(), value);
  }
  for (int i = 0; i < descriptor.reserved_range_count(); ++i) {
    Range& range = *type.add_reserved();
    range.set_first(descriptor.reserved_range(i)->start);
    range.set_last(descriptor.reserved_range(i)->end);
  }
  Sort(*type.mutable_reserved());
}

}  // namespace understudy::actor_protocol
