// The main of an understudy_tree_test: parses the tree's file, and prints either all of
// its errors or the tree.
#include <cstdio>
#include <string>

#include "absl/status/statusor.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/transport/tree_factories.h"
#include "understudy/transport/tree_file.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s TREE.textproto\n", argv[0]);
    return 2;
  }
  const absl::StatusOr<understudy::SupervisorSpec> tree =
      understudy::ReadTreeFile(argv[1], understudy::TreeFactories());
  if (!tree.ok()) {
    fprintf(stderr, "%s\n", std::string(tree.status().message()).c_str());
    return 1;
  }
  printf("%s", understudy::DescribeTree(*tree).c_str());
  return 0;
}
