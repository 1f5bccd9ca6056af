// Concurrent dictionary: 20 clients read and write one dictionary, of which an actor is the
// only owner. One request in ten is a write. Each client awaits each answer.
// Oracle: the number of answers; each value read belongs to its key.
#include <unordered_map>

#include "understudy/actors/channel.h"
#include "understudy/examples/savina/programs.h"

namespace understudy::savina {
namespace {

constexpr int kClients = 20;
constexpr int64_t kKeys = 65536;

struct Put {
  int64_t key = 0;
  int64_t value = 0;
};

class Dictionary final : public Actor {
 public:
  Mailbox<"get", Call<int64_t, int64_t>> get{this};
  Mailbox<"put", Call<Put, int64_t>> put{this};  // the answer is the value before

  StartResult Start() override {
    for (int64_t key = 0; key < kKeys; ++key) values_[key] = key;
    return serving_;
  }

 private:
  int64_t Get(int64_t key) { return values_[key]; }
  int64_t Write(const Put& entry) { return std::exchange(values_[entry.key], entry.value); }

  std::unordered_map<int64_t, int64_t> values_;
  Behavior serving_{"serving", On(get, &Dictionary::Get), On(put, &Dictionary::Write)};
};

class Client final : public Actor {
 public:
  Client(Ref<Dictionary> dictionary, int64_t seed, int64_t requests, Channel<int64_t> ended)
      : dictionary_(dictionary), random_(seed), requests_(requests), ended_(ended) {}
  StartResult Start() override { return Work(); }

 private:
  Task<> Work() {
    int64_t good = 0;
    for (int64_t i = 0; i < requests_; ++i) {
      const int64_t key = random_.Below(kKeys);
      auto asked = i % 10 == 0 ? dictionary_[&Dictionary::put].Ask({key, key + i * kKeys}, kPatience)
                               : dictionary_[&Dictionary::get].Ask(key, kPatience);
      absl::StatusOr<int64_t> value = co_await asked;
      if (value.ok() && *value % kKeys == key) ++good;
    }
    ended_.Tell(good);
  }

  const Ref<Dictionary> dictionary_;
  Random random_;
  const int64_t requests_;
  const Channel<int64_t> ended_;
};

class ConcurrentDictionary final : public Program {
 public:
  Mailbox<"ended", int64_t> ended{this};

  explicit ConcurrentDictionary(int64_t requests) : requests_(requests) {}

  StartResult Start() override {
    const Ref<Dictionary> dictionary = context().Spawn<Dictionary>();
    for (int i = 0; i < kClients; ++i) {
      context().Spawn<Client>(dictionary, i, requests_, context().ChannelTo(ended));
    }
    return counting_;
  }

 private:
  Behavior Count(int64_t good) {
    good_ += good;
    return ++ended_ < kClients ? counting_ : Done(Checked("right answers", good_, kClients * requests_));
  }

  const int64_t requests_;
  int ended_ = 0;
  int64_t good_ = 0;
  Behavior counting_{"counting", On(ended, &ConcurrentDictionary::Count)};
};

}  // namespace

std::unique_ptr<Actor> MakeConcurrentDictionary(int64_t requests) {
  return std::make_unique<ConcurrentDictionary>(requests);
}

}  // namespace understudy::savina
