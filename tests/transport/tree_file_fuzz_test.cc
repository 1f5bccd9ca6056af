// No text crashes the reader of trees, and what it accepts can be printed and
// read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/wrappers.pb.h"
#include "understudy/actors/actor.h"
#include "understudy/supervision/actor_factories.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/transport/tree_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using google::protobuf::StringValue;
  static const auto* const factories = [] {
    auto* made = new understudy::ActorFactories;
    made->Add("book", [] { return nullptr; }).Add<StringValue>("lot", [](const StringValue&) {
      return std::unique_ptr<understudy::Actor>();
    });
    return made;
  }();
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<understudy::SupervisorSpec> tree = understudy::ParseTree(text, "t", *factories);
  if (!tree.ok()) return 0;
  const absl::StatusOr<std::string> printed = understudy::TreeText(*tree);
  if (!printed.ok()) std::abort();
  const absl::StatusOr<understudy::SupervisorSpec> again = understudy::ParseTree(*printed, "t", *factories);
  if (!again.ok() || *understudy::TreeText(*again) != *printed) std::abort();
  return 0;
}
