#include "understudy/tools/protoc_gen_understudy/generator.h"

#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream.h"
#include "understudy/tools/protoc_gen_understudy/complaints.h"
#include "understudy/tools/protoc_gen_understudy/file_code.h"
#include "understudy/tools/protoc_gen_understudy/service.h"

namespace understudy::generator {
namespace {

void Write(const std::string& path, const std::string& text, google::protobuf::compiler::GeneratorContext& context) {
  const std::unique_ptr<google::protobuf::io::ZeroCopyOutputStream> out(context.Open(path));
  google::protobuf::io::CodedOutputStream(out.get()).WriteString(text);
}

}  // namespace

bool ActorGenerator::Generate(const google::protobuf::FileDescriptor* file, const std::string& parameter,
                              google::protobuf::compiler::GeneratorContext* context, std::string* error) const {
  if (!parameter.empty()) {
    *error = absl::StrCat("unknown parameter '", parameter, "': protoc-gen-understudy takes none");
    return false;
  }
  Complaints complaints(*file);
  const std::vector<Service> services = ReadServices(*file, complaints);
  if (!complaints.empty()) {
    *error = absl::StrCat("no actor classes can be made of it:\n", complaints.Text());
    return false;
  }
  const FileCode code(*file, services);
  Write(code.PathOf("ref.h"), RefHeader(code), *context);
  Write(code.PathOf("ref.cc"), RefSource(code), *context);
  Write(code.PathOf("actor.h"), ActorHeader(code), *context);
  Write(code.PathOf("testing.h"), TestingHeader(code), *context);
  return true;
}

}  // namespace understudy::generator
