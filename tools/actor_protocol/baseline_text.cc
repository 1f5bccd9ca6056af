#include "understudy/tools/actor_protocol/baseline_text.h"

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/message.h"
#include "google/protobuf/text_format.h"
#include "understudy/transport/protocol/value_type.h"

namespace understudy::actor_protocol {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::TextFormat;

// "rpc { name: "Load" … }" for each of `parts`, on lines of their own.
template <class Parts>
void AppendLines(absl::string_view name, const Parts& parts, std::string& text) {
  TextFormat::Printer printer;
  printer.SetSingleLineMode(true);
  for (const auto& part : parts) {
    std::string fields;
    printer.PrintToString(part, &fields);
    absl::StrAppend(&text, "  ", name, " { ", fields, absl::EndsWith(fields, " ") ? "" : " ", "}\n");
  }
}

class BaselineErrors : public google::protobuf::io::ErrorCollector {
 public:
  explicit BaselineErrors(absl::string_view file) : file_(file) {}

  void AddError(int line, int column, const std::string& what) override {
    Add(Place{.file = file_, .line = line + 1, .column = column + 1}, what);
  }
  void Add(const Place& place, absl::string_view what) { texts_.push_back(absl::StrCat(place.Text(), ": ", what)); }

  absl::Status Status() const {
    return texts_.empty() ? absl::OkStatus() : absl::InvalidArgumentError(absl::StrJoin(texts_, "\n"));
  }

 private:
  const std::string file_;
  std::vector<std::string> texts_;
};

// Enters the lines of all messages below `message`.
void EnterPlaces(const Message& message, const TextFormat::ParseInfoTree& tree, const std::string& file,
                 std::map<const Message*, Place>& places) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (!field->is_repeated() || field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    for (int i = 0; i < message.GetReflection()->FieldSize(message, field); ++i) {
      const Message& part = message.GetReflection()->GetRepeatedMessage(message, field, i);
      places[&part] = {.file = file, .line = tree.GetLocation(field, i).line + 1, .column = 0};
      EnterPlaces(part, *tree.GetTreeForNested(field, i), file, places);
    }
  }
}

// Whether a baseline says what BaselineText would never write.
class BaselineCheck {
 public:
  BaselineCheck(const PlacedProtocol& baseline, BaselineErrors& errors) : baseline_(baseline), errors_(errors) {}

  void Run() {
    CheckNames("service", baseline_.protocol.service());
    CheckNames("message", baseline_.protocol.message());
    CheckNames("enum", baseline_.protocol.enum_());
    for (const Service& service : baseline_.protocol.service()) {
      CheckNames(absl::StrCat("rpc of ", service.name()), service.rpc());
      for (const Rpc& rpc : service.rpc()) CheckRpc(rpc);
    }
    for (const MessageType& message : baseline_.protocol.message()) {
      CheckNames(absl::StrCat("field of ", message.name()), message.field());
      std::set<int> numbers;
      for (const Field& field : message.field()) CheckField(message, field, numbers);
    }
    for (const EnumType& type : baseline_.protocol.enum_()) {
      CheckNames(absl::StrCat("value of ", type.name()), type.value());
    }
  }

 private:
  void Add(const Message& part, absl::string_view what) { errors_.Add(baseline_.PlaceOf(part), what); }

  template <class Parts>
  void CheckNames(absl::string_view kind, const Parts& parts) {
    std::set<std::string> names;
    for (const auto& part : parts) {
      if (part.name().empty()) {
        Add(part, absl::StrCat("a ", kind, " has no name"));
      } else if (!names.insert(part.name()).second) {
        Add(part, absl::StrCat("a second ", kind, " has the name ", part.name()));
      }
    }
  }

  void CheckRpc(const Rpc& rpc) {
    if (!IsKnownMessage(rpc.request())) {
      Add(rpc, absl::StrCat("rpc ", rpc.name(), ": its request '", rpc.request(), "' is not among the messages"));
    }
    if (rpc.cast() != rpc.reply().empty()) {
      Add(rpc, absl::StrCat("rpc ", rpc.name(), " has both a reply and cast, or neither"));
    } else if (!rpc.cast() && !IsKnownMessage(rpc.reply())) {
      Add(rpc, absl::StrCat("rpc ", rpc.name(), ": its reply '", rpc.reply(), "' is not among the messages"));
    }
  }

  void CheckField(const MessageType& message, const Field& field, std::set<int>& numbers) {
    const std::string name = absl::StrCat("field ", message.name(), ".", field.name());
    if (field.number() < 1 || field.number() > FieldDescriptor::kMaxNumber) {
      Add(field, absl::StrCat(name, " has the number ", field.number(), ": expected 1 to ",
                              static_cast<int>(FieldDescriptor::kMaxNumber)));
    } else if (!numbers.insert(field.number()).second) {
      Add(field, absl::StrCat(name, " has the number ", field.number(), ", which another field has"));
    }
    CheckType(field, name, field.type());
    if (field.label() == Field::MAP) CheckType(field, name, field.key());
  }

  void CheckType(const Field& field, absl::string_view name, absl::string_view text) {
    const ValueType type = ParseValueType(text);
    const bool is_known = type.IsMessage() ? IsKnownMessage(type.name)
                          : type.IsEnum()  ? IsProtobufs(type.name) || baseline_.FindEnum(type.name) != nullptr
                                           : IsScalar(type.kind) && type.name.empty();
    if (!is_known) {
      Add(field, absl::StrCat(name, " has the type '", text, "', which is neither a scalar nor in this baseline"));
    }
  }

  bool IsKnownMessage(absl::string_view name) const {
    return IsProtobufs(name) || baseline_.FindMessage(name) != nullptr;
  }

  const PlacedProtocol& baseline_;
  BaselineErrors& errors_;
};

}  // namespace

std::string BaselineText(const Protocol& protocol, absl::string_view update) {
  std::string text = absl::StrCat(
      "# The protocol of these services as peers have it that may be running: actor_protocol_test compares the .proto\n"
      "# files with it. To write it anew: ",
      update, "\n");
  for (const std::string& file : protocol.file()) absl::StrAppend(&text, "file: \"", file, "\"\n");
  for (const Service& service : protocol.service()) {
    absl::StrAppend(&text, "\nservice {\n  name: \"", service.name(), "\"\n");
    AppendLines("rpc", service.rpc(), text);
    absl::StrAppend(&text, "}\n");
  }
  for (const MessageType& message : protocol.message()) {
    absl::StrAppend(&text, "\nmessage {\n  name: \"", message.name(), "\"\n");
    AppendLines("field", message.field(), text);
    AppendLines("reserved", message.reserved(), text);
    AppendLines("extensions", message.extensions(), text);
    absl::StrAppend(&text, "}\n");
  }
  for (const EnumType& type : protocol.enum_()) {
    absl::StrAppend(&text, "\nenum {\n  name: \"", type.name(), "\"\n", type.closed() ? "  closed: true\n" : "");
    AppendLines("value", type.value(), text);
    AppendLines("reserved", type.reserved(), text);
    absl::StrAppend(&text, "}\n");
  }
  return text;
}

absl::StatusOr<PlacedProtocol> ReadBaselineText(absl::string_view text, absl::string_view file) {
  BaselineErrors errors(file);
  PlacedProtocol baseline;
  TextFormat::ParseInfoTree tree;
  TextFormat::Parser parser;
  parser.RecordErrorsTo(&errors);
  parser.WriteLocationsTo(&tree);
  if (!parser.ParseFromString(std::string(text), &baseline.protocol)) return errors.Status();
  EnterPlaces(baseline.protocol, tree, std::string(file), baseline.places);
  if (baseline.protocol.file().empty() || baseline.protocol.service().empty()) {
    errors.Add(Place{.file = std::string(file)}, "it has no file or no service");
  }
  BaselineCheck(baseline, errors).Run();
  if (absl::Status status = errors.Status(); !status.ok()) return status;
  return baseline;
}

}  // namespace understudy::actor_protocol
