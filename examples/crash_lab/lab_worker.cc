#include "understudy/examples/crash_lab/lab_worker.h"

#include <unistd.h>

#include <csignal>
#include <stdexcept>
#include <string>

#include "absl/status/status.h"
#include "absl/synchronization/notification.h"
#include "understudy/examples/crash_lab/crash_lab.pb.h"

namespace crash_lab {
namespace {

constexpr int kExitCode = 3;

absl::Notification& HangingIsOver() {
  static absl::Notification* const over = new absl::Notification;
  return *over;
}

}  // namespace

void LabWorker::Break(const Breakage& how) {
  switch (how.kind()) {
    case Breakage::THROW:
#if defined(__cpp_exceptions)
      throw std::runtime_error(motto_);
#endif
    case Breakage::FAIL:
      Fail(absl::DataLossError(motto_));
      return;
    case Breakage::HANG:
      HangingIsOver().WaitForNotification();
      return;
    case Breakage::SEGV:
      signal(SIGSEGV, SIG_DFL);  // otherwise a sanitizer's handler would exit with a code instead
      raise(SIGSEGV);
      return;
    case Breakage::EXIT:
      _exit(kExitCode);
    default:
      return;
  }
}

void EndHanging() {
  if (!HangingIsOver().HasBeenNotified()) HangingIsOver().Notify();
}

}  // namespace crash_lab
