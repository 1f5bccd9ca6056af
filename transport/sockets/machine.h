// Which processes mean the same thing by a loopback address or by the path of a Unix socket. Any thread.
#ifndef UNDERSTUDY_TRANSPORT_SOCKETS_MACHINE_H_
#define UNDERSTUDY_TRANSPORT_SOCKETS_MACHINE_H_

#include <cstdint>

namespace understudy::internal {

// A number that two processes share if they run in one network namespace and one mount namespace (namespaces(7)) of one
// boot of one machine, and practically never otherwise. 0 if /proc does not tell it.
uint64_t ThisMachine();

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_SOCKETS_MACHINE_H_
