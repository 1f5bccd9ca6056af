#include "understudy/supervision/supervisor.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_spec.h"
#include "understudy/actors/mailbox_signature.h"
#include "understudy/actors/ref.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/plan_supervisor.h"

namespace understudy {

std::vector<MailboxSignature> SupervisorRef::Mailboxes() {
  return {SignatureOf(&Supervisor::which_children),  SignatureOf(&Supervisor::count_children),
          SignatureOf(&Supervisor::get_child_spec),  SignatureOf(&Supervisor::start_child),
          SignatureOf(&Supervisor::terminate_child), SignatureOf(&Supervisor::restart_child),
          SignatureOf(&Supervisor::delete_child),    SignatureOf(&Supervisor::subscribe),
          SignatureOf(&Supervisor::start_member)};
}

ActorSpec<SupervisorRef> MakeSupervisor(SupervisorSpec spec) {
  ActorSpec<SupervisorRef> made;
  made.make = [shared = std::make_shared<const SupervisorSpec>(std::move(spec))]() -> std::unique_ptr<Actor> {
    return std::make_unique<internal::PlanSupervisor>(shared);
  };
  made.options.label = "supervisor";
  made.options.shutdown_within = absl::InfiniteDuration();  // its children have limits of their own
  return made;
}

}  // namespace understudy
