// Clerk: an actor that handles every message that it gets.
#ifndef UNDERSTUDY_TESTS_TRANSPORT_OPS_CLERK_H_
#define UNDERSTUDY_TESTS_TRANSPORT_OPS_CLERK_H_

#include "understudy/actors/actor.h"

namespace understudy {

class Clerk final : public Actor {
 public:
  Mailbox<"file", int> file{this};
  StartResult Start() override { return working_; }

 private:
  Behavior working_{"working", On(file, [](int) {})};
};

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_TRANSPORT_OPS_CLERK_H_
