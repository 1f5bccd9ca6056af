// finder BINARY: calls FindBinary, and writes to descriptor 3 the path that it gives, or its error.
#include <unistd.h>

#include <string>

#include "absl/status/statusor.h"
#include "understudy/transport/process/os_process.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const absl::StatusOr<std::string> found = understudy::FindBinary(argv[1]);
  const std::string text = found.ok() ? *found : found.status().ToString();
  return write(3, text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : 1;
}
