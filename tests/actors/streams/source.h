// Source: an actor whose only mailbox answers with a stream, as a test says.
#ifndef UNDERSTUDY_TESTS_ACTORS_STREAMS_SOURCE_H_
#define UNDERSTUDY_TESTS_ACTORS_STREAMS_SOURCE_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/stream.h"
#include "understudy/actors/stream_writer.h"

namespace understudy {

class Source final : public Actor {
 public:
  using Writer = StreamWriter<std::string>;
  using Body = std::function<Task<absl::Status>(Source&, int, Writer)>;

  Mailbox<"read", Call<int, Stream<std::string>>> read{this};

  // `body` handles each call; the calls are interleaved.
  explicit Source(Body body) : body_(std::move(body)) {}
  StartResult Start() override { return open_; }

  using Actor::Become;
  using Actor::context;
  using Actor::Fail;
  const Behavior& closed() const { return closed_; }
  std::vector<Writer> kept;

 private:
  Task<absl::Status> Read(int request, Writer writer) {
    auto running = body_(*this, request, std::move(writer));
    absl::Status status = co_await running;
    co_return status;
  }

  const Body body_;
  Behavior open_{"open", On(read, &Source::Read).Interleaved()};
  Behavior closed_{"closed", Refuse(read, absl::FailedPreconditionError("closed"))};
};

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_ACTORS_STREAMS_SOURCE_H_
