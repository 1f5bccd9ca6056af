// Understudy was built with this workspace's repositories, whose libraries define these.
#ifndef CONSUMERS_ABSL
#error "Understudy does not use this workspace's Abseil"
#endif
#ifndef CONSUMERS_PROTOBUF
#error "Understudy does not use this workspace's Protocol Buffers"
#endif
#ifndef CONSUMERS_GRPC
#error "Understudy does not use this workspace's gRPC"
#endif
#ifndef CONSUMERS_GOOGLETEST
#error "Understudy does not use this workspace's GoogleTest"
#endif

int main() { return 0; }
