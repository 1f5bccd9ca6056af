"""Repository rules over libraries that Debian's packages put under /usr."""

INCLUDE_ROOT = "/usr/include"

def symlink_header(ctx, path, debian_package):
    """Makes /usr/include/<path> (a file or a folder) visible as <path> in the repository."""
    source = ctx.path(INCLUDE_ROOT + "/" + path)
    if not source.exists:
        fail("%s is missing: run ./bazelw instead of bazel, or install the Debian package(s) %s" %
             (source, debian_package))
    ctx.symlink(source, path)

def pkg_config_libs(ctx, name, debian_package):
    """The linker options of a pkg-config module, those of what it needs included, each once."""
    result = ctx.execute(["pkg-config", "--libs", name])
    if result.return_code != 0:
        fail("pkg-config knows no %s: run ./bazelw instead of bazel, or install pkg-config and %s" %
             (name, debian_package))
    return unique_options(result.stdout.split(" "))

def unique_options(options):
    """Drops repetitions of shared libraries; the order within --push-state groups does not matter."""
    seen = {}
    for option in options:
        option = option.strip()
        if option and not option.startswith("-Wl,"):
            seen[option] = True
    return seen.keys()

def _system_libraries_impl(ctx):
    for tree in ctx.attr.header_trees:
        symlink_header(ctx, tree, ctx.attr.debian_package)
    build = ['package(default_visibility = ["//visibility:public"])']
    for name, libs in ctx.attr.libraries.items():
        has_headers = name == ctx.attr.headers_of
        build.append("""
cc_library(
    name = "{name}",
    hdrs = {hdrs},
    includes = ["."],
    linkopts = {linkopts},
    deps = {deps},
)
""".format(
            name = name,
            hdrs = 'glob(["**/*.h"])' if has_headers else "[]",
            linkopts = repr(["-l" + lib for lib in libs] + ["-lpthread"]),
            deps = "[]" if has_headers else repr([":" + ctx.attr.headers_of]),
        ))
    ctx.file("BUILD", "\n".join(build))

system_libraries = repository_rule(
    implementation = _system_libraries_impl,
    attrs = {
        "debian_package": attr.string(mandatory = True),
        "header_trees": attr.string_list(mandatory = True),
        "libraries": attr.string_list_dict(mandatory = True),
        "headers_of": attr.string(mandatory = True),
    },
    doc = "One cc_library for each entry of `libraries` (name -> -l names); `headers_of` owns all headers.",
)

def _rules_java_impl(ctx):
    root = ctx.path("/usr/share/bazel/rules/java")
    if not root.exists:
        fail("%s is missing: run ./bazelw instead of bazel, or install bazel-rules-java" % root)
    for entry in root.readdir():
        ctx.symlink(entry, entry.basename)

rules_java_of_bazel = repository_rule(implementation = _rules_java_impl)
