// StartThread: how the transport starts its threads.
#ifndef UNDERSTUDY_TRANSPORT_SOCKETS_THREAD_H_
#define UNDERSTUDY_TRANSPORT_SOCKETS_THREAD_H_

#include <pthread.h>
#include <signal.h>

#include <functional>
#include <thread>
#include <utility>

namespace understudy::internal {

// Starts a thread with all signals blocked, so that signals are delivered to the program's
// own threads.
inline std::thread StartThread(std::function<void()> run) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(std::move(run));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_SOCKETS_THREAD_H_
