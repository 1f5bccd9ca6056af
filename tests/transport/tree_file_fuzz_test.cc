// No text crashes the reader of tree files. The errors of a bad text are readable lines, and a text that the reader
// accepts can be printed and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/wrappers.pb.h"
#include "understudy/actors/actor.h"
#include "understudy/supervision/actor_factories.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/transport/tree_file.h"

namespace understudy {
namespace {

void Expect(bool holds, absl::string_view what, absl::string_view text) {
  if (holds) return;
  std::cerr << what << ":\n" << text << "\n";
  std::abort();
}

// "error in t:1: …", or "2 errors in t:" and a line for each.
void ExpectReadable(const absl::Status& status) {
  const absl::string_view text = status.message();
  Expect(absl::IsInvalidArgument(status), "another code", status.ToString());
  for (const char c : text) Expect(c == '\n' || (c >= ' ' || c < 0), "a control character", text);
  // A proto's strings are checked when it is written.
  google::protobuf::StringValue value;
  value.set_value(std::string(text));
  google::protobuf::StringValue again;
  Expect(again.ParseFromString(value.SerializeAsString()), "no UTF-8", text);
  const std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  if (lines.size() == 1) {
    Expect(absl::StartsWith(text, "error in t:"), "another beginning", text);
    return;
  }
  Expect(absl::StrContains(lines[0], " errors in t"), "another beginning", text);
  for (size_t i = 1; i < lines.size(); ++i) Expect(absl::StartsWith(lines[i], "  t:"), "a line without a place", text);
  for (const absl::string_view line : lines) Expect(line.size() < 4500, "a long line", text);
}

const ActorFactories& Factories() {
  using google::protobuf::StringValue;
  static const auto* const factories = [] {
    auto* made = new ActorFactories;
    made->Add("book", [] { return nullptr; }).Add<StringValue>("lot", [](const StringValue&) {
      return std::unique_ptr<Actor>();
    });
    return made;
  }();
  return *factories;
}

}  // namespace
}  // namespace understudy

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using understudy::Expect;
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<understudy::SupervisorSpec> tree = understudy::ParseTree(text, "t", understudy::Factories());
  if (!tree.ok()) {
    understudy::ExpectReadable(tree.status());
    return 0;
  }
  Expect(!understudy::DescribeTree(*tree).empty(), "no description", text);
  const absl::StatusOr<std::string> printed = understudy::TreeText(*tree);
  Expect(printed.ok(), "cannot be printed", printed.status().ToString());
  const absl::StatusOr<understudy::SupervisorSpec> again =
      understudy::ParseTree(*printed, "t", understudy::Factories());
  Expect(again.ok(), again.status().ToString(), *printed);
  Expect(*understudy::TreeText(*again) == *printed, "printed otherwise the second time", *printed);
  return 0;
}
