// Functions by which an actor's turn runs user code. Call them in kernel code.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_IN_USER_CODE_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_IN_USER_CODE_H_

#include <exception>

#include "absl/base/attributes.h"
#include "understudy/actors/internal/scheduling/worker.h"
#include "understudy/actors/internal/turn/exceptions.h"

namespace understudy::internal {

// Runs `code` as user code.
template <class F>
ABSL_ATTRIBUTE_ALWAYS_INLINE inline void InUserCode(F&& code) {
  UserCode user(*ThisWorker());
  code();
}

// Runs `code` as user code. Returns the exception that left it, or null.
template <class F>
ABSL_ATTRIBUTE_ALWAYS_INLINE inline std::exception_ptr CaughtInUserCode(F&& code) {
  UserCode user(*ThisWorker());
  return Caught(code);
}

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_IN_USER_CODE_H_
