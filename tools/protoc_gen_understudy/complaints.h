// Complaints: the errors in a .proto file, each with its place, in protoc's form:
//
//   auction.proto:12:3: rpc Auction.Watch: …
//
// A Complaints object is used by one thread at a time.
#ifndef UNDERSTUDY_TOOLS_PROTOC_GEN_UNDERSTUDY_COMPLAINTS_H_
#define UNDERSTUDY_TOOLS_PROTOC_GEN_UNDERSTUDY_COMPLAINTS_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"

namespace understudy::generator {

class Complaints {
 public:
  // `file` outlives it.
  explicit Complaints(const google::protobuf::FileDescriptor& file) : file_(file) {}

  // At the name of the service.
  void AddAtName(const google::protobuf::ServiceDescriptor& service, absl::string_view what) {
    std::vector<int> path = PathOf(service);
    path.push_back(google::protobuf::ServiceDescriptorProto::kNameFieldNumber);
    Add(std::move(path), what);
  }
  // At a part of the rpc: `field` is a number of MethodDescriptorProto.
  void AddAt(const google::protobuf::MethodDescriptor& rpc, int field, absl::string_view what) {
    std::vector<int> path = PathOf(rpc);
    path.push_back(field);
    Add(std::move(path), what);
  }
  // At the name of the rpc.
  void AddAtName(const google::protobuf::MethodDescriptor& rpc, absl::string_view what) {
    AddAt(rpc, google::protobuf::MethodDescriptorProto::kNameFieldNumber, what);
  }
  // At that option of the rpc.
  void AddAtOption(const google::protobuf::MethodDescriptor& rpc, int option, absl::string_view what) {
    std::vector<int> path = PathOf(rpc);
    path.push_back(google::protobuf::MethodDescriptorProto::kOptionsFieldNumber);
    path.push_back(option);
    Add(std::move(path), what);
  }
  // At the declaration of the package.
  void AddAtPackage(absl::string_view what) { Add({google::protobuf::FileDescriptorProto::kPackageFieldNumber}, what); }

  bool empty() const { return by_place_.empty(); }
  // All of them in the order of the file, each on a line.
  std::string Text() const {
    std::vector<std::string> texts;
    for (const auto& [place, text] : by_place_) texts.push_back(text);
    return absl::StrJoin(texts, "\n");
  }

 private:
  using Place = std::pair<int, int>;  // line and column

  static std::vector<int> PathOf(const google::protobuf::ServiceDescriptor& service) {
    return {google::protobuf::FileDescriptorProto::kServiceFieldNumber, service.index()};
  }
  static std::vector<int> PathOf(const google::protobuf::MethodDescriptor& rpc) {
    std::vector<int> path = PathOf(*rpc.service());
    path.push_back(google::protobuf::ServiceDescriptorProto::kMethodFieldNumber);
    path.push_back(rpc.index());
    return path;
  }

  // At the nearest element of `path` whose place is known.
  void Add(std::vector<int> path, absl::string_view what) {
    google::protobuf::SourceLocation place;
    while (!file_.GetSourceLocation(path, &place) && !path.empty()) path.pop_back();
    by_place_.emplace(Place(place.start_line, place.start_column),
                      absl::StrCat(file_.name(), ":", place.start_line + 1, ":", place.start_column + 1, ": ", what));
  }

  const google::protobuf::FileDescriptor& file_;
  std::multimap<Place, std::string> by_place_;
};

}  // namespace understudy::generator

#endif  // UNDERSTUDY_TOOLS_PROTOC_GEN_UNDERSTUDY_COMPLAINTS_H_
