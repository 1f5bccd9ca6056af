// PageThread: makes the page of metrics on a thread of its own, so that a page that takes long delays no probe.
//
// Guarantees: a page is kept for some time (kept_page.h). Requests that come while a page is made wait for it; beyond
// limits::kMetricsScrapesMax of them further ones are answered with status 503 at once.
// Threads: any.
#ifndef UNDERSTUDY_TRANSPORT_METRICS_PAGE_THREAD_H_
#define UNDERSTUDY_TRANSPORT_METRICS_PAGE_THREAD_H_

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "understudy/transport/http/http_message.h"

namespace understudy::internal {

class PageThread {
 public:
  // `make` returns a page in Exposition's format. It runs on the thread.
  explicit PageThread(std::function<std::string()> make);
  // Waits for the page that is being made. Requests that wait are not answered.
  ~PageThread();
  PageThread(const PageThread&) = delete;
  PageThread& operator=(const PageThread&) = delete;

  // Answers with the page, once it is made.
  void Answer(const HttpReplier& replier);

 private:
  void Run();
  bool HasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return is_stopping_ || !waiting_.empty(); }

  const std::function<std::string()> make_;
  absl::Mutex mu_;
  std::vector<HttpReplier> waiting_ ABSL_GUARDED_BY(mu_);  // until their page is made
  bool is_stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_METRICS_PAGE_THREAD_H_
