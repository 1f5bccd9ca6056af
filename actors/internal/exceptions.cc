#include "understudy/actors/internal/exceptions.h"

#include <cxxabi.h>

#include <exception>
#include <typeinfo>

#include "absl/functional/function_ref.h"
#include "absl/types/optional.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/message.h"

namespace understudy::internal {

#if defined(__cpp_exceptions)

absl::optional<ExitReason> CatchExceptions(absl::FunctionRef<void()> code) {
  try {
    code();
    return absl::nullopt;
  } catch (...) {
    return DescribeException(std::current_exception());
  }
}

ExitReason DescribeException(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const std::exception& error) {
    return ExitReason::Exception(DemangledName(typeid(error).name()), error.what());
  } catch (...) {
    const std::type_info* type = abi::__cxa_current_exception_type();
    return ExitReason::Exception(type == nullptr ? "unknown" : DemangledName(type->name()), "");
  }
}

#else

absl::optional<ExitReason> CatchExceptions(absl::FunctionRef<void()> code) {
  code();
  return absl::nullopt;
}

ExitReason DescribeException(const std::exception_ptr& /*exception*/) { return ExitReason::Exception("unknown", ""); }

#endif

}  // namespace understudy::internal
