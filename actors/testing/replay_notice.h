// ReplayNotice: while it exists, a fatal signal writes a line to standard error before it takes its usual effect. So a
// test that crashes with a seed, by a CHECK for one, says how to repeat that.
//
//   ReplayNotice notice("this seed crashes: bazel test …");
//   body(seed);
//
// The signals are SIGABRT, SIGBUS, SIGFPE, SIGILL and SIGSEGV. One exists at a time. Threads: any may crash.
#ifndef UNDERSTUDY_ACTORS_TESTING_REPLAY_NOTICE_H_
#define UNDERSTUDY_ACTORS_TESTING_REPLAY_NOTICE_H_

#include <string>

namespace understudy {

class ReplayNotice {
 public:
  explicit ReplayNotice(std::string line);
  ~ReplayNotice();
  ReplayNotice(const ReplayNotice&) = delete;
  ReplayNotice& operator=(const ReplayNotice&) = delete;

 private:
  const std::string line_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_TESTING_REPLAY_NOTICE_H_
