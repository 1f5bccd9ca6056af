// Where exceptions of user code end. The library also builds without them.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_EXCEPTIONS_H_
#define UNDERSTUDY_ACTORS_INTERNAL_EXCEPTIONS_H_

#include <exception>

#include "absl/functional/function_ref.h"
#include "absl/types/optional.h"
#include "understudy/actors/exit_reason.h"

namespace understudy::internal {

// Runs `code`; the exit reason of an exception that leaves it, or nothing.
absl::optional<ExitReason> CatchExceptions(absl::FunctionRef<void()> code);

// ExitReason::Exception with its type and text.
ExitReason DescribeException(const std::exception_ptr& exception);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_EXCEPTIONS_H_
