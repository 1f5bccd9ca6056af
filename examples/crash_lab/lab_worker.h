// LabWorker: the actor that the lab breaks.
#ifndef UNDERSTUDY_EXAMPLES_CRASH_LAB_LAB_WORKER_H_
#define UNDERSTUDY_EXAMPLES_CRASH_LAB_LAB_WORKER_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/channel.h"
#include "understudy/actors/mailbox.h"
#include "understudy/actors/mailbox_signature.h"
#include "understudy/actors/ref.h"
#include "understudy/examples/crash_lab/crash_lab.pb.h"

namespace crash_lab {

class LabWorkerRef;

class LabWorkerActor : public understudy::Actor {
 public:
  using Ref = LabWorkerRef;
  static constexpr absl::string_view kService = "crash_lab.LabWorker";

 protected:
  understudy::Mailbox<"Ping", understudy::Call<PingRequest, Pong>> ping{this};
  understudy::Mailbox<"Break", Breakage> breaks{this};
  friend class LabWorkerRef;
};

class LabWorkerRef : public understudy::Ref<LabWorkerActor> {
 public:
  using Ref<LabWorkerActor>::Ref;
  understudy::Channel<understudy::Call<PingRequest, Pong>> ping() const { return (*this)[&LabWorkerActor::ping]; }
  understudy::Channel<Breakage> breaks() const { return (*this)[&LabWorkerActor::breaks]; }
  static std::vector<understudy::MailboxSignature> Mailboxes() {
    return {SignatureOf(&LabWorkerActor::ping), SignatureOf(&LabWorkerActor::breaks)};
  }
};

class LabWorker final : public LabWorkerActor {
 public:
  explicit LabWorker(std::string motto) : motto_(std::move(motto)) {}
  understudy::StartResult Start() override { return working_; }

 private:
  Pong Answer(const PingRequest&) { return Pong(); }
  void Break(const Breakage& how);

  const std::string motto_;
  understudy::Behavior working_{"working", On(ping, &LabWorker::Answer), On(breaks, &LabWorker::Break)};
};

// Lets all handlers that hang return. Call this before the actor system is destroyed, which waits for them.
void EndHanging();

}  // namespace crash_lab

#endif  // UNDERSTUDY_EXAMPLES_CRASH_LAB_LAB_WORKER_H_
