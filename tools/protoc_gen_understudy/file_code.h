// FileCode: writes the parts that all files generated from one .proto file share: the names of its types, comments,
// include guards and namespaces. One thread at a time.
#ifndef UNDERSTUDY_TOOLS_PROTOC_GEN_UNDERSTUDY_FILE_CODE_H_
#define UNDERSTUDY_TOOLS_PROTOC_GEN_UNDERSTUDY_FILE_CODE_H_

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "understudy/tools/protoc_gen_understudy/service.h"

namespace understudy::generator {

inline constexpr size_t kColumnsMax = 120;
// The library's namespace. Generated code writes it, and those of Abseil and protobuf, from the global namespace on,
// because any namespace that encloses the package's may have one of the same name, also in another header.
inline constexpr absl::string_view kLibrary = "::understudy";

// Returns `lines` as a C++ comment, with `indent` before each line.
std::string Comment(const std::vector<std::string>& lines, absl::string_view indent);
// Returns a C++ comment of two parts: `theirs`, the comment in the .proto file, and below it `ours`, the generator's.
std::string Comment(std::vector<std::string> theirs, const std::vector<std::string>& ours, absl::string_view indent);

// Returns `begin` and `rest` on one line. If that line and one more character exceed kColumnsMax, `rest` goes on a line
// of its own, after `indent`.
std::string Wrap(absl::string_view begin, absl::string_view rest, absl::string_view indent);

class FileCode {
 public:
  // `services` are the services that `file` defines. Both arguments must outlive this object.
  FileCode(const google::protobuf::FileDescriptor& file, const std::vector<Service>& services);

  const std::vector<Service>& services() const { return services_; }
  // The path of a generated file, such as "a/auction.ref.h" for "ref.h".
  std::string PathOf(absl::string_view suffix) const;

  // The headers that a generated file includes. `system`, `absl` and `understudy` hold paths such as "vector",
  // "time/time.h" and "actors/ref.h"; `own` is the suffix of another file that is generated from the same .proto file.
  struct Includes {
    std::set<std::string> system;
    std::set<std::string> absl;
    std::set<std::string> understudy;
    std::string own;
  };
  // Returns the text of the header whose name ends in `suffix`, such as "ref.h".
  std::string Header(absl::string_view suffix, const Includes& includes, absl::string_view code) const;
  // The text of a source for the header that ends in `suffix`.
  std::string Source(absl::string_view suffix, const Includes& includes, absl::string_view code) const;
  // `code` within the file's namespace.
  std::string InNamespace(absl::string_view code) const;

  // The message of the rpc's mailbox: "Offer", "understudy::Call<Offer, OfferResult>",
  // "understudy::Call<Offer, understudy::Stream<OfferResult>>" and so on.
  std::string MessageOf(const Rpc& rpc) const;
  // The name of that class of this file outside the file's namespace.
  std::string Qualified(absl::string_view class_name) const;

 private:
  std::string NameIn(const google::protobuf::Descriptor& type,
                     const google::protobuf::ServiceDescriptor& service) const;
  std::string StreamOf(absl::string_view item) const;

  const google::protobuf::FileDescriptor& file_;
  const std::vector<Service>& services_;
};

// The files that are generated.
std::string RefHeader(const FileCode& code);      // x.ref.h: the refs
std::string RefSource(const FileCode& code);      // x.ref.cc
std::string ActorHeader(const FileCode& code);    // x.actor.h: the actors
std::string TestingHeader(const FileCode& code);  // x.testing.h: the probes and mocks

}  // namespace understudy::generator

#endif  // UNDERSTUDY_TOOLS_PROTOC_GEN_UNDERSTUDY_FILE_CODE_H_
