"""The macros by which every C++ target of Understudy is declared, and which users may use too.

They put a prefix before each include path: `actors/pid.h` is included as "understudy/actors/pid.h", and
`proto/envelope.proto` imported as "understudy/proto/envelope.proto". So a workspace with a folder `actors/`
of its own keeps it. A workspace that uses these macros for its own code gives its own `prefix`.
"""

load("@com_github_grpc_grpc//bazel:cc_grpc_library.bzl", "cc_grpc_library")
load(":joined.bzl", "joined", "joined_test_groups", "joined_test_source", "joined_test_tags")
load(":precompiled.bzl", "precompiled")

_FEATURES = ["layering_check"]
_PREFIX = "understudy"

# A test that depends on one of these takes the kernel's headers, so that a change of one compiles no other test again.
_KERNEL = ["//:kernel", "//:testing", "//:understudy", "//actors:api", "//actors:simulation", "//actors:testing"]

# Precompiled headers fit one set of options. So a target with copts of its own gets none, nor does what lies below tests/, which .bazelrc
# compiles otherwise than the rest, unless it is testonly: then it is compiled as the tests beside it.
def _library_headers(package, deps, kwargs):
    if (package + "/").startswith("tests/"):
        return _test_headers(package, deps, kwargs) if kwargs.get("testonly") else precompiled({})
    if "copts" in kwargs:
        return precompiled({})
    return precompiled({"in_asan": "library", "in_plain": "library", "in_tsan": "library"})

def _test_headers(package, deps, kwargs):
    if "copts" in kwargs or not package.startswith("tests/"):
        return precompiled({})
    test = "kernel_test" if type(deps) == "list" and [dep for dep in deps if dep in _KERNEL] else "test"
    unoptimised = package.split("/")[1:2] in [["actors"], ["conformance"], ["supervision"]]
    return precompiled({
        "in_asan": test + "_unoptimised",
        "in_plain": test,
        "in_tsan": test + "_unoptimised" if unoptimised else test,
    })

def understudy_library(name, srcs = [], hdrs = [], deps = [], prefix = _PREFIX, features = [], **kwargs):
    """A cc_library whose headers are included as "<prefix>/<package>/<header>".

    Args:
      name: name of the target.
      srcs: sources, and headers that only this target may include.
      hdrs: headers for others; they may lie in folders below the package.
      deps: every target whose headers are included here, directly (layering_check sees to it).
      prefix: first part of the include path.
      features: more toolchain features; "-layering_check" turns the check off.
      **kwargs: passed to cc_library.
    """
    package = native.package_name()
    headers = _library_headers(package, deps, kwargs)
    native.cc_library(
        name = name,
        srcs = joined(name, srcs),
        hdrs = hdrs,
        copts = kwargs.pop("copts", headers.copts),
        deps = deps + headers.deps,
        features = _FEATURES + features,
        include_prefix = prefix + "/" + package if package else prefix,
        strip_include_prefix = "/" + package,
        **kwargs
    )

def _facade_impl(ctx):
    return [
        # "direct": whoever depends on the facade may include the headers of its deps. A cc_library without headers
        # does not pass them on under layering_check.
        cc_common.merge_cc_infos(direct_cc_infos = [dep[CcInfo] for dep in ctx.attr.deps]),
        DefaultInfo(files = depset(transitive = [dep[DefaultInfo].files for dep in ctx.attr.deps])),
    ]

understudy_facade = rule(
    implementation = _facade_impl,
    attrs = {"deps": attr.label_list(mandatory = True, providers = [CcInfo])},
    provides = [CcInfo],
    doc = "Several libraries under one name: its users include the headers of each of `deps`.",
)

def understudy_test(name, srcs, deps = [], size = "small", features = [], **kwargs):
    """A cc_test with GoogleTest and its main; `size` is "small" unless said otherwise."""
    kwargs["tags"] = joined_test_tags(name, srcs, deps, size, features, kwargs)
    headers = _test_headers(native.package_name(), deps, kwargs)
    native.cc_test(
        name = name,
        srcs = srcs,
        size = size,
        copts = kwargs.pop("copts", headers.copts),
        features = _FEATURES + features,
        deps = deps + headers.deps + [
            "@com_google_googletest//:gtest",
            "@com_google_googletest//:gtest_main",
        ],
        **kwargs
    )

def joined_tests():
    """Declares the tests joined_0_test, joined_1_test, … of all joinable tests of the package that are declared before (joined.bzl)."""
    for group in joined_test_groups():
        headers = _test_headers(native.package_name(), group.deps, {})
        native.cc_test(
            name = group.name,
            size = group.size,
            srcs = [joined_test_source(group.name, group.srcs)] + group.headers,
            copts = headers.copts,
            data = group.data,
            env = group.env,
            features = _FEATURES,
            tags = group.tags + ["joined_test", "manual"],
            deps = group.deps + headers.deps + [
                "@com_google_googletest//:gtest",
                "@com_google_googletest//:gtest_main",
            ],
        )

def understudy_tree_test(name, src, factories, size = "small", **kwargs):
    """A test that a supervision tree's file can be read and started; it prints the tree, or all that is wrong.

    Args:
      name: name of the test.
      src: the file, a textproto (proto/supervision_tree.proto).
      factories: a library that defines understudy::TreeFactories() (transport/tree_factories.h).
      size: of the test.
      **kwargs: passed to cc_test.
    """
    native.cc_test(
        name = name,
        size = size,
        args = ["$(rootpath %s)" % src],
        data = [src],
        features = _FEATURES,
        deps = [factories, str(Label("//transport:tree_test_main"))],
        **kwargs
    )

def understudy_binary(name, srcs, deps = [], features = [], linkopts = [], **kwargs):
    """A cc_binary under layering_check, with a build id, which the line that a fatal signal leaves has (actor_system.h)."""
    headers = _library_headers(native.package_name(), deps, kwargs)
    native.cc_binary(
        name = name,
        srcs = srcs,
        copts = kwargs.pop("copts", headers.copts),
        deps = deps + headers.deps,
        features = _FEATURES + features,
        linkopts = linkopts + ["-Wl,--build-id"],
        **kwargs
    )

def understudy_fuzz_test(name, srcs, corpus, deps = [], tags = [], **kwargs):
    """A LLVMFuzzerTestOneInput: a test that replays `corpus`, and under --config=fuzz a fuzzer.

    To fuzz: tools/fuzz/fuzz SECONDS //x:name. Sources that are to guide the fuzzer are named in .bazelrc, at build:asan.

    Args:
      name: name of the cc_test.
      srcs: the fuzz target.
      corpus: input files that found something once, or that show the format; a glob of a folder named *corpus.
      deps: what srcs includes.
      tags: besides "fuzz", by which .ci/run finds it, and "long-tsan": one thread runs it.
      **kwargs: passed to cc_test.
    """
    fuzzing = str(Label("//tools/fuzz:fuzzing"))
    native.cc_test(
        name = name,
        size = "small",
        srcs = srcs,
        args = ["$(rootpath %s)" % file for file in corpus],
        data = corpus,
        features = _FEATURES,
        linkopts = select({
            fuzzing: ["-fsanitize=fuzzer"],
            "//conditions:default": [],
        }),
        deps = deps + select({
            fuzzing: [],
            "//conditions:default": [str(Label("//tools/fuzz:replay_main"))],
        }),
        tags = tags + [
            "fuzz",
            "long-tsan",
        ],
        **kwargs
    )

def understudy_proto_library(name, srcs, deps = [], prefix = _PREFIX, grpc = False, visibility = None, **kwargs):
    """A proto_library and its C++ code.

    For name = "envelope_proto" it makes
      :envelope_proto       the proto_library, imported as "<prefix>/<package>/<file>.proto"
      :envelope_cc_proto    its messages, included as "<prefix>/<package>/<file>.pb.h"
      :envelope_cc_grpc     (grpc = True) its services, "<prefix>/<package>/<file>.grpc.pb.h"

    Args:
      name: ends with "_proto".
      srcs: the .proto files.
      deps: proto_library targets that they import.
      prefix: first part of the import path.
      grpc: whether to generate service classes.
      visibility: of all the targets.
      **kwargs: passed to proto_library.
    """
    if not name.endswith("_proto"):
        fail("understudy_proto_library: the name %s must end with _proto" % name)
    stem = name[:-len("_proto")]
    package = native.package_name()
    native.proto_library(
        name = name,
        srcs = srcs,
        deps = deps,
        import_prefix = prefix + "/" + package if package else prefix,
        strip_import_prefix = "/" + package,
        visibility = visibility,
        **kwargs
    )
    native.cc_proto_library(name = stem + "_cc_proto", deps = [":" + name], visibility = visibility)
    if grpc:
        cc_grpc_library(
            name = stem + "_cc_grpc",
            srcs = [":" + name],
            grpc_only = True,
            deps = [":%s_cc_proto" % stem],
            visibility = visibility,
        )
