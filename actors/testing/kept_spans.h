// KeptSpans: a SpanSink that keeps the spans for a test.
//
//   KeptSpans spans;
//   TestSystem system;
//   system.TraceTo(spans);
//   …
//   EXPECT_THAT(spans.all(), …);
//
// Any thread. It must outlive the systems that use it.
#ifndef UNDERSTUDY_ACTORS_TESTING_KEPT_SPANS_H_
#define UNDERSTUDY_ACTORS_TESTING_KEPT_SPANS_H_

#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "understudy/actors/trace.h"

namespace understudy {

class KeptSpans final : public SpanSink {
 public:
  void Take(const Span& span) override {
    absl::MutexLock lock(&mu_);
    spans_.push_back(span);
  }
  // In the order in which they ended.
  std::vector<Span> all() const {
    absl::MutexLock lock(&mu_);
    return spans_;
  }

 private:
  mutable absl::Mutex mu_;
  std::vector<Span> spans_ ABSL_GUARDED_BY(mu_);
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_TESTING_KEPT_SPANS_H_
