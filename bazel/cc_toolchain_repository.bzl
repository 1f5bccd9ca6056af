"""@layered_cc: Bazel's local C++ toolchain, under which layering_check sees the dependencies.

The local toolchain's module map exports every header below /usr/include to everybody, so that a target could
include Abseil or gRPC without naming it in deps. This copy exports the C and C++ libraries only.

It also gives the compilers large pages, where the kernel has them on request (transparent_hugepage is madvise, as in Debian): a
compilation takes 80,000 page faults without, and a sixth longer.
"""

# Of glibc 2.35 and later; an older one ignores it. Memory is taken in steps that have room for large pages.
_MEMORY = "glibc.malloc.hugetlb=1:glibc.malloc.top_pad=16777216"

_FEATURE = """feature(
                name = "large_pages",
                enabled = True,
                env_sets = [env_set(
                    actions = all_compile_actions,
                    env_entries = [env_entry(key = "GLIBC_TUNABLES", value = "%s")],
                )],
            ),
            """ % _MEMORY

# Headers that belong to a target of ours or of a dependency, and so need a line in `deps`.
_OWNED = ["absl/", "benchmark/", "gmock/", "google/protobuf/", "grpc++/", "grpc/", "grpcpp/", "gtest/", "microhttpd.h", "sqlite3.h"]

def _belongs_to_a_target(line):
    for prefix in _OWNED:
        if "/usr/include/" + prefix in line:
            return True
    return False

def _replace(text, old, new):
    if text.count(old) != 1:
        fail("Bazel's cc_toolchain_config.bzl has %r %d times; expected once" % (old, text.count(old)))
    return text.replace(old, new)

def _layered_cc_impl(ctx):
    origin = ctx.path(Label("@local_config_cc//:BUILD")).dirname
    for entry in origin.readdir():
        if entry.basename == "module.modulemap":
            lines = ctx.read(entry).split("\n")
            ctx.file(entry.basename, "\n".join([line for line in lines if not _belongs_to_a_target(line)]))
        elif entry.basename == "BUILD":
            # What a .pch names is no undeclared include: precompiled.bzl.
            folders = "cxx_builtin_include_directories = ["
            ctx.file(entry.basename, ctx.read(entry).replace(folders, folders + '"/proc/self/cwd", '))
        elif entry.basename == "cc_toolchain_config.bzl":
            text = _replace(ctx.read(entry), '    "action_config",\n', '    "action_config",\n    "env_entry",\n    "env_set",\n')
            ctx.file(entry.basename, _replace(text, "dependency_file_feature,\n", _FEATURE + "dependency_file_feature,\n"))
        elif entry.basename not in ["WORKSPACE", "tools"]:
            ctx.symlink(entry, entry.basename)

layered_cc_toolchain = repository_rule(
    implementation = _layered_cc_impl,
    environ = ["CC", "BAZEL_CXXOPTS", "BAZEL_COMPILER", "PATH"],
)
