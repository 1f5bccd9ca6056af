#include "understudy/tests/model/fiber.h"

#include <setjmp.h>
#include <ucontext.h>

#include <memory>

#include "understudy/actors/check.h"

namespace understudy::model {
namespace {

Fiber* entering = nullptr;

}  // namespace

// setcontext switches to the new stack once; later switches use _longjmp, which needs no system call.
void Fiber::Resume() {
  UNDERSTUDY_CHECK(!is_done_, "nothing to run");
  if (_setjmp(outside_) != 0) return;
  if (stack_ != nullptr) _longjmp(inside_, 1);
  stack_ = std::make_unique<char[]>(kStackBytes);
  ucontext_t context;
  UNDERSTUDY_CHECK(getcontext(&context) == 0, "getcontext");
  context.uc_stack.ss_sp = stack_.get();
  context.uc_stack.ss_size = kStackBytes;
  context.uc_link = nullptr;
  entering = this;
  makecontext(&context, &Fiber::Enter, 0);
  setcontext(&context);
}

void Fiber::Yield() {
  if (_setjmp(inside_) == 0) _longjmp(outside_, 1);
}

void Fiber::Enter() { entering->Loop(); }

void Fiber::Loop() {
  for (;;) {
    body_();
    is_done_ = true;
    Yield();
  }
}

}  // namespace understudy::model
