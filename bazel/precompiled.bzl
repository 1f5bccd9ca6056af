"""precompiled_headers: the standard library's, Abseil's, GoogleTest's and the kernel's headers, parsed once a configuration.

Half of what compiling a file takes is parsing the first three, and of the rest of a test of actors a third is the kernel's. Clang
writes down the path of each header. Those below /usr/include are the same in every sandbox; ours become
/proc/self/cwd/bazel-out/... there, because Bazel compiles with that PWD, and the rule here does as well. A dependent that includes
one by its own path finds the same file, whose include guard is set, after layering_check has looked at the include.

Two things keep a dependent from being built with an old .pch. Its -MD file names the .pch (-fdepfile-entry), because Bazel takes for
inputs only what is named there. And it names the headers of the .pch by /proc/self/cwd, which cc_toolchain_repository.bzl has among
the folders whose files Bazel does not follow: the .pch stands for them, and is made anew when one of them changes.
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
    own = cc_common.merge_cc_infos(cc_infos = [dep[CcInfo] for dep in ctx.attr.deps]).compilation_context
    variables = cc_common.create_compile_variables(
        feature_configuration = features,
        cc_toolchain = cc_toolchain,
        include_directories = own.includes,
        # Not those of the dependencies: found there and not in /usr/include, their headers would be no system headers, and their
        # templates not free of our warnings.
        quote_include_directories = depset([path for path in own.quote_includes.to_list() if "external/" not in path]),
        system_include_directories = own.system_includes,
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
        env = dict(cc_common.get_environment_variables(
            feature_configuration = features,
            action_name = ACTION_NAMES.cpp_compile,
            variables = variables,
        ), PWD = "/proc/self/cwd"),
        inputs = depset(transitive = [cc_toolchain.all_files, own.headers]),
        outputs = [out],
        mnemonic = "PrecompileHeaders",
    )
    context = cc_common.create_compilation_context(headers = depset([out], transitive = [own.headers]))
    return [CcInfo(compilation_context = context), DefaultInfo(files = depset([out]))]

precompiled_headers = rule(
    implementation = _precompiled_headers_impl,
    attrs = {
        "headers": attr.string_list(mandatory = True, doc = "As an #include names them, below /usr/include or of deps."),
        "deps": attr.label_list(providers = [CcInfo], doc = "Of ours. All dependents depend on them anyway."),
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
    pch = "$(BINDIR)/%s/%s.pch" % (_HERE, flavour)
    return struct(
        copts = (OPTIMISATION if flavour == "library" else []) +
                ["-include-pch", pch] +
                (["-Xclang", "-fdepfile-entry=" + pch] if flavour.startswith("kernel_") else []),
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
