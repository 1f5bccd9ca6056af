// ThreadSanitizer's options and suppressions, inside the binary: they hold under `bazel run` and in child processes.

extern "C" const char* __tsan_default_options() {
  return "external_symbolizer_path=/usr/bin/llvm-symbolizer-19"
         ":second_deadlock_stack=1"
         // Lock orders inside gRPC are not ours to judge, and a gRPC lock is known here by its calls only.
         ":detect_deadlocks=0"
         ":halt_on_error=0";
}

// Suppressed are races inside libraries that are not instrumented.
// - called_from_lib: the process ends if such a line matches two loaded libraries. So each begins with the slash before
//   the file's name: Bazel's name of //transport:grpc, libtransport_Slibgrpc.so, contains libgrpc.so too.
// - race_top looks at the top frame only. A suppression that looked at all frames would hide races in users' reactions,
//   which gRPC calls.
// - race:…AsyncNextInternal looks at all frames, and may: below the wait of a completion queue only gRPC's own
//   finishing of an operation runs; reactions run after the wait has returned.
// - race:…TypeName and race:…LocalTypes look at all frames too. libprotobuf builds the descriptors of a .proto file
//   when one of them is first looked for, by whichever thread that is. The call_once that orders this before other
//   threads' reads is not seen here, and libstdc++, which libprotobuf calls, hides from called_from_lib who makes the
//   strings. TypeName only reads a descriptor's name, and LocalTypes has no threads: its owner's lock guards it.
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
         "race:^understudy::LocalTypes::\n"
         "race:understudy::internal::TypeName<\n"
         "race_top:^grpc::\n";
}
