// A supervision tree as a file: a textproto whose children name registered
// factories (supervision/actor_factories.h).
//
//   absl::StatusOr<SupervisorSpec> tree = ReadTreeFile("house.textproto", factories);
//   if (!tree.ok()) …                     // every error, one a line, each with file, line and child
//   return node.RunTree(MakeSupervisor(*tree));
//
// The format is proto/supervision_tree.proto. A tree that is returned is valid by
// FindSpecErrors, and each of its factories is registered and takes the argument that
// the file gives; factories of children on other nodes are not checked. A syntax error,
// an unknown enum word or a number out of range ends the parse, as in every text proto,
// and is then the last error of the list. A file cannot set `on_event`.
//
// Any thread.
#ifndef UNDERSTUDY_TRANSPORT_TREE_FILE_H_
#define UNDERSTUDY_TRANSPORT_TREE_FILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "understudy/supervision/actor_factories.h"
#include "understudy/supervision/child_spec.h"

namespace understudy {

// Parses the tree in `text`; `file` is its name in error messages. InvalidArgument
// lists all errors (the first thousand), one a line, with control characters and
// invalid UTF-8 escaped. ResourceExhausted: more than limits::kTreeFileBytesMax bytes.
//
//   2 errors in house.textproto:
//     house.textproto:3: child 'book': actor.factory: there is no factory 'bok'; registered: book, lot
//     house.textproto:7: child 'lots' / child 'lot-1': shutdown: …
absl::StatusOr<SupervisorSpec> ParseTree(absl::string_view text, absl::string_view file,
                                         const ActorFactories& factories);

// Parses the tree in the file at `path`, with ParseTree's errors. NotFound,
// PermissionDenied or another status of errno if the file cannot be opened.
absl::StatusOr<SupervisorSpec> ReadTreeFile(const std::string& path, const ActorFactories& factories);

// An error in a tree's file.
struct TreeFileError {
  int line = 1;
  int column = 0;  // 0: not known
  std::string text;
};

// Checks the tree in `text` without the program that runs it: as ParseTree does, but neither the names of factories nor
// their arguments, because only the program knows them. Returns the errors in the order of their lines (the first
// thousand), with control characters and invalid UTF-8 escaped; none if the program's ParseTree can fail for a factory
// only.
std::vector<TreeFileError> LintTree(absl::string_view text);

// LintTree for the file at `path`. A status: the file cannot be read, with the errors of ReadTreeFile.
absl::StatusOr<std::vector<TreeFileError>> LintTreeFile(const std::string& path);

// Returns the text from which ParseTree makes the same tree. Fields that have their
// default values are left out. InvalidArgument names the children that are not made by
// a registered factory, because a file cannot describe them.
absl::StatusOr<std::string> TreeText(const SupervisorSpec& spec);

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_TREE_FILE_H_
