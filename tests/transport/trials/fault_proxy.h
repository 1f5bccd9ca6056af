// FaultProxy: a TCP proxy on loopback between two nodes of a test, which stalls, cuts, resets, delays and throttles the
// bytes that it carries.
//
//   FaultProxy proxy(ledger.address());
//   Node::Start(system, {.listen = "", .peers = {{"ledger", proxy.address()}}});
//   proxy.Stall(FaultProxy::kBothWays);
//   proxy.Heal();
//
// A fault holds for existing connections and for new ones, until Heal. The proxy always listens, so every dial is
// accepted and nothing proves to the dialing node that the node behind the proxy is dead.
// Threads: any; one thread of its own moves the bytes.
#ifndef UNDERSTUDY_TESTS_TRANSPORT_TRIALS_FAULT_PROXY_H_
#define UNDERSTUDY_TESTS_TRANSPORT_TRIALS_FAULT_PROXY_H_

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "understudy/actors/clock.h"

namespace understudy::net_testing {

class FaultProxy {
 public:
  // Directions, as bits: from the dialling node to the listening one, and back.
  static constexpr int kToListener = 1;
  static constexpr int kToDialler = 2;
  static constexpr int kBothWays = kToListener | kToDialler;

  // `target` is an IPv4 address with a port.
  explicit FaultProxy(absl::string_view target);
  ~FaultProxy();
  FaultProxy(const FaultProxy&) = delete;
  FaultProxy& operator=(const FaultProxy&) = delete;

  const std::string& address() const { return address_; }

  // Stops reading and forwarding in these directions, and keeps the connections open.
  void Stall(int directions);
  // Closes all connections, and each new one as it comes.
  void Cut();
  // Ends all connections with a reset (SO_LINGER 0). Later connections are not affected.
  void ResetAll();
  // Forwards bytes late by `by`, in each direction.
  void Delay(absl::Duration by);
  // Forwards at most `bytes_per_second` in each direction of each connection.
  void Throttle(int64_t bytes_per_second);
  // Ends all faults.
  void Heal();

  // Returns the number of connections accepted so far.
  int64_t accepted();
  // Returns the bytes that the dialling node has sent on the newest connection, as far as the proxy has read them.
  std::string said();

 private:
  struct Chunk {
    MonotonicTime due;
    std::string bytes;
  };
  struct Pipe {  // one direction of a connection
    std::deque<Chunk> chunks;
    size_t held_bytes = 0;
    MonotonicTime may_write_at;  // throttled
  };
  struct Connection {
    std::array<int, 2> ends = {-1, -1};  // the dialler's, the listener's
    std::array<Pipe, 2> pipes;           // from ends[i] to ends[1 - i]
    int64_t number = 0;                  // of the accept
    bool is_over = false;                // closed by the next Turn,
    bool is_reset = false;               // with a reset
  };

  void Run();
  // How long poll may wait, in milliseconds.
  int Turn() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AcceptOne() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Read(Connection& connection, int from) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Write(Connection& connection, int from, MonotonicTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Wake() const;
  bool is_stalled(int from) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return (stalled_ & (1 << from)) != 0; }

  const int listening_;
  const int wake_;  // an eventfd
  uint16_t target_port_ = 0;
  uint32_t target_host_ = 0;
  std::string address_;

  absl::Mutex mu_;
  std::list<Connection> connections_ ABSL_GUARDED_BY(mu_);
  int stalled_ ABSL_GUARDED_BY(mu_) = 0;
  bool is_cut_ ABSL_GUARDED_BY(mu_) = false;
  absl::Duration delay_ ABSL_GUARDED_BY(mu_);
  int64_t bytes_per_second_ ABSL_GUARDED_BY(mu_) = 0;  // 0: as fast as it goes
  int64_t accepted_ ABSL_GUARDED_BY(mu_) = 0;
  std::string said_ ABSL_GUARDED_BY(mu_);
  bool stop_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace understudy::net_testing

#endif  // UNDERSTUDY_TESTS_TRANSPORT_TRIALS_FAULT_PROXY_H_
