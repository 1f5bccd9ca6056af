#include "understudy/transport/sockets/machine.h"

#include <sys/stat.h>

#include <cstdint>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"

namespace understudy::internal {

uint64_t ThisMachine() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  struct stat network = {};
  struct stat mounts = {};
  const bool has_namespaces = stat("/proc/self/ns/net", &network) == 0 && stat("/proc/self/ns/mnt", &mounts) == 0;
  if (boot.empty() || !has_namespaces) return 0;
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a (Fowler, Noll, Vo), 64 bits
  for (const char c : absl::StrCat(boot, " ", network.st_ino, " ", mounts.st_ino)) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return hash;
}

}  // namespace understudy::internal
