// SignalStack: while it lives, its thread has an alternate stack for signals (sigaltstack), so that a handler installed
// with SA_ONSTACK runs even when the thread has used up its own stack. A thread that has one already, as a sanitizer
// gives it, keeps that.
//
// Made and destroyed by its thread. Without memory for it the thread goes without.
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

  // Whether an access of this thread to `address` would mean that its stack has overflowed: it lies in the guard below
  // it. False on a thread without a SignalStack. Async-signal-safe.
  static bool IsOverflow(uintptr_t address);

 private:
  void* memory_ = nullptr;  // null: the thread has another one, or none
  size_t bytes_ = 0;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_SIGNAL_STACK_H_
