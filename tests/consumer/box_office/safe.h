// SafeKeeper: keeps the accounts. Its name is "safe".
#ifndef BOX_OFFICE_SAFE_H_
#define BOX_OFFICE_SAFE_H_

#include "box_office/box_office.actor.h"
#include "box_office/disk.h"
#include "understudy/actors/actor.h"

namespace consumer::box_office {

class SafeKeeper final : public SafeActor {
 public:
  explicit SafeKeeper(Accounts* accounts) : accounts_(accounts) {}

 private:
  understudy::StartResult Start() override { return open_; }

  Balance Change(const ChangeRequest& request) {
    int64_t& cents = accounts_->cents[request.account()];
    if (accounts_->known.insert(request.id()).second) cents += request.cents();
    Balance balance;
    balance.set_cents(cents);
    return balance;
  }

  Accounts* const accounts_;
  understudy::Behavior open_{"open", On(change, &SafeKeeper::Change)};
};

}  // namespace consumer::box_office

#endif  // BOX_OFFICE_SAFE_H_
