"""The repositories that Understudy needs, under the names that everybody gives them.

A workspace that already has one of them (a monorepo with its own Abseil) keeps its own: declare it before
calling understudy_dependencies(). What is missing comes from the packages of Debian 12.
"""

load(":absl_repository.bzl", "system_absl")
load(":cc_toolchain_repository.bzl", "layered_cc_toolchain")
load(":grpc_repository.bzl", "system_grpc")
load(":protobuf_repository.bzl", "system_protobuf")
load(":system_repository.bzl", "rules_java_of_bazel", "system_libraries")

_RULES_CC_DEFS = """
cc_binary = native.cc_binary
cc_import = native.cc_import
cc_library = native.cc_library
cc_proto_library = native.cc_proto_library
cc_test = native.cc_test
cc_toolchain = native.cc_toolchain
cc_toolchain_suite = native.cc_toolchain_suite
objc_library = native.objc_library
"""

def _rules_cc_impl(ctx):
    ctx.file("BUILD", 'toolchain_type(name = "never", visibility = ["//visibility:private"])\n')
    ctx.file("cc/BUILD", 'toolchain_type(name = "toolchain_type", visibility = ["//visibility:public"])\n')
    ctx.file("cc/defs.bzl", _RULES_CC_DEFS)

# Bazel's own tools load it, and want no more of it than the native rules.
_native_rules_cc = repository_rule(implementation = _rules_cc_impl)

def _no_coverage_impl(ctx):
    ctx.file("BUILD", "\n".join([
        'filegroup(name = "%s", visibility = ["//visibility:public"])' % name
        for name in ["coverage_report_generator", "lcov_merger"]
    ]))

# Bazel would download it for every cc_test, used or not.
_no_coverage_tools = repository_rule(implementation = _no_coverage_impl)

def _missing(name):
    return not native.existing_rule(name)

def understudy_dependencies():
    """Declares each dependency that the workspace has not declared before."""
    if _missing("com_google_absl"):
        system_absl(name = "com_google_absl")
    if _missing("com_google_protobuf"):
        system_protobuf(name = "com_google_protobuf")
    if _missing("com_github_grpc_grpc"):
        system_grpc(name = "com_github_grpc_grpc")
    if _missing("com_google_googletest"):
        system_libraries(
            name = "com_google_googletest",
            debian_package = "libgtest-dev libgmock-dev",
            header_trees = ["gtest", "gmock"],
            libraries = {
                "gtest": ["gmock", "gtest", "gmock"],
                "gtest_main": ["gmock_main", "gtest"],
            },
            headers_of = "gtest",
        )
    if _missing("com_github_google_benchmark"):
        system_libraries(
            name = "com_github_google_benchmark",
            debian_package = "libbenchmark-dev",
            header_trees = ["benchmark"],
            libraries = {
                "benchmark": ["benchmark"],
                "benchmark_main": ["benchmark_main", "benchmark"],
            },
            headers_of = "benchmark",
        )
    if _missing("boringssl"):
        # Debian has OpenSSL, which gRPC is linked with; what is used of it BoringSSL has too.
        system_libraries(
            name = "boringssl",
            debian_package = "libssl-dev",
            header_trees = ["openssl"],
            libraries = {
                "crypto": ["crypto"],
                "ssl": ["ssl", "crypto"],
            },
            headers_of = "crypto",
        )
    if _missing("org_sqlite"):
        system_libraries(
            name = "org_sqlite",
            debian_package = "libsqlite3-dev",
            header_trees = ["sqlite3.h"],
            libraries = {"sqlite3": ["sqlite3"]},
            headers_of = "sqlite3",
        )
    if _missing("org_gnu_libmicrohttpd"):
        system_libraries(
            name = "org_gnu_libmicrohttpd",
            debian_package = "libmicrohttpd-dev",
            header_trees = ["microhttpd.h"],
            libraries = {"microhttpd": ["microhttpd"]},
            headers_of = "microhttpd",
        )
    if _missing("rules_cc"):
        _native_rules_cc(name = "rules_cc")
    if _missing("rules_java"):
        rules_java_of_bazel(name = "rules_java")
    if _missing("remote_coverage_tools"):
        _no_coverage_tools(name = "remote_coverage_tools")

def understudy_toolchain():
    """Declares @layered_cc; .bazelrc selects it by --crosstool_top=@layered_cc//:toolchain."""
    layered_cc_toolchain(name = "layered_cc")
