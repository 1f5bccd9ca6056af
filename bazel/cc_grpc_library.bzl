"""cc_grpc_library as gRPC's own repository has it, for the gRPC that comes as a system package.

It is loaded from its canonical place, @com_github_grpc_grpc//bazel:cc_grpc_library.bzl.
"""

def _path_in_import(file, proto):
    """The name by which other .proto files import this one."""
    root = proto.proto_source_root
    if file.path.startswith(root + "/"):
        return file.path[len(root) + 1:]
    return file.short_path[file.short_path.find("/", 3) + 1:] if file.short_path.startswith("../") else file.short_path

def _generate_grpc_impl(ctx):
    proto = ctx.attr.proto[ProtoInfo]
    names = [_path_in_import(file, proto) for file in proto.direct_sources]
    folder = ctx.label.name
    headers, sources = [], []
    for name in names:
        stem = folder + "/" + name[:-len(".proto")]
        headers.append(ctx.actions.declare_file(stem + ".grpc.pb.h"))
        sources.append(ctx.actions.declare_file(stem + ".grpc.pb.cc"))
        if ctx.attr.generate_mocks:
            headers.append(ctx.actions.declare_file(stem + "_mock.grpc.pb.h"))
    out = headers[0].path[:-len(names[0][:-len(".proto")] + ".grpc.pb.h") - 1]

    args = ctx.actions.args()
    args.add("--plugin=protoc-gen-grpc=" + ctx.executable._plugin.path)
    args.add(("--grpc_out=generate_mock_code=true:" if ctx.attr.generate_mocks else "--grpc_out=") + out)
    args.add_joined(
        proto.transitive_descriptor_sets,
        join_with = ":",
        format_joined = "--descriptor_set_in=%s",
    )
    args.add_all(names)
    ctx.actions.run(
        executable = ctx.executable._protoc,
        arguments = [args],
        inputs = proto.transitive_descriptor_sets,
        tools = [ctx.executable._plugin],
        outputs = headers + sources,
        mnemonic = "GrpcCodegen",
        progress_message = "Generating gRPC code of %s" % ctx.attr.proto.label,
    )
    return [
        DefaultInfo(files = depset(headers + sources)),
        OutputGroupInfo(headers = depset(headers), sources = depset(sources)),
    ]

_generate_grpc = rule(
    implementation = _generate_grpc_impl,
    attrs = {
        "proto": attr.label(mandatory = True, providers = [ProtoInfo]),
        "generate_mocks": attr.bool(),
        "_plugin": attr.label(
            default = "@com_github_grpc_grpc//:grpc_cpp_plugin",
            allow_single_file = True,
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

def cc_grpc_library(name, srcs, deps, grpc_only = False, generate_mocks = False, **kwargs):
    """The C++ gRPC code of one proto_library.

    Args:
      name: name of the cc_library.
      srcs: exactly one proto_library.
      deps: with grpc_only, the cc_proto_library of srcs[0]; otherwise other libraries.
      grpc_only: False also makes the cc_proto_library, named _<name>_only, as gRPC's own rule does.
      generate_mocks: also a <file>_mock.grpc.pb.h.
      **kwargs: passed to cc_library.
    """
    if len(srcs) != 1:
        fail("cc_grpc_library takes exactly one proto_library in srcs, got %d" % len(srcs))
    if not grpc_only:
        native.cc_proto_library(name = "_%s_only" % name, deps = srcs, visibility = ["//visibility:private"])
        deps = deps + [":_%s_only" % name]
    generated = "_%s_grpc_codegen" % name
    _generate_grpc(
        name = generated,
        proto = srcs[0],
        generate_mocks = generate_mocks,
        visibility = ["//visibility:private"],
    )
    for group in ["headers", "sources"]:
        native.filegroup(
            name = generated + "_" + group,
            srcs = [":" + generated],
            output_group = group,
            visibility = ["//visibility:private"],
        )
    native.cc_library(
        name = name,
        srcs = [":%s_sources" % generated],
        hdrs = [":%s_headers" % generated],
        includes = [generated],
        deps = deps + ["@com_github_grpc_grpc//:grpc++_codegen_proto"],
        **kwargs
    )
