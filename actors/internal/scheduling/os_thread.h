// OsThread: a thread with a name and a SignalStack, whose start may fail without
// ending the process. One thread starts and joins it.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_OS_THREAD_H_
#define UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_OS_THREAD_H_

#include <pthread.h>

#include <memory>

#include "absl/functional/any_invocable.h"

namespace understudy::internal {

class OsThread {
 public:
  OsThread() = default;
  ~OsThread() { Join(); }
  OsThread(const OsThread&) = delete;
  OsThread& operator=(const OsThread&) = delete;

  // Starts the thread, which must not be running. `name` has at most 15 bytes.
  // Returns false if the operating system creates no more threads.
  [[nodiscard]] bool Start(const char* name, absl::AnyInvocable<void()> body);
  // Waits until the thread has ended. Does nothing if it was not started.
  void Join();

 private:
  static void* Main(void* thread);

  pthread_t thread_{};
  bool is_joinable_ = false;
  absl::AnyInvocable<void()> body_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SCHEDULING_OS_THREAD_H_
