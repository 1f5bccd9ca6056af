// Fiber: a function with a stack of its own that runs in pieces on one thread.
//
// Resume runs the next piece; Yield, called inside the fiber, ends that piece. A fiber can run several functions, one
// after another. Builds with the address or thread sanitizer cannot use fibers, because these sanitizers must be told
// of each change of stack.
#ifndef UNDERSTUDY_TESTS_MODEL_FIBER_H_
#define UNDERSTUDY_TESTS_MODEL_FIBER_H_

#include <setjmp.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

namespace understudy::model {

class Fiber {
 public:
  Fiber() = default;
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Sets the function to run next. Requires that the previous one has ended.
  void Set(std::function<void()> body) {
    body_ = std::move(body);
    is_done_ = false;
  }
  // Runs the function until it yields or ends. Must not be called inside a fiber.
  void Resume();
  // Called inside this fiber: returns to the caller of Resume.
  void Yield();
  bool is_done() const { return is_done_; }

 private:
  static void Enter();
  [[noreturn]] void Loop();

  static constexpr size_t kStackBytes = 256 * 1024;
  std::unique_ptr<char[]> stack_;
  std::function<void()> body_;
  bool is_done_ = true;
  jmp_buf outside_;
  jmp_buf inside_;
};

}  // namespace understudy::model

#endif  // UNDERSTUDY_TESTS_MODEL_FIBER_H_
