// UNDERSTUDY_CHECK: ends the process if `condition` is false, which is a programming error.
//
//   UNDERSTUDY_CHECK(index < size, "index ", index, " is not below ", size);
//
// A failed check prints file, line, the condition and the message to standard error and aborts. Errors
// that a caller can act on are returned as an absl::Status instead. UNDERSTUDY_DCHECK is
// the same in debug builds and does nothing with NDEBUG. Threads: any.
#ifndef UNDERSTUDY_ACTORS_CHECK_H_
#define UNDERSTUDY_ACTORS_CHECK_H_

#if !defined(__cplusplus) || __cplusplus < 202002L
#error "Understudy needs C++20: build with -std=c++20 (Bazel: --cxxopt=-std=c++20, or BAZEL_CXXOPTS=-std=c++20)"
#endif

#include <string>
#include <type_traits>

#include "absl/base/attributes.h"
#include "absl/base/optimization.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace understudy::internal {

[[noreturn]] void CheckFailed(const char* file, int line, absl::string_view condition, absl::string_view message);

// The type by which a part of the message is passed to CheckFailedWith: scalars by value, others by reference.
template <class T, class Decayed = std::decay_t<const T&>>
using CheckPart = std::conditional_t<std::is_scalar_v<Decayed>, Decayed, const T&>;

// Not inline, so that a function with checks needs no stack space for messages; scalars by value, so that a check does
// not force the function's variables into memory.
template <class... Parts>
[[noreturn]] ABSL_ATTRIBUTE_NOINLINE ABSL_ATTRIBUTE_COLD void CheckFailedWith(const char* file, int line,
                                                                              absl::string_view condition,
                                                                              Parts... parts) {
  CheckFailed(file, line, condition, absl::StrCat(parts...));
}
template <class... Parts>
[[noreturn]] ABSL_ATTRIBUTE_ALWAYS_INLINE inline void CheckFailedIn(const char* file, int line,
                                                                    absl::string_view condition,
                                                                    const Parts&... parts) {
  CheckFailedWith<CheckPart<Parts>...>(file, line, condition, parts...);
}

}  // namespace understudy::internal

#define UNDERSTUDY_CHECK(condition, ...)                                                                \
  do {                                                                                                  \
    if (ABSL_PREDICT_FALSE(!(condition))) {                                                             \
      ::understudy::internal::CheckFailedIn(__FILE__, __LINE__, #condition __VA_OPT__(, ) __VA_ARGS__); \
    }                                                                                                   \
  } while (false)

#ifdef NDEBUG
#define UNDERSTUDY_DCHECK(condition, ...)                \
  do {                                                   \
    if (false) UNDERSTUDY_CHECK(condition, __VA_ARGS__); \
  } while (false)
#else
#define UNDERSTUDY_DCHECK(condition, ...) UNDERSTUDY_CHECK(condition, __VA_ARGS__)
#endif

#endif  // UNDERSTUDY_ACTORS_CHECK_H_
