"""What this workspace vendors: Abseil, Protocol Buffers, gRPC and GoogleTest.

Here their files are Debian's, so that nothing is downloaded. The BUILD files are the workspace's own, laid out otherwise than
Understudy's: all of Abseil is one library, and the headers lie in a folder. Each library defines CONSUMERS_<NAME>, by which
vendored_test sees that whatever depends on it, Understudy's libraries too, was built with this one.
"""

_HEADERS = "/usr/include/"

# The usual labels of what is one library here.
_ABSEIL = {
    "absl/base": ["core_headers"],
    "absl/cleanup": ["cleanup"],
    "absl/container": ["flat_hash_map", "inlined_vector"],
    "absl/flags": ["flag", "parse", "usage"],
    "absl/functional": ["any_invocable", "function_ref"],
    "absl/status": ["status", "statusor"],
    "absl/strings": ["cord", "str_format", "strings"],
    "absl/synchronization": ["synchronization"],
    "absl/time": ["time"],
    "absl/types": ["optional", "span", "variant"],
}

def _vendored_impl(ctx):
    for place, source in ctx.attr.links.items():
        ctx.symlink(source, place)
    ctx.symlink(ctx.attr.build_file, "BUILD")
    for package, names in ctx.attr.aliases.items():
        ctx.file(package + "/BUILD", "\n".join([
            'alias(name = "%s", actual = "//:%s", visibility = ["//visibility:public"])' % (name, ctx.attr.name_of_all)
            for name in names
        ]))
    for place, source in ctx.attr.bzl_files.items():
        ctx.file(place.rpartition("/")[0] + "/BUILD", "")
        ctx.symlink(Label(source), place)

_vendored = repository_rule(
    implementation = _vendored_impl,
    attrs = {
        "aliases": attr.string_list_dict(doc = "package -> names for name_of_all"),
        "build_file": attr.label(mandatory = True),
        "bzl_files": attr.string_dict(doc = "path in the repository -> label"),
        "links": attr.string_dict(mandatory = True, doc = "path in the repository -> path of the machine"),
        "name_of_all": attr.string(),
    },
)

def third_party_repositories():
    """Declares the four repositories."""
    _vendored(
        name = "com_google_absl",
        aliases = _ABSEIL,
        build_file = "//third_party:absl.BUILD",
        links = {
            "include/absl": _HEADERS + "absl",
            "lib": "/usr/lib/x86_64-linux-gnu",
        },
        name_of_all = "absl",
    )
    _vendored(
        name = "com_google_protobuf",
        build_file = "//third_party:protobuf.BUILD",
        links = {
            "protoc": "/usr/bin/protoc",
            "src/google/protobuf": _HEADERS + "google/protobuf",
        },
    )
    _vendored(
        name = "com_github_grpc_grpc",
        build_file = "//third_party:grpc.BUILD",
        # Debian's gRPC comes without its rules for Bazel, which Understudy has written again.
        bzl_files = {"bazel/cc_grpc_library.bzl": "@understudy//bazel:cc_grpc_library.bzl"},
        links = {
            "grpc_cpp_plugin": "/usr/bin/grpc_cpp_plugin",
            "include/grpc": _HEADERS + "grpc",
            "include/grpcpp": _HEADERS + "grpcpp",
        },
    )
    _vendored(
        name = "com_google_googletest",
        build_file = "//third_party:googletest.BUILD",
        links = {
            "include/gmock": _HEADERS + "gmock",
            "include/gtest": _HEADERS + "gtest",
        },
    )
