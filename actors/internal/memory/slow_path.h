// UNDERSTUDY_SLOW_PATH: marks, on its first declaration, a function that a fast
// path calls rarely. The function is not inlined and, where the compiler supports
// it, preserves its caller's registers, so the fast path saves none for the call.
//
// A marked function may throw nothing but bad_alloc, because the unwinder does not
// restore those registers. The attribute changes the calling convention: all code
// that is linked together must be compiled by one compiler, and shared libraries
// must be bound when they are loaded (-z now, Bazel's default).
#ifndef UNDERSTUDY_ACTORS_INTERNAL_MEMORY_SLOW_PATH_H_
#define UNDERSTUDY_ACTORS_INTERNAL_MEMORY_SLOW_PATH_H_

#include "absl/base/attributes.h"

#if defined(__clang__) && (defined(__x86_64__) || defined(__aarch64__))
#define UNDERSTUDY_SLOW_PATH ABSL_ATTRIBUTE_NOINLINE __attribute__((preserve_most))
#else
#define UNDERSTUDY_SLOW_PATH ABSL_ATTRIBUTE_NOINLINE
#endif

#endif  // UNDERSTUDY_ACTORS_INTERNAL_MEMORY_SLOW_PATH_H_
