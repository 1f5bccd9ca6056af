#include "understudy/actors/internal/turn/exceptions.h"

#include <cxxabi.h>

#include <exception>
#include <string>
#include <typeinfo>

#include "absl/status/status.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/message.h"

namespace understudy::internal {

#if defined(__cpp_exceptions)

ExitReason DescribeException(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const std::exception& error) {
    return ExitReason::Exception(DemangledName(typeid(error).name()), error.what());
  } catch (const absl::Status& status) {
    return ExitReason::Exception("absl::Status", status.ToString());
  } catch (const std::string& text) {
    return ExitReason::Exception("std::string", text);
  } catch (const char* text) {
    return ExitReason::Exception("const char*", text == nullptr ? "" : text);
  } catch (...) {
    const std::type_info* type = abi::__cxa_current_exception_type();
    return ExitReason::Exception(type == nullptr ? "unknown" : DemangledName(type->name()), "");
  }
}

#else

ExitReason DescribeException(const std::exception_ptr& /*exception*/) { return ExitReason::Exception("unknown", ""); }

#endif

}  // namespace understudy::internal
