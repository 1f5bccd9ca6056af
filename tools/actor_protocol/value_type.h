// ValueType: the type of a field's value, and what a reader makes of a value that was written with another type.
// Values. Any thread.
#ifndef UNDERSTUDY_TOOLS_ACTOR_PROTOCOL_VALUE_TYPE_H_
#define UNDERSTUDY_TOOLS_ACTOR_PROTOCOL_VALUE_TYPE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace understudy::actor_protocol {

struct ValueType {
  std::string kind;  // "int64" or another scalar; "message", "group" or "enum"
  std::string name;  // of a message, group or enum: its full name
  // True for an enum whose readers treat an unknown number as an unknown field.
  bool is_closed = false;
  // True for a repeated field, whose numbers may be packed: one length before all of them.
  bool is_repeated = false;

  bool IsMessage() const { return kind == "message" || kind == "group"; }
  bool IsEnum() const { return kind == "enum"; }
  bool MayBePacked() const;
  std::string Text() const { return name.empty() ? kind : kind + " " + name; }
};

// Parses the text of Field.type or Field.key in protocol.proto. An enum is open until is_closed is set.
ValueType ParseValueType(absl::string_view text);

bool IsScalar(absl::string_view kind);

// Whether a type is of the package google.protobuf, which baselines do not describe.
bool IsProtobufs(absl::string_view name);

// Says how `reader` misreads values that `writer` wrote; empty if each value arrives as it was. An example is "a value
// that an int32 cannot hold arrives as another one". A message or an enum of another name is another type.
std::string ReadingOf(const ValueType& writer, const ValueType& reader);

}  // namespace understudy::actor_protocol

#endif  // UNDERSTUDY_TOOLS_ACTOR_PROTOCOL_VALUE_TYPE_H_
