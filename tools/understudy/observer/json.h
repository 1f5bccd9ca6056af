// JSON for the observer page, by protobuf's own writer and reader. Plain values; any thread.
#ifndef UNDERSTUDY_TOOLS_UNDERSTUDY_OBSERVER_JSON_H_
#define UNDERSTUDY_TOOLS_UNDERSTUDY_OBSERVER_JSON_H_

#include <google/protobuf/message.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <string>

#include "absl/strings/string_view.h"

namespace understudy::tool {

// With the fields' names in ops.proto; fields that are not set are left out. Numbers of 64 bits are strings.
inline std::string ToJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string json;
  (void)google::protobuf::util::MessageToJsonString(message, &json, options);
  return json;
}

// `text`, which is UTF-8, as a string of JSON with its quotes.
inline std::string ToJson(absl::string_view text) {
  google::protobuf::Value value;
  value.set_string_value(std::string(text));
  return ToJson(value);
}

}  // namespace understudy::tool

#endif  // UNDERSTUDY_TOOLS_UNDERSTUDY_OBSERVER_JSON_H_
