// SignalStack: while it lives, its thread has an alternate stack for signals (sigaltstack), so that a handler installed
// with SA_ONSTACK runs even when the thread has used up its own stack. A thread that already has an alternate stack,
// for example from a sanitizer, keeps that one.
//
// Constructed and destroyed by the thread that it serves. If no memory can be mapped, the thread has no alternate
// stack.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_SIGNAL_STACK_H_
#define UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_SIGNAL_STACK_H_

#include <cstddef>
#include <cstdint>

namespace understudy::internal {

class SignalStack {
 public:
  SignalStack();
  ~SignalStack();
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

  // True if `address` lies in the guard pages below this thread's stack, so that an access to it means that the stack
  // has overflowed. False on a thread without a SignalStack. Async-signal-safe.
  static bool IsOverflow(uintptr_t address);

 private:
  void* memory_ = nullptr;  // null if the thread had an alternate stack before, or has none
  size_t bytes_ = 0;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_SIGNAL_STACK_H_
