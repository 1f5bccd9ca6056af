// ExistingChildError: the answer to a request to start a child whose id is taken. The status is AlreadyExists; its text
// gives the state of the child with that id, and a payload has the child's pid.
//
//   auto asked = house.start_child().Ask({spec}, absl::Seconds(1));
//   const absl::StatusOr<ChildStarted> started = co_await asked;
//   if (const absl::optional<Pid> existing = ExistingChild(started.status())) …
//
// OTP's already_started is an answer with a pid, its already_present one with a null pid.
//
// Threads: values.
#ifndef UNDERSTUDY_SUPERVISION_INTERNAL_EXISTING_CHILD_H_
#define UNDERSTUDY_SUPERVISION_INTERNAL_EXISTING_CHILD_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "understudy/actors/pid.h"
#include "understudy/supervision/internal/child_info.h"

namespace understudy {

absl::Status ExistingChildError(const ChildInfo& child);

// The pid of the child with that id, from an ExistingChildError; a null pid if the child was down. Returns nullopt for
// every other status, and for one that was made in another process.
absl::optional<Pid> ExistingChild(const absl::Status& status);

}  // namespace understudy

#endif  // UNDERSTUDY_SUPERVISION_INTERNAL_EXISTING_CHILD_H_
