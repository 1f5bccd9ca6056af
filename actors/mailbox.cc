#include "understudy/actors/mailbox.h"

#include "understudy/actors/check.h"
#include "understudy/actors/internal/send/constructing.h"

namespace understudy::internal {
namespace {

thread_local MailboxHost* constructing = nullptr;

}  // namespace

MailboxHost& MailboxHost::Constructing() {
  UNDERSTUDY_CHECK(constructing != nullptr,
                   "an actor is made by Spawn, not directly: its mailboxes have no system to belong to");
  return *constructing;
}

MailboxHost* MailboxHost::ConstructingOrNull() { return constructing; }

ConstructingScope::ConstructingScope(MailboxHost* host) : outer_(constructing) { constructing = host; }

ConstructingScope::~ConstructingScope() { constructing = outer_; }

}  // namespace understudy::internal
