// Lab: runs the commands of a script, each of which breaks or stops a child, and waits
// after each until its supervisors have finished their work.
//
// Threads: one plain thread.
#ifndef UNDERSTUDY_EXAMPLES_CRASH_LAB_LAB_H_
#define UNDERSTUDY_EXAMPLES_CRASH_LAB_LAB_H_

#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "understudy/actors/actor_system.h"
#include "understudy/examples/crash_lab/crash_lab.pb.h"
#include "understudy/examples/crash_lab/crash_lab.ref.h"
#include "understudy/examples/crash_lab/lab_worker.h"
#include "understudy/examples/crash_lab/story.h"
#include "understudy/supervision/supervisor.h"

namespace crash_lab {

class Lab {
 public:
  // Starts the tree. `system`, `story` and `out` must outlive the lab.
  Lab(understudy::ActorSystem& system, const understudy::SupervisorSpec& tree, Story& story, std::ostream& out);

  // Waits until no child is starting, stopping or waiting for its restart.
  void Settle();
  // Runs the command in `line`, and prints the lines that the supervisors add to the
  // story. Returns false for "quit", and if the tree has ended.
  bool Do(absl::string_view line);

  static absl::string_view Help();

 private:
  // A child and its supervisor.
  struct Found {
    understudy::SupervisorRef supervisor;
    understudy::ChildInfo info;
  };
  absl::StatusOr<Found> Find(absl::string_view id);
  bool FindIn(understudy::SupervisorRef supervisor, absl::string_view id, Found& found);
  absl::StatusOr<understudy::Children> ChildrenOf(understudy::SupervisorRef supervisor);
  bool IsAtRest(understudy::SupervisorRef supervisor);
  absl::StatusOr<LabWorkerRef> WorkerOf(const Found& found);

  absl::Status Run(absl::string_view verb, absl::string_view id);
  absl::Status Break(Breakage::Kind kind, absl::string_view id);
  absl::Status Kill(absl::string_view id);
  absl::Status Stop(absl::string_view id);
  absl::Status Start(absl::string_view id);
  absl::Status Hang(const Found& found, const LabWorkerRef& worker);
  void PrintTree(understudy::SupervisorRef supervisor, int depth);
  void PrintStory();

  understudy::ActorSystem& system_;
  Story& story_;
  std::ostream& out_;
  understudy::SupervisorRef root_;
};

}  // namespace crash_lab

#endif  // UNDERSTUDY_EXAMPLES_CRASH_LAB_LAB_H_
