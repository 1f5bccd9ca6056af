#include "understudy/tools/understudy/lint.h"

#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "understudy/actors/printable_text.h"
#include "understudy/proto/ops.pb.h"
#include "understudy/tools/understudy/tables.h"
#include "understudy/transport/tree_file.h"

namespace understudy::tool {

absl::Status RunLint(const Arguments& arguments, std::ostream& out) {
  const std::string& path = arguments.operands[0];
  const std::string file = PrintableText(path, Backslashes::kKeep);
  const absl::StatusOr<std::vector<TreeFileError>> errors = LintTreeFile(path);
  if (!errors.ok()) {
    return absl::Status(errors.status().code(), PrintableText(errors.status().message(), Backslashes::kKeep));
  }
  for (const TreeFileError& error : *errors) {
    if (arguments.json) {
      proto::TreeFileFault fault;
      fault.set_file(file);
      fault.set_line(error.line);
      fault.set_column(error.column);
      fault.set_text(error.text);
      out << FormatJson(fault);
    } else {
      out << file << ":" << error.line << ":" << (error.column == 0 ? "" : absl::StrCat(error.column, ":")) << " "
          << error.text << "\n";
    }
  }
  if (!errors->empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, " has ", errors->size(), errors->size() == 1 ? " error" : " errors"));
  }
  if (!arguments.json) {
    out << file
        << ": no errors. The names and arguments of factories are not checked here: the understudy_tree_test of "
        << "the tree's program (bazel/understudy.bzl) checks them.\n";
  }
  return absl::OkStatus();
}

}  // namespace understudy::tool
