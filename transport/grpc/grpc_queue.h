// The completion queue of the process: all calls that it dials and accepts, and the requests of all its listeners.
//
// Guarantees: no thread of the transport waits in it. Workers that have nothing to do wait in it and handle its events
// (actors/event_source.h), one thread at a time, so that a message that arrives is handled by the thread that read it.
// Requires: what an event calls moves bytes and hands messages over, and never waits.
// Threads: any. Lifetime: from its first use to the end of the process.
#ifndef UNDERSTUDY_TRANSPORT_GRPC_GRPC_QUEUE_H_
#define UNDERSTUDY_TRANSPORT_GRPC_GRPC_QUEUE_H_

#include "absl/functional/any_invocable.h"

namespace grpc {
class ServerBuilder;
class ServerCompletionQueue;
}  // namespace grpc

namespace understudy::internal {

// What the completion queue gives back. Done runs on the thread that polls.
class GrpcTag {
 public:
  virtual ~GrpcTag() = default;
  virtual void Done(bool ok) = 0;
};

// Tell ThreadSanitizer, which does not see into gRPC, of an order that gRPC guarantees: what a thread did before it
// gave `object` to gRPC (Release) is visible to the thread on which gRPC calls back with `object` (Acquire).
void ReleaseToGrpc(void* object);
void AcquireFromGrpc(void* object);

// Returns the tag as gRPC takes it. What the caller did before is visible to its Done.
void* HandOver(GrpcTag* tag);

grpc::ServerCompletionQueue* ProcessQueue();

// The server that `builder` starts asks for its calls on the process's queue. It still needs a queue of its own from
// `builder`, which nobody has to poll.
void ServeOnProcessQueue(grpc::ServerBuilder& builder);

// From Done only: runs `begin` before the queue is polled the next time. A read that begins then comes after the writes
// of those who were told of the last one, which spares a packet, and the peer a wake-up.
void BeforeNextPoll(absl::AnyInvocable<void()> begin);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_GRPC_GRPC_QUEUE_H_
