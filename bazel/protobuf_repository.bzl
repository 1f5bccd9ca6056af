"""@com_google_protobuf over Debian's libprotobuf-dev and protobuf-compiler."""

load(":system_repository.bzl", "symlink_header")

_PACKAGES = "libprotobuf-dev libprotoc-dev protobuf-compiler"

# The well-known types and what each imports.
_WELL_KNOWN = {
    "any": [],
    "api": ["source_context", "type"],
    "compiler_plugin": ["descriptor"],
    "descriptor": [],
    "duration": [],
    "empty": [],
    "field_mask": [],
    "source_context": [],
    "struct": [],
    "timestamp": [],
    "type": ["any", "source_context"],
    "wrappers": [],
}

_BUILD = """
package(default_visibility = ["//visibility:public"])

exports_files(["protoc"])

cc_library(
    name = "protobuf",
    hdrs = glob(
        ["google/protobuf/**/*.h", "google/protobuf/**/*.inc"],
        exclude = ["google/protobuf/compiler/**"],
    ),
    includes = ["."],
    linkopts = ["-lprotobuf", "-lpthread"],
)

alias(
    name = "protobuf_headers",
    actual = ":protobuf",
)

cc_library(
    name = "protoc_lib",
    hdrs = glob(["google/protobuf/compiler/**/*.h"]),
    includes = ["."],
    linkopts = ["-lprotoc", "-lprotobuf", "-lpthread"],
    deps = [":protobuf"],
)

proto_lang_toolchain(
    name = "cc_toolchain",
    blacklisted_protos = WELL_KNOWN,
    command_line = "--cpp_out=$(OUT)",
    runtime = ":protobuf",
)
"""

def _system_protobuf_impl(ctx):
    symlink_header(ctx, "google/protobuf", _PACKAGES)
    protoc = ctx.which("protoc")
    if not protoc:
        fail("protoc is missing: run ./bazelw instead of bazel, or install " + _PACKAGES)
    ctx.symlink(protoc, "protoc")
    names = [":%s_proto" % name for name in _WELL_KNOWN]
    build = [_BUILD.replace("WELL_KNOWN", repr(names))]
    for name, deps in _WELL_KNOWN.items():
        source = "compiler/plugin" if name == "compiler_plugin" else name
        build.append("""
proto_library(
    name = "{name}_proto",
    srcs = ["google/protobuf/{source}.proto"],
    deps = {deps},
)
""".format(name = name, source = source, deps = repr([":%s_proto" % dep for dep in deps])))
    ctx.file("BUILD", "\n".join(build))

system_protobuf = repository_rule(implementation = _system_protobuf_impl)
