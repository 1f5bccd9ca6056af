// Comments of a .proto file as comments in C++. Any thread.
#ifndef UNDERSTUDY_TOOLS_PROTOC_GEN_UNDERSTUDY_COMMENTS_H_
#define UNDERSTUDY_TOOLS_PROTOC_GEN_UNDERSTUDY_COMMENTS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"

namespace understudy::generator {

// The lines of `comment`, as the parser gives it, without what lies around them.
inline std::vector<std::string> CommentLines(absl::string_view comment) {
  std::vector<std::string> lines;
  for (absl::string_view line : absl::StrSplit(comment, '\n')) {
    absl::ConsumePrefix(&line, " ");
    lines.emplace_back(absl::StripTrailingAsciiWhitespace(line));
  }
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  while (!lines.empty() && lines.front().empty()) lines.erase(lines.begin());
  return lines;
}

// The comment above `descriptor`, a service or an rpc, and below that the one behind it.
template <class D>
std::vector<std::string> CommentOf(const D& descriptor) {
  google::protobuf::SourceLocation place;
  if (!descriptor.GetSourceLocation(&place)) return {};
  std::vector<std::string> lines = CommentLines(place.leading_comments);
  for (std::string& line : CommentLines(place.trailing_comments)) lines.push_back(std::move(line));
  return lines;
}

// The comment at the head of the file: what stands above its `syntax`.
inline std::vector<std::string> CommentOfFile(const google::protobuf::FileDescriptor& file) {
  google::protobuf::SourceLocation place;
  if (!file.GetSourceLocation({google::protobuf::FileDescriptorProto::kSyntaxFieldNumber}, &place)) return {};
  return CommentLines(place.leading_comments);
}

}  // namespace understudy::generator

#endif  // UNDERSTUDY_TOOLS_PROTOC_GEN_UNDERSTUDY_COMMENTS_H_
