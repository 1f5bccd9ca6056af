#include "understudy/transport/grpc/evidence_watch.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/pid.h"
#include "understudy/transport/credentials.h"
#include "understudy/transport/sockets/peer_evidence.h"
#include "understudy/transport/sockets/peer_process.h"
#include "understudy/transport/sockets/socket_thread.h"

namespace understudy::internal {
namespace {

bool IsOfThisMachine(const NodeAddress& address) { return address.reach != NodeAddress::Reach::kNetwork; }

bool MeansNobodyListens(int error) { return error == ECONNREFUSED || error == ENOENT; }

// Begins to connect. Returns the descriptor or -1; `error` is the errno of connect, 0 if the socket is connected.
int BeginConnect(const NodeAddress& address, int& error) {
  sockaddr_storage storage{};
  socklen_t size = 0;
  if (address.reach == NodeAddress::Reach::kUnixSocket) {
    auto& local = reinterpret_cast<sockaddr_un&>(storage);
    local.sun_family = AF_UNIX;
    memcpy(local.sun_path, address.path.data(), address.path.size());  // Parse has bounded it
    size = sizeof(local);
  } else if (auto& v4 = reinterpret_cast<sockaddr_in&>(storage);
             inet_pton(AF_INET, address.host.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(static_cast<uint16_t>(address.port));
    size = sizeof(v4);
  } else {
    auto& v6 = reinterpret_cast<sockaddr_in6&>(storage);
    inet_pton(AF_INET6, address.host.c_str(), &v6.sin6_addr);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(static_cast<uint16_t>(address.port));
    size = sizeof(v6);
  }
  const int made = socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  error = errno;
  if (made < 0) return -1;
  error = connect(made, reinterpret_cast<const sockaddr*>(&storage), size) == 0 ? 0 : errno;
  return made;
}

}  // namespace

class EvidenceWatch::State : public std::enable_shared_from_this<State> {
 public:
  explicit State(Proved proved) : proved_(std::move(proved)) {}

  void OnCarried(absl::string_view node, NodeIncarnation incarnation, absl::string_view address,
                 std::shared_ptr<const PeerProcess> process) {
    absl::MutexLock lock(&mu_);
    ForgetLocked(node);
    Peer& peer = peers_[std::string(node)];
    peer.incarnation = incarnation;
    peer.life = ++last_life_;
    if (const absl::StatusOr<NodeAddress> parsed = NodeAddress::Parse(address);
        parsed.ok() && IsOfThisMachine(*parsed)) {
      peer.address = *parsed;
    }
    if (process != nullptr) {
      const absl::StatusOr<uint64_t> watch =
          thread_.Watch(process->descriptor(), EPOLLIN,
                        [weak = weak_from_this(), node = std::string(node), life = peer.life](uint32_t) {
                          if (const std::shared_ptr<State> self = weak.lock(); self != nullptr)
                            self->ProcessEnded(node, life);
                        });
      if (watch.ok()) {
        peer.watch = *watch;
        peer.process = std::move(process);
      }
    }
    peer.evidence.OnCarried(peer.address.has_value(), peer.process != nullptr);
  }
  void OnBroken(absl::string_view node) {
    absl::MutexLock lock(&mu_);
    const auto peer = peers_.find(node);
    if (peer == peers_.end()) return;
    peer->second.evidence.OnBroken(Clock::Real().Now());
    // Runs later on the SocketThread, because the caller may hold locks that `proved` takes.
    LookAtLocked(Clock::Real().Now(), peer->first, peer->second.life);
  }
  void OnOver(absl::string_view node) {
    absl::MutexLock lock(&mu_);
    ForgetLocked(node);
  }
  void Close() {
    absl::MutexLock lock(&mu_);
    closed_ = true;
    while (!peers_.empty()) ForgetLocked(peers_.begin()->first);
    mu_.Await(absl::Condition(+[](int* telling) { return *telling == 0; }, &telling_));
  }

 private:
  struct Peer {
    NodeIncarnation incarnation;
    uint64_t life = 0;  // tells this entry from a later one for the same node, with another session or stream
    PeerEvidence evidence;
    absl::optional<NodeAddress> address;
    std::shared_ptr<const PeerProcess> process;
    uint64_t watch = 0;
  };

  Peer* FindLocked(const std::string& node, uint64_t life) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const auto peer = peers_.find(node);
    return peer == peers_.end() || peer->second.life != life ? nullptr : &peer->second;
  }
  void ForgetLocked(absl::string_view node) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const auto peer = peers_.find(node);
    if (peer == peers_.end()) return;
    if (peer->second.watch != 0) thread_.Forget(peer->second.watch);
    peers_.erase(peer);
  }
  void LookAtLocked(MonotonicTime time, const std::string& node, uint64_t life) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    thread_.RunAt(time, [weak = weak_from_this(), node, life] {
      if (const std::shared_ptr<State> self = weak.lock(); self != nullptr) self->Look(node, life);
    });
  }

  // On the SocketThread.
  void ProcessEnded(const std::string& node, uint64_t life) {
    {
      absl::MutexLock lock(&mu_);
      Peer* const peer = FindLocked(node, life);
      if (peer == nullptr) return;
      thread_.Forget(std::exchange(peer->watch, 0));  // the pidfd stays readable, and would call again and again
      peer->evidence.OnProcessEnded();
    }
    Look(node, life);
  }
  // Calls `proved` if the end of the peer is proved, or begins a dial that is due.
  void Look(const std::string& node, uint64_t life) {
    NodeAddress address;
    NodeIncarnation incarnation;
    bool is_proved = false;
    {
      absl::MutexLock lock(&mu_);
      Peer* const peer = FindLocked(node, life);
      if (peer == nullptr || closed_) return;
      is_proved = peer->evidence.is_proved();
      if (is_proved) {
        incarnation = peer->incarnation;
        ForgetLocked(node);
        ++telling_;
      } else {
        const MonotonicTime at = peer->evidence.NextDial();
        if (at.is_infinite()) return;
        if (at > Clock::Real().Now()) return LookAtLocked(at, node, life);
        peer->evidence.OnDialBegun();
        address = *peer->address;
      }
    }
    if (!is_proved) return Dial(address, node, life);
    proved_(node, incarnation);
    absl::MutexLock lock(&mu_);
    --telling_;
  }
  void Dial(const NodeAddress& address, const std::string& node, uint64_t life) {
    int error = 0;
    const int dialled = BeginConnect(address, error);
    if (dialled < 0 || error != EINPROGRESS) {
      if (dialled >= 0) close(dialled);
      return Answered(dialled >= 0 && MeansNobodyListens(error), node, life);
    }
    // EndDial closes the descriptor, at the answer or at the timeout, whichever comes first.
    auto open = std::make_shared<OpenDial>();
    const absl::StatusOr<uint64_t> watch =
        thread_.Watch(dialled, EPOLLOUT, [weak = weak_from_this(), open, dialled, node, life](uint32_t) {
          int answer = 0;
          socklen_t size = sizeof(answer);
          getsockopt(dialled, SOL_SOCKET, SO_ERROR, &answer, &size);
          EndDial(weak, open, dialled, MeansNobodyListens(answer), node, life);
        });
    if (!watch.ok()) {
      close(dialled);
      return Answered(false, node, life);
    }
    open->watch = *watch;  // its callback comes on this thread, later
    thread_.RunAt(Clock::Real().Now() + kDialAnsweredWithin, [weak = weak_from_this(), open, dialled, node, life] {
      EndDial(weak, open, dialled, false, node, life);
    });
  }
  struct OpenDial {
    uint64_t watch = 0;
    bool is_over = false;
  };
  static void EndDial(const std::weak_ptr<State>& weak, const std::shared_ptr<OpenDial>& open, int dialled,
                      bool nobody_listens, const std::string& node, uint64_t life) {
    if (std::exchange(open->is_over, true)) return;
    SocketThread::Process().Forget(open->watch);
    close(dialled);
    if (const std::shared_ptr<State> self = weak.lock(); self != nullptr) self->Answered(nobody_listens, node, life);
  }
  void Answered(bool nobody_listens, const std::string& node, uint64_t life) {
    {
      absl::MutexLock lock(&mu_);
      Peer* const peer = FindLocked(node, life);
      if (peer == nullptr) return;
      const MonotonicTime now = Clock::Real().Now();
      if (nobody_listens) {
        peer->evidence.OnNobodyListens(now);
      } else {
        peer->evidence.OnDialProvedNothing(now);
      }
    }
    Look(node, life);
  }

  SocketThread& thread_ = SocketThread::Process();
  const Proved proved_;
  absl::Mutex mu_;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  int telling_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t last_life_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<std::string, Peer, std::less<>> peers_ ABSL_GUARDED_BY(mu_);
};

EvidenceWatch::EvidenceWatch(Proved proved) : state_(std::make_shared<State>(std::move(proved))) {}
void EvidenceWatch::Stop() { state_->Close(); }
void EvidenceWatch::OnCarried(absl::string_view node, NodeIncarnation incarnation, absl::string_view address,
                              std::shared_ptr<const PeerProcess> process) {
  state_->OnCarried(node, incarnation, address, std::move(process));
}
void EvidenceWatch::OnBroken(absl::string_view node) { state_->OnBroken(node); }
void EvidenceWatch::OnOver(absl::string_view node) { state_->OnOver(node); }

}  // namespace understudy::internal
