#include "understudy/transport/metrics/page_thread.h"

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "understudy/actors/clock.h"
#include "understudy/transport/http/http_message.h"
#include "understudy/transport/metrics/exposition.h"
#include "understudy/transport/metrics/kept_page.h"
#include "understudy/transport/metrics/metrics_limits.h"
#include "understudy/transport/sockets/thread.h"

namespace understudy::internal {

PageThread::PageThread(std::function<std::string()> make)
    : make_(std::move(make)), thread_(StartThread([this] { Run(); })) {}

PageThread::~PageThread() {
  {
    const absl::MutexLock lock(&mu_);
    is_stopping_ = true;
  }
  thread_.join();
}

void PageThread::Answer(const HttpReplier& replier) {
  size_t waiting = 0;
  {
    const absl::MutexLock lock(&mu_);
    waiting = waiting_.size();
    if (waiting < limits::kMetricsScrapesMax) return waiting_.push_back(replier);
  }
  replier.Answer({.status = 503, .body = absl::StrCat(waiting, " requests wait for the page already\n")});
}

void PageThread::Run() {
  KeptPage kept(Clock::Real());
  while (true) {
    std::vector<HttpReplier> asked;
    {
      const absl::MutexLock lock(&mu_);
      mu_.Await(absl::Condition(this, &PageThread::HasWork));
      if (is_stopping_) return;
      asked = waiting_;
    }
    const std::string& page = kept.Get(make_);
    {
      const absl::MutexLock lock(&mu_);
      waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(asked.size()));
    }
    for (const HttpReplier& replier : asked) {
      replier.Answer({.content_type = std::string(Exposition::kContentType), .body = page});
    }
  }
}

}  // namespace understudy::internal
