// CrashBy: ends an actor by an exception. In a build without exceptions it ends the actor with the exit reason that the
// exception would have given.
//
//   void Crash(int) { CrashBy(context(), std::logic_error("crashed")); }
#ifndef UNDERSTUDY_TESTS_ACTORS_CRASH_BY_H_
#define UNDERSTUDY_TESTS_ACTORS_CRASH_BY_H_

#include <typeinfo>

#include "understudy/actors/context.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/message.h"

namespace understudy {

// The last that a handler, or a start, does.
template <class E>
void CrashBy([[maybe_unused]] Context& context, const E& error) {
#if defined(__cpp_exceptions)
  throw error;
#else
  context.Stop(ExitReason::Exception(internal::DemangledName(typeid(E).name()), error.what()));
#endif
}

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_ACTORS_CRASH_BY_H_
