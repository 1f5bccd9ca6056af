// protoc-gen-understudy: protoc starts it for --understudy_out.

#include "google/protobuf/compiler/plugin.h"
#include "understudy/tools/protoc_gen_understudy/generator.h"

int main(int argc, char** argv) {
  const understudy::generator::ActorGenerator generator;
  return google::protobuf::compiler::PluginMain(argc, argv, &generator);
}
