"""@com_github_grpc_grpc over Debian's libgrpc++-dev and protobuf-compiler-grpc."""

load(":system_repository.bzl", "symlink_header")

_PACKAGES = "libgrpc++-dev protobuf-compiler-grpc"

_BUILD = """
package(default_visibility = ["//visibility:public"])

exports_files(["grpc_cpp_plugin"])

cc_library(
    name = "grpc",
    hdrs = glob(["grpc/**/*.h"]),
    includes = ["."],
    linkopts = ["-lgrpc", "-lgpr"],
)

cc_library(
    name = "grpc++",
    hdrs = glob(
        ["grpcpp/**/*.h", "grpc++/**/*.h"],
        exclude = ["grpcpp/ext/*reflection*", "grpcpp/ext/channelz*"],
    ),
    includes = ["."],
    linkopts = ["-lgrpc++", "-lgrpc", "-lgpr"],
    # What gRPC's headers use inline.
    deps = [
        ":grpc",
        "@com_google_absl//absl/status",
        "@com_google_absl//absl/strings:cord",
        "@com_google_absl//absl/synchronization",
    ],
)

cc_library(
    name = "grpc++_codegen_proto",
    deps = [
        ":grpc++",
        "@com_google_protobuf//:protobuf",
    ],
)

cc_library(
    name = "grpc++_reflection",
    hdrs = glob(["grpcpp/ext/*reflection*"]),
    includes = ["."],
    # Registered by a static initializer, which nothing refers to.
    linkopts = ["-Wl,--push-state,--no-as-needed,-lgrpc++_reflection,--pop-state"],
    deps = [":grpc++"],
)

cc_library(
    name = "grpcpp_channelz",
    hdrs = glob(["grpcpp/ext/channelz*"]),
    includes = ["."],
    linkopts = ["-lgrpcpp_channelz"],
    deps = [":grpc++"],
)
"""

def _system_grpc_impl(ctx):
    for tree in ["grpc", "grpcpp", "grpc++"]:
        symlink_header(ctx, tree, _PACKAGES)
    plugin = ctx.which("grpc_cpp_plugin")
    if not plugin:
        fail("grpc_cpp_plugin is missing: run ./bazelw instead of bazel, or install " + _PACKAGES)
    ctx.symlink(plugin, "grpc_cpp_plugin")
    ctx.file("BUILD", _BUILD)
    ctx.file("bazel/BUILD", "")
    ctx.symlink(Label("//bazel:cc_grpc_library.bzl"), "bazel/cc_grpc_library.bzl")

system_grpc = repository_rule(implementation = _system_grpc_impl)
