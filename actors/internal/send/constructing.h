// ConstructingScope: while it lives, the mailboxes of Actor objects that are
// constructed on this thread are declared to `host`.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_SEND_CONSTRUCTING_H_
#define UNDERSTUDY_ACTORS_INTERNAL_SEND_CONSTRUCTING_H_

#include "understudy/actors/mailbox.h"

namespace understudy::internal {

class ConstructingScope {
 public:
  explicit ConstructingScope(MailboxHost* host);
  ~ConstructingScope();
  ConstructingScope(const ConstructingScope&) = delete;
  ConstructingScope& operator=(const ConstructingScope&) = delete;

 private:
  MailboxHost* outer_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SEND_CONSTRUCTING_H_
