// Functions that catch the exceptions of user code. The library also builds without exceptions.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_EXCEPTIONS_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_EXCEPTIONS_H_

#include <exception>
#include <utility>

#include "absl/base/attributes.h"
#include "understudy/actors/exit_reason.h"

namespace understudy::internal {

// ExitReason::Exception with its type and text.
ExitReason DescribeException(const std::exception_ptr& exception);

// Runs `code`. Returns the exception that left it, or null.
template <class F>
std::exception_ptr Caught(F&& code) {
#if defined(__cpp_exceptions)
  try {
    std::forward<F>(code)();
  } catch (...) {
    return std::current_exception();
  }
#else
  std::forward<F>(code)();
#endif
  return nullptr;
}

// Runs `code`, then `on_thrown` with the exception that left it, if one has.
template <class F, class G>
ABSL_ATTRIBUTE_ALWAYS_INLINE inline void Guarded(F&& code, [[maybe_unused]] G&& on_thrown) {
#if defined(__cpp_exceptions)
  try {
    std::forward<F>(code)();
  } catch (...) {
    std::forward<G>(on_thrown)(std::current_exception());
  }
#else
  std::forward<F>(code)();
#endif
}

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_EXCEPTIONS_H_
