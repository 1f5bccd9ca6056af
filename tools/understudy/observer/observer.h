// Observer: serves the observer page, which shows nodes live in a browser and acts on them.
//
//   absl::StatusOr<std::unique_ptr<Observer>> observer = Observer::Start({.nodes = {"/run/house/ops"}});
//   std::cout << (*observer)->PrintedAddress() << "\n";   // open it in a browser
//
// Guarantees: the observer is a client of the nodes' operator's services (transport/ops/ops.h) and has no other rights
// there than its user. While no page is open, the observer asks the nodes nothing.
// Security: the observer listens on 127.0.0.1 only. PageGuard decides which requests are answered: reads and actions
// need the token that the printed address has in its fragment. The page loads nothing from elsewhere. No other page can
// show it in a frame or read its data. Threads: any. Lifetime: the destructor ends all pages, and waits for answers
// that nodes still owe, at most limits::kObserverAnswersWithin.
#ifndef UNDERSTUDY_TOOLS_UNDERSTUDY_OBSERVER_OBSERVER_H_
#define UNDERSTUDY_TOOLS_UNDERSTUDY_OBSERVER_OBSERVER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "understudy/transport/credentials.h"

namespace understudy::tool {

struct ObserverOptions {
  // The addresses of the nodes' operator's services (OpsTarget), one to limits::kObservedNodesMax. A node need not run
  // yet.
  std::vector<std::string> nodes;
  // The operator's certificate, for addresses with tls://.
  TlsFiles tls;
  // 0: a free port.
  int port = 0;
};

class Observer {
 public:
  // InvalidArgument: there are no nodes, or too many, or the port is none. AlreadyExists: the port is taken.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<Observer>> Start(ObserverOptions options);

  ~Observer();
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

  // Returns http://127.0.0.1:PORT/#TOKEN. The token gives all rights of the observer's user, so write the address to
  // the terminal of that user and never to a log.
  std::string PrintedAddress() const;

 private:
  class Parts;
  explicit Observer(std::unique_ptr<Parts> parts);

  const std::unique_ptr<Parts> parts_;
};

}  // namespace understudy::tool

#endif  // UNDERSTUDY_TOOLS_UNDERSTUDY_OBSERVER_OBSERVER_H_
