#include "understudy/transport/ops/ops_contents.h"

#include <google/protobuf/any.pb.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/unknown_field_set.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "understudy/actors/cut_text.h"
#include "understudy/actors/printable_text.h"
#include "understudy/proto/options.pb.h"
#include "understudy/transport/ops/ops_limits.h"

namespace understudy::internal {

void Redact(google::protobuf::Message& message) {
  using google::protobuf::FieldDescriptor;
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  reflection.MutableUnknownFields(&message)->Clear();
  const bool is_any = message.GetDescriptor() == google::protobuf::Any::descriptor();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* const field : fields) {
    const bool is_hidden = is_any && field->number() == google::protobuf::Any::kValueFieldNumber;
    if (is_hidden || field->options().GetExtension(options::redacted)) {
      reflection.ClearField(&message, field);
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      if (!field->is_repeated()) {
        Redact(*reflection.MutableMessage(&message, field));
        continue;
      }
      for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
        Redact(*reflection.MutableRepeatedMessage(&message, field, i));
      }
    }
  }
}

std::string ShownContents(const std::string& type, const std::string& bytes) {
  const google::protobuf::Descriptor* const descriptor =
      google::protobuf::DescriptorPool::generated_pool()->FindMessageTypeByName(type);
  if (descriptor == nullptr) return "";
  const google::protobuf::Message* const prototype =
      google::protobuf::MessageFactory::generated_factory()->GetPrototype(descriptor);
  if (prototype == nullptr) return "";
  const std::unique_ptr<google::protobuf::Message> message(prototype->New());
  if (!message->ParsePartialFromString(bytes)) return "";
  Redact(*message);
  google::protobuf::TextFormat::Printer printer;
  printer.SetSingleLineMode(true);
  printer.SetUseUtf8StringEscaping(true);
  std::string text;
  if (!printer.PrintToString(*message, &text)) return "";
  absl::StripTrailingAsciiWhitespace(&text);
  // The text format has escaped control characters and bytes that are not UTF-8, but not
  // the characters that reverse the direction of text (bidi controls).
  return CutText(PrintableText(text, Backslashes::kKeep), limits::kOpsContentsBytesMax);
}

}  // namespace understudy::internal
