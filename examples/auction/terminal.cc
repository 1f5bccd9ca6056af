#include "understudy/examples/auction/terminal.h"

#include <unistd.h>

#include <iostream>

#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "understudy/examples/auction/wrap_text.h"

namespace auction {

Terminal::Terminal() : is_one_(isatty(STDOUT_FILENO) == 1) {}

void Terminal::ClearStatus() {
  if (has_status_) std::cout << "\r\033[K";
  has_status_ = false;
}

void Terminal::Line(absl::string_view text) {
  absl::MutexLock lock(&mu_);
  ClearStatus();
  std::cout << text << '\n' << std::flush;
}

void Terminal::Status(absl::string_view text) {
  absl::MutexLock lock(&mu_);
  if (!is_one_) {
    std::cout << "  " << text << '\n' << std::flush;
    return;
  }
  ClearStatus();
  std::cout << text.substr(0, kColumns - 1) << std::flush;
  has_status_ = true;
}

void Terminal::Clear() {
  absl::MutexLock lock(&mu_);
  ClearStatus();
  std::cout << std::flush;
}

}  // namespace auction
