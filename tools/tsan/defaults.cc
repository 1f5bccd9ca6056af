// ThreadSanitizer's options and suppressions, inside the binary: they hold under `bazel run` and in child processes.

extern "C" const char* __tsan_default_options() {
  return "external_symbolizer_path=/usr/bin/llvm-symbolizer-19"
         ":second_deadlock_stack=1"
         // Lock orders inside gRPC are not ours to judge, and a gRPC lock is known here by its calls only.
         ":detect_deadlocks=0"
         ":halt_on_error=0";
}

// What libraries without instrumentation do between themselves. A called_from_lib line may match one library only
// (two end the process), so it begins with the folder's slash: we have a transport/libgrpc of our own. A user's
// reaction runs below gRPC's frames, so nothing of ours is suppressed by a frame further down: race_top looks at the
// top frame only. But what runs below the wait of a completion queue is gRPC's own finishing of an operation: reactions
// run after it.
extern "C" const char* __tsan_default_suppressions() {
  return "called_from_lib:/libgrpc.so\n"
         "called_from_lib:/libgrpc++.so\n"
         "called_from_lib:/libgpr.so\n"
         "called_from_lib:/libssl.so\n"
         "called_from_lib:/libcrypto.so\n"
         "called_from_lib:/libprotobuf.so\n"
         "called_from_lib:/libabsl_status.so\n"
         "called_from_lib:/libabsl_cord.so\n"
         "called_from_lib:/libabsl_cord_internal.so\n"
         "called_from_lib:/libabsl_random_internal_pool_urbg.so\n"
         "called_from_lib:/libabsl_time_zone.so\n"
         "called_from_lib:/libabsl_strings.so\n"
         "called_from_lib:/libabsl_graphcycles_internal.so\n"
         "called_from_lib:/libabsl_flags_internal.so\n"
         "called_from_lib:/libabsl_flags_reflection.so\n"
         "race:^grpc::CompletionQueue::AsyncNextInternal\n"
         "race_top:^grpc::\n";
}
