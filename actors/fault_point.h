// FaultPoint: a named switch that tests turn on to put a known bug or fault
// into the code, so that they can show that they would find it.
//
//   FaultPoint kForgetAck("session_forgets_ack");   // at namespace scope
//   if (kForgetAck.armed()) return;
//   ...
//   FaultPoint::Scope broken("session_forgets_ack");   // in a test
//
// Off in every program that does not turn it on. Any thread.
#ifndef UNDERSTUDY_ACTORS_FAULT_POINT_H_
#define UNDERSTUDY_ACTORS_FAULT_POINT_H_

#include <atomic>

#include "absl/strings/string_view.h"

namespace understudy {

class FaultPoint {
 public:
  // `name` must be unique in the program and live for ever.
  explicit FaultPoint(absl::string_view name);
  FaultPoint(const FaultPoint&) = delete;
  FaultPoint& operator=(const FaultPoint&) = delete;

  bool armed() const { return armed_.load(std::memory_order_relaxed); }

  // Arms the fault point of that name while the object lives; CHECKs that
  // there is one.
  class Scope {
   public:
    explicit Scope(absl::string_view name);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    FaultPoint* point_;
  };

 private:
  static FaultPoint* head_;  // written before main only

  absl::string_view name_;
  FaultPoint* next_;
  std::atomic<bool> armed_{false};
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_FAULT_POINT_H_
