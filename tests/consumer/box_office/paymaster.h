// WagePaymaster: moves money from one account to another, which takes two asks of the safe.
//
// The paymaster's node may die between the two asks. So the paymaster writes a payment down before it begins, and its
// next start finishes the payments that are written down. A repeated change does no harm, because the safe knows the
// change's id.
#ifndef BOX_OFFICE_PAYMASTER_H_
#define BOX_OFFICE_PAYMASTER_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "box_office/box_office.actor.h"
#include "box_office/disk.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/named.h"
#include "understudy/supervision/actor_factories.h"

namespace consumer::box_office {

class WagePaymaster final : public PaymasterActor {
 public:
  explicit WagePaymaster(Journal* journal) : journal_(journal) {}

 private:
  understudy::StartResult Start() override { return FinishAll(); }
  understudy::Task<understudy::StartResult> FinishAll();

  understudy::Task<absl::StatusOr<PayReply>> Pay(PayRequest request);
  // Makes both changes, and forgets the payment.
  understudy::Task<absl::Status> Finish(PayRequest request);
  // Repeats the change until the safe confirms it.
  understudy::Task<absl::Status> Change(ChangeRequest change);

  Journal* const journal_;
  const understudy::Named<SafeRef> safe_{"safe"};
  understudy::Behavior open_{"open", On(pay, &WagePaymaster::Pay)};
};

// The factories that office.tree.textproto names.
understudy::ActorFactories OfficeFactories(Journal* journal);

}  // namespace consumer::box_office

#endif  // BOX_OFFICE_PAYMASTER_H_
