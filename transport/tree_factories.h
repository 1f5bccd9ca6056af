// TreeFactories: what an understudy_tree_test (bazel/understudy.bzl) checks a
// tree's file against.
//
// Declared here, and defined by the program: by the library that the test
// names as `factories`, which the program's main had better use too, so that
// both know the same factories.
#ifndef UNDERSTUDY_TRANSPORT_TREE_FACTORIES_H_
#define UNDERSTUDY_TRANSPORT_TREE_FACTORIES_H_

#include "understudy/supervision/actor_factories.h"

namespace understudy {

// Every factory that the tree may name.
ActorFactories TreeFactories();

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_TREE_FACTORIES_H_
