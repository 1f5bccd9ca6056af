// A supervision tree as a file: a textproto whose children name registered
// factories (supervision/actor_factories.h).
//
//   absl::StatusOr<SupervisorSpec> tree = ReadTreeFile("house.textproto", factories);
//   if (!tree.ok()) …                     // every error, one a line, each with file, line and child
//   return node.RunTree(MakeSupervisor(*tree));
//
// The format is proto/supervision_tree.proto. What is read has been checked:
// besides what FindSpecErrors finds, each factory must be registered and take
// the argument that it is given, but for those of other nodes. A syntax error, a word that an enum does not
// have or a number that is too large ends the reading, as everywhere in text
// protos: then it is the last error in the list. `on_event` is a program's
// affair, and never in a file.
//
// Any thread.
#ifndef UNDERSTUDY_TRANSPORT_TREE_FILE_H_
#define UNDERSTUDY_TRANSPORT_TREE_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "understudy/supervision/actor_factories.h"
#include "understudy/supervision/child_spec.h"

namespace understudy {

// The tree in `text`; `file` is its name in errors. InvalidArgument with all of
// them (the first thousand), one a line, in which what no terminal should print
// is escaped:
//
//   2 errors in house.textproto:
//     house.textproto:3: child 'book': actor.factory: there is no factory 'bok'; registered: book, lot
//     house.textproto:7: child 'lots' / child 'lot-1': shutdown: …
absl::StatusOr<SupervisorSpec> ParseTree(absl::string_view text, absl::string_view file,
                                         const ActorFactories& factories);

// The tree in the file at `path`. NotFound or PermissionDenied when it cannot
// be read, ResourceExhausted above limits::kTreeFileBytesMax.
absl::StatusOr<SupervisorSpec> ReadTreeFile(const std::string& path, const ActorFactories& factories);

// The text from which ParseTree makes the same tree. Fields that have their
// defaults are left out. InvalidArgument names the children that no registered
// factory makes: a file cannot say what those are.
absl::StatusOr<std::string> TreeText(const SupervisorSpec& spec);

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_TREE_FILE_H_
