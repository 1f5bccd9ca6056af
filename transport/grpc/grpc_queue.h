// The completion queue of the process, for all calls that its nodes dial and accept, for those that its gateways
// accept, and for the requests of all its listeners and gateways.
//
// Guarantees: one thread at a time polls the queue and handles its events (actors/event_source.h). While the process
// has a ThreadPool, that is a thread of a pool, usually an idle worker, so that a message can be handled by the thread
// that read it. Without a pool it is a thread that this file starts.
// Requires: callbacks of events only move and parse bytes and deliver messages; they never block.
// Threads: any. Lifetime: the queue exists from its first use to the end of the process.
#ifndef UNDERSTUDY_TRANSPORT_GRPC_GRPC_QUEUE_H_
#define UNDERSTUDY_TRANSPORT_GRPC_GRPC_QUEUE_H_

#include "absl/functional/any_invocable.h"

namespace grpc {
class ServerBuilder;
class ServerCompletionQueue;
}  // namespace grpc

namespace understudy::internal {

// A tag of the completion queue. Done is called on the thread that polls, when the tag's operation is complete.
class GrpcTag {
 public:
  virtual ~GrpcTag() = default;
  virtual void Done(bool ok) = 0;
};

// Tell ThreadSanitizer, which does not see gRPC's synchronization, of an order that gRPC guarantees: everything before
// ReleaseToGrpc(object) on the thread that gives `object` to gRPC happens before AcquireFromGrpc(object) on the thread
// on which gRPC calls back with `object`.
void ReleaseToGrpc(void* object);
void AcquireFromGrpc(void* object);

// Returns the tag as gRPC takes it. Everything that the caller did before is visible to the tag's Done.
void* HandOver(GrpcTag* tag);

grpc::ServerCompletionQueue* ProcessQueue();

// Lets the server that `builder` starts request its calls on the process's queue. The server still needs a queue of its
// own from `builder`, which need not be polled.
void ServeOnProcessQueue(grpc::ServerBuilder& builder);

// Runs `begin` before the queue is polled the next time. Call only from Done. A read that begins there comes after the
// writes that the last read caused, which saves a packet and a wake-up of the peer.
void BeforeNextPoll(absl::AnyInvocable<void()> begin);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_GRPC_GRPC_QUEUE_H_
