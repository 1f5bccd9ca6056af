"""precompiled_headers: the standard library's, Abseil's and GoogleTest's headers, parsed once a configuration.

Half of what compiling a file takes is parsing these. The headers are named, not included by a file of ours, and lie in
/usr/include: so what Clang writes down is the same in every sandbox and output folder.
"""

load("@bazel_tools//tools/build_defs/cc:action_names.bzl", "ACTION_NAMES")
load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

def _precompiled_headers_impl(ctx):
    cc_toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = cc_toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features + ["layering_check", "module_maps"],
    )
    variables = cc_common.create_compile_variables(
        feature_configuration = features,
        cc_toolchain = cc_toolchain,
        # What --copt says, then what this target says; --per_file_copt cannot be seen here.
        user_compile_flags = ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts + ctx.attr.copts,
        use_pic = True,
    )
    options = cc_common.get_memory_inefficient_command_line(
        feature_configuration = features,
        action_name = ACTION_NAMES.cpp_compile,
        variables = variables,
    )
    out = ctx.actions.declare_file(ctx.label.name + ".pch")
    args = ctx.actions.args()
    args.add_all(options)
    # Clang compares: layering_check sets this for the dependents.
    args.add("-fmodules-strict-decluse")
    args.add("-fpch-instantiate-templates")
    # Else an update of Debian's packages, which gives headers other times, is an error in every dependent until the next clean.
    args.add_all(["-Xclang", "-fno-pch-timestamp"])
    args.add_all(ctx.attr.headers, before_each = "-include")
    # A file without declarations, at a path that dependents may name as one that they have read.
    args.add_all(["-x", "c++-header", "/usr/include/stdc-predef.h", "-o", out])
    ctx.actions.run(
        executable = cc_common.get_tool_for_action(
            feature_configuration = features,
            action_name = ACTION_NAMES.cpp_compile,
        ),
        arguments = [args],
        env = cc_common.get_environment_variables(
            feature_configuration = features,
            action_name = ACTION_NAMES.cpp_compile,
            variables = variables,
        ),
        inputs = cc_toolchain.all_files,
        outputs = [out],
        mnemonic = "PrecompileHeaders",
    )
    context = cc_common.create_compilation_context(headers = depset([out]))
    return [CcInfo(compilation_context = context), DefaultInfo(files = depset([out]))]

precompiled_headers = rule(
    implementation = _precompiled_headers_impl,
    attrs = {
        "headers": attr.string_list(mandatory = True, doc = "As an #include names them, all below /usr/include."),
        "copts": attr.string_list(doc = "As the users' --per_file_copt has them where they matter: -O0."),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
    doc = "A .pch file that its dependents' -include-pch may name.",
)

_HERE = "bazel/precompiled"

# Of the libraries, wherever they take precompiled headers. It makes compiling them a sixth longer, and the long simulations
# four times as fast.
OPTIMISATION = ["-O1"]

def _use(flavour):
    return struct(
        copts = (OPTIMISATION if flavour == "library" else []) +
                ["-include-pch", "$(BINDIR)/%s/%s.pch" % (_HERE, flavour)],
        deps = [str(Label("//%s:%s" % (_HERE, flavour)))],
    )

def _selected(flavours, field, default):
    choices = {"//conditions:default": default}
    for setting, flavour in flavours.items():
        choices[str(Label("//%s:%s" % (_HERE, setting)))] = getattr(_use(flavour), field)
    return select(choices)

def precompiled(flavours):
    """copts and deps of a target that takes its precompiled headers by configuration.

    Args:
      flavours: {"in_asan": "library"}: setting of bazel/precompiled/BUILD -> target there. Elsewhere nothing is precompiled.
    """
    return struct(copts = _selected(flavours, "copts", []), deps = _selected(flavours, "deps", []))
