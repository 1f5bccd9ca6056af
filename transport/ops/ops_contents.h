// The contents of messages, as far as an operator may see them.
//
// Any thread.
#ifndef UNDERSTUDY_TRANSPORT_OPS_OPS_CONTENTS_H_
#define UNDERSTUDY_TRANSPORT_OPS_OPS_CONTENTS_H_

#include <google/protobuf/message.h>

#include <string>

#include "absl/strings/string_view.h"

namespace understudy::internal {

// Removes from `message` the fields that are marked (understudy.options.redacted), those that its type does not have,
// and the values of google.protobuf.Any, which could have either.
void Redact(google::protobuf::Message& message);

// The serialized message `bytes` of that type in the text format, in one printable line of at most
// limits::kOpsContentsBytesMax bytes, after Redact; empty if the type is not linked into this program or `bytes` do not
// parse.
std::string ShownContents(const std::string& type, const std::string& bytes);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_OPS_OPS_CONTENTS_H_
