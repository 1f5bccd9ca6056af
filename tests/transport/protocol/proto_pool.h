// ProtoPool: the messages of a .proto file that a test writes down as a text, so that one process has two versions of
// them.
#ifndef UNDERSTUDY_TESTS_TRANSPORT_PROTOCOL_PROTO_POOL_H_
#define UNDERSTUDY_TESTS_TRANSPORT_PROTOCOL_PROTO_POOL_H_

#include <string>

#include "absl/strings/string_view.h"
#include "google/protobuf/compiler/parser.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"
#include "google/protobuf/empty.pb.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/wrappers.pb.h"
#include "understudy/actors/check.h"
#include "understudy/proto/options.pb.h"

namespace understudy {

class ProtoPool {
 public:
  // The file may import "google/protobuf/wrappers.proto", "google/protobuf/empty.proto" and
  // "understudy/proto/options.proto".
  explicit ProtoPool(absl::string_view text) {
    Add(*google::protobuf::StringValue::descriptor()->file());
    Add(*google::protobuf::Empty::descriptor()->file());
    Add(*google::protobuf::FileDescriptorProto::descriptor()->file());
    Add(*google::protobuf::GetEnumDescriptor<options::Overflow>()->file());
    google::protobuf::io::ArrayInputStream input(text.data(), static_cast<int>(text.size()));
    google::protobuf::io::Tokenizer tokenizer(&input, nullptr);
    google::protobuf::FileDescriptorProto file;
    UNDERSTUDY_CHECK(google::protobuf::compiler::Parser().Parse(&tokenizer, &file), "not a .proto file: ", text);
    file.set_name("test.proto");
    UNDERSTUDY_CHECK(pool_.BuildFile(file) != nullptr, "not a valid .proto file: ", text);
  }
  ProtoPool(const ProtoPool&) = delete;
  ProtoPool& operator=(const ProtoPool&) = delete;

  const google::protobuf::DescriptorPool* get() const { return &pool_; }

 private:
  void Add(const google::protobuf::FileDescriptor& imported) {
    google::protobuf::FileDescriptorProto file;
    imported.CopyTo(&file);
    UNDERSTUDY_CHECK(pool_.BuildFile(file) != nullptr, file.name());
  }

  google::protobuf::DescriptorPool pool_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_TRANSPORT_PROTOCOL_PROTO_POOL_H_
