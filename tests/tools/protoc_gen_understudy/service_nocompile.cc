// Uses of a generated service's classes that must not compile.
#include "understudy/actors/actor.h"
#include "understudy/tests/tools/protoc_gen_understudy/counter.actor.h"

namespace counter {

class Counter final : public CounterActor {
  understudy::StartResult Start() override { return counting_; }
  TotalReply Total(const TotalRequest&) { return {}; }
  [[maybe_unused]] TotalReply OfAnother(const AddRequest&) { return {}; }
  [[maybe_unused]] AddRequest RepliesWithAnother(const TotalRequest&) { return {}; }
  [[maybe_unused]] TotalReply RepliesToACast(const AddRequest&) { return {}; }

  understudy::Behavior counting_{"counting", On(total, &Counter::Total)};
#ifdef NOCOMPILE_WRONG_REQUEST
  understudy::Behavior wrong_{"wrong", On(total, &Counter::OfAnother)};
#endif
#ifdef NOCOMPILE_WRONG_REPLY
  understudy::Behavior wrong_{"wrong", On(total, &Counter::RepliesWithAnother)};
#endif
#ifdef NOCOMPILE_REPLY_TO_A_CAST
  understudy::Behavior wrong_{"wrong", On(add, &Counter::RepliesToACast)};
#endif
#ifdef NOCOMPILE_OPTIONAL_WITHOUT_MAILBOX
  understudy::Behavior wrong_{"wrong", On(reset, [](const ResetRequest&) { return TotalReply(); })};
#endif
};

class Crier final : public CrierActor, public SummerActor {
  understudy::StartResult Start() override { return crying_; }
  [[maybe_unused]] TotalReply CountsOnce(const CountRequest&) { return {}; }
  [[maybe_unused]] TotalReply SumsOne(const AddRequest&) { return {}; }

  understudy::Behavior crying_{"crying"};
#ifdef NOCOMPILE_REPLY_IN_PLACE_OF_A_STREAM
  understudy::Behavior wrong_{"wrong", On(count, &Crier::CountsOnce)};
#endif
#ifdef NOCOMPILE_ITEMS_IN_PLACE_OF_A_STREAM
  understudy::Behavior wrong_{"wrong", On(sum, &Crier::SumsOne)};
#endif
};

#ifdef NOCOMPILE_MAILBOX_FROM_OUTSIDE
auto member = &CounterActor::total;
#endif

Counter* made;

}  // namespace counter
