"""cc_actor_library: the refs and actors of the services of a .proto file (tools/protoc_gen_understudy)."""

load(":understudy.bzl", "understudy_facade")

# What generated code includes. Public: the rule is used in any package.
_RUNTIME = "//bazel:actor_classes"

def _path_in_import(file):
    """The name by which .proto files import this one."""
    _, is_virtual, below = file.path.partition("/_virtual_imports/")
    if is_virtual:
        return below[below.find("/") + 1:]
    if file.short_path.startswith("../"):
        return file.short_path[file.short_path.find("/", 3) + 1:]
    return file.short_path

def _import_option(file):
    return "-I%s=%s" % (_path_in_import(file), file.path)

def _generate_actors_impl(ctx):
    proto = ctx.attr.proto[ProtoInfo]
    if not proto.direct_sources:
        fail("%s has no .proto files of its own: name the proto_library that has the services" % ctx.attr.proto.label)
    headers, sources, testing = [], [], []
    for file in proto.direct_sources:
        stem = ctx.label.name + "/" + _path_in_import(file)[:-len(".proto")]
        headers += [ctx.actions.declare_file(stem + suffix) for suffix in [".actor.h", ".ref.h"]]
        sources.append(ctx.actions.declare_file(stem + ".ref.cc"))
        testing.append(ctx.actions.declare_file(stem + ".testing.h"))
    first = _path_in_import(proto.direct_sources[0])[:-len(".proto")] + ".actor.h"

    # From the sources and not from descriptor sets, which have neither comments nor lines.
    args = ctx.actions.args()
    args.add("--plugin=protoc-gen-understudy=" + ctx.executable._plugin.path)
    args.add("--understudy_out=" + headers[0].path[:-len(first) - 1])
    args.add_all(proto.transitive_sources, map_each = _import_option)
    args.add_all(proto.direct_sources)
    ctx.actions.run(
        executable = ctx.executable._protoc,
        arguments = [args],
        inputs = proto.transitive_sources,
        tools = [ctx.executable._plugin],
        outputs = headers + sources + testing,
        mnemonic = "ActorCodegen",
        progress_message = "Generating actors of %s" % ctx.attr.proto.label,
    )
    return [
        DefaultInfo(files = depset(headers + sources + testing)),
        OutputGroupInfo(headers = depset(headers), sources = depset(sources), testing = depset(testing)),
    ]

_generate_actors = rule(
    implementation = _generate_actors_impl,
    attrs = {
        "proto": attr.label(mandatory = True, providers = [ProtoInfo]),
        "_plugin": attr.label(
            default = "//tools/protoc_gen_understudy",
            executable = True,
            cfg = "host",
        ),
        "_protoc": attr.label(
            default = "@com_google_protobuf//:protoc",
            allow_single_file = True,
            executable = True,
            cfg = "host",
        ),
    },
)

def cc_actor_library(name, deps, visibility = None, testonly = False, tags = []):
    """The C++ classes of the services in a proto_library, and its messages.

    For each file.proto of it there are, beside the "file.pb.h" and for service Auction,
      "file.ref.h"      with AuctionRef,
      "file.actor.h"    with AuctionActor, which includes the former,
      "file.testing.h"  with AuctionProbe and MockAuction, in a library of its own, NAME_testing, for tests.
    A target that depends on this one includes the first three.

    Args:
      name: name of the library.
      deps: exactly one proto_library, as cc_proto_library has it.
      visibility: of the library.
      testonly: of the library.
      tags: of the library.
    """
    if len(deps) != 1:
        fail("cc_actor_library %s: deps takes exactly one proto_library, got %d" % (name, len(deps)))
    generated = "_%s_codegen" % name
    messages = "_%s_messages" % name
    classes = "_%s_classes" % name
    private = ["//visibility:private"]
    _generate_actors(name = generated, proto = deps[0], testonly = testonly, tags = tags, visibility = private)
    for group in ["headers", "sources", "testing"]:
        native.filegroup(
            name = generated + "_" + group,
            srcs = [":" + generated],
            output_group = group,
            testonly = testonly,
            tags = tags,
            visibility = private,
        )
    native.cc_proto_library(name = messages, deps = deps, testonly = testonly, tags = tags, visibility = private)
    native.cc_library(
        name = classes,
        srcs = [":%s_sources" % generated],
        hdrs = [":%s_headers" % generated],
        features = ["layering_check"],
        includes = [generated],
        testonly = testonly,
        tags = tags,
        visibility = private,
        deps = [":" + messages, str(Label(_RUNTIME))] + [
            "@com_google_absl//absl/status:statusor",
            "@com_google_absl//absl/strings",
            "@com_google_absl//absl/time",
        ],
    )
    understudy_facade(
        name = name,
        testonly = testonly,
        tags = tags,
        visibility = visibility,
        deps = [":" + classes, ":" + messages],
    )
    native.cc_library(
        name = "_%s_doubles" % name,
        hdrs = [":%s_testing" % generated],
        features = ["layering_check"],
        includes = [generated],
        testonly = True,
        tags = tags,
        visibility = private,
        deps = [":" + classes, ":" + messages, str(Label("//:testing")), str(Label(_RUNTIME))],
    )
    understudy_facade(
        name = name + "_testing",
        testonly = True,
        tags = tags,
        visibility = visibility,
        deps = [":_%s_doubles" % name],
    )

# For actor_protocol_test.bzl.
path_in_import = _path_in_import
