#include "understudy/actors/internal/scheduling/os_thread.h"

#include <pthread.h>

#include <utility>

#include "absl/functional/any_invocable.h"
#include "understudy/actors/check.h"
#include "understudy/actors/internal/memory/block_pool.h"
#include "understudy/actors/internal/scheduling/signal_stack.h"

namespace understudy::internal {

void* OsThread::Main(void* thread) {
  const SignalStack signal_stack;
  ReturnBlocksAtExit();
  static_cast<OsThread*>(thread)->body_();
  return nullptr;
}

bool OsThread::Start(const char* name, absl::AnyInvocable<void()> body) {
  UNDERSTUDY_CHECK(!is_joinable_, "the thread was started before, and not joined");
  body_ = std::move(body);
  if (pthread_create(&thread_, nullptr, &OsThread::Main, this) != 0) return false;
  pthread_setname_np(thread_, name);
  is_joinable_ = true;
  return true;
}

void OsThread::Join() {
  if (!is_joinable_) return;
  UNDERSTUDY_CHECK(pthread_join(thread_, nullptr) == 0, "a thread joins itself");
  is_joinable_ = false;
}

}  // namespace understudy::internal
