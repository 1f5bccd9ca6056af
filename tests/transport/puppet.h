// Puppet: an actor that runs functions of a test in its turns, and records the events that it gets.
#ifndef UNDERSTUDY_TESTS_TRANSPORT_PUPPET_H_
#define UNDERSTUDY_TESTS_TRANSPORT_PUPPET_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/context.h"
#include "understudy/actors/error.h"
#include "understudy/actors/events.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/mailbox.h"
#include "understudy/actors/ref.h"
#include "understudy/actors/replier.h"
#include "understudy/actors/task.h"
#include "understudy/tests/transport/puppet.pb.h"

namespace understudy {

// Diary: the messages and events that a puppet got, in order: "note 1", "down NoConnection", ...
using Diary = std::vector<std::string>;

class Puppet : public Actor {
 public:
  using Script = std::function<void(Puppet&)>;
  struct AskTo {
    Pid callee;
    int64_t number = 0;
    absl::Duration timeout = absl::Seconds(10);
    std::string text = "";
  };

  Mailbox<"puppet/run", Script> run{this};       // not a wire message
  Mailbox<"puppet/go_ask", AskTo> go_ask{this};  // not a wire message
  Mailbox<"puppet/note", net_testing::Note> note{this, {.capacity_messages = 5000}};
  Mailbox<"puppet/closed", net_testing::Note> closed{this, {.capacity_messages = 5000}};
  Mailbox<"puppet/small", net_testing::Note> small{this, {.capacity_messages = 2}};
  Mailbox<"puppet/ask", Call<net_testing::Note, net_testing::Answer>> ask{this};  // answers number + 1; 13 is refused
  Mailbox<"puppet/never", Call<net_testing::Note, net_testing::Answer>> never{this};  // keeps the asker waiting

  explicit Puppet(std::shared_ptr<Diary> diary) : diary_(std::move(diary)) {}

  StartResult Start() override { return playing_; }
  void OnExit(const ExitReason& reason) override { Write(absl::StrCat("exit ", reason.ToString())); }

  // For scripts.
  using Actor::context;
  using Actor::Fail;
  void Watch(Pid target) {
    monitors_.push_back(context().Monitor(target, [this](const Down& down) {
      Write(absl::StrCat("down ", ExitKindName(down.reason.kind())));
      last_reason = down.reason;
    }));
  }
  void Trap() {
    context().TrapExits(
        [this](const ExitEvent& event) { Write(absl::StrCat("trapped ", ExitKindName(event.reason.kind()))); });
  }
  void OpenAll() { Become(open_); }
  void Write(absl::string_view line) { diary_->push_back(std::string(line)); }

  std::vector<MonitorHandle> monitors_;
  ExitReason last_reason;

 private:
  void Run(const Script& script) { script(*this); }
  void TakeNote(const net_testing::Note& taken) { Write(absl::StrCat("note ", taken.number())); }
  absl::StatusOr<net_testing::Answer> Answer(const net_testing::Note& asked) {
    if (asked.number() == 13) return absl::OutOfRangeError("unlucky");
    net_testing::Answer answer;
    answer.set_number(asked.number() + 1);
    return answer;
  }
  void Keep(const net_testing::Note&, Replier<net_testing::Answer> replier) {
    Write("asked");
    kept_.push_back(std::move(replier));
  }
  Task<> GoAsk(const AskTo& what) {
    net_testing::Note note_to_ask;
    note_to_ask.set_number(what.number);
    note_to_ask.set_text(what.text);
    const Ref<Puppet> callee(what.callee);
    auto asked = what.number < 0 ? callee[&Puppet::never].Ask(note_to_ask, what.timeout)
                                 : callee[&Puppet::ask].Ask(note_to_ask, what.timeout);
    absl::StatusOr<net_testing::Answer> answer = co_await asked;
    if (answer.ok()) {
      Write(absl::StrCat("answer ", answer->number()));
    } else if (auto kind = ErrorKindOf(answer.status()); kind.has_value()) {
      Write(absl::StrCat("error ", ErrorKindName(*kind)));
    } else {
      Write(absl::StrCat("error ", answer.status().message()));
    }
  }

  const std::shared_ptr<Diary> diary_;
  std::vector<Replier<net_testing::Answer>> kept_;
  Behavior playing_{"playing",
                    On(run, &Puppet::Run),
                    On(go_ask, &Puppet::GoAsk).Interleaved(),
                    On(note, &Puppet::TakeNote),
                    On(ask, &Puppet::Answer),
                    On(never, &Puppet::Keep)};
  Behavior open_{"open", On(run, &Puppet::Run), On(note, &Puppet::TakeNote), On(closed, &Puppet::TakeNote)};
};

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_TRANSPORT_PUPPET_H_
