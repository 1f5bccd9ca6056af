// TreeFactories: the factories against which an understudy_tree_test
// (bazel/understudy.bzl) checks a tree's file.
//
// The program defines this function, in the library that the test names as `factories`.
// The program's main should call it too, so that the test and the program know the same
// factories.
#ifndef UNDERSTUDY_TRANSPORT_TREE_FACTORIES_H_
#define UNDERSTUDY_TRANSPORT_TREE_FACTORIES_H_

#include "understudy/supervision/actor_factories.h"

namespace understudy {

// Returns every factory that the tree may name.
ActorFactories TreeFactories();

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_TREE_FACTORIES_H_
