// UNDERSTUDY_SLOW_PATH: of a function that a quick path calls rarely. It is not
// inline, and leaves its caller's registers alone where the compiler can do
// that: the quick path saves none for it. On its first declaration.
//
// It throws nothing but bad_alloc, for the unwinder does not give those
// registers back. It is another calling convention: what is linked together is
// compiled by one compiler, and shared libraries are bound when they are loaded
// (-z now, as Bazel has it).
#ifndef UNDERSTUDY_ACTORS_INTERNAL_MEMORY_SLOW_PATH_H_
#define UNDERSTUDY_ACTORS_INTERNAL_MEMORY_SLOW_PATH_H_

#include "absl/base/attributes.h"

#if defined(__clang__) && (defined(__x86_64__) || defined(__aarch64__))
#define UNDERSTUDY_SLOW_PATH ABSL_ATTRIBUTE_NOINLINE __attribute__((preserve_most))
#else
#define UNDERSTUDY_SLOW_PATH ABSL_ATTRIBUTE_NOINLINE
#endif

#endif  // UNDERSTUDY_ACTORS_INTERNAL_MEMORY_SLOW_PATH_H_
