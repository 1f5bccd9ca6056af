// ActorGenerator: the plugin as protoc's code generator: from x.proto it makes x.ref.h, x.ref.cc, x.actor.h and
// x.testing.h.
//
// If the services have errors, its error text has a line for each, with file, line and column.
#ifndef UNDERSTUDY_TOOLS_PROTOC_GEN_UNDERSTUDY_GENERATOR_H_
#define UNDERSTUDY_TOOLS_PROTOC_GEN_UNDERSTUDY_GENERATOR_H_

#include <cstdint>
#include <string>

#include "google/protobuf/compiler/code_generator.h"
#include "google/protobuf/descriptor.h"

namespace understudy::generator {

class ActorGenerator : public google::protobuf::compiler::CodeGenerator {
 public:
  // `parameter` must be empty.
  bool Generate(const google::protobuf::FileDescriptor* file, const std::string& parameter,
                google::protobuf::compiler::GeneratorContext* context, std::string* error) const override;
  // proto3's `optional`.
  uint64_t GetSupportedFeatures() const override { return FEATURE_PROTO3_OPTIONAL; }
};

}  // namespace understudy::generator

#endif  // UNDERSTUDY_TOOLS_PROTOC_GEN_UNDERSTUDY_GENERATOR_H_
