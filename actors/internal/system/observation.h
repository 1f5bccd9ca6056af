// Observation: which steps and crashes of its actors a system reports. Any thread, except that the setters are called
// before actors run.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_OBSERVATION_H_
#define UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_OBSERVATION_H_

#include <functional>
#include <utility>

#include "absl/strings/string_view.h"

namespace understudy::internal {

class Observation {
 public:
  // The tracer gets one line for each step of each actor.
  void set_tracer(std::function<void(absl::string_view)> tracer) {
    tracer_ = std::move(tracer);
    sees_steps_ = true;
  }
  // Null if there is none.
  const std::function<void(absl::string_view)>& tracer() const { return tracer_; }

  // How many messages each actor keeps for a crash report.
  void set_last_messages(int count) {
    last_messages_ = count;
    sees_steps_ = sees_steps_ || count > 0;
  }
  int last_messages() const { return last_messages_; }

  // True if steps are traced or last messages are kept.
  bool sees_steps() const { return sees_steps_; }

  void set_reports_crashes(bool reports) { reports_crashes_ = reports; }
  bool reports_crashes() const { return reports_crashes_; }

 private:
  std::function<void(absl::string_view)> tracer_;
  int last_messages_ = 0;
  bool sees_steps_ = false;
  bool reports_crashes_ = true;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_OBSERVATION_H_
