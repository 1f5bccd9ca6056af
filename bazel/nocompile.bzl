"""understudy_nocompile_test: what must not compile, and what the compiler must say then."""

load("@bazel_tools//tools/build_defs/cc:action_names.bzl", "ACTION_NAMES")
load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

def _compiler_command(ctx, cc_toolchain, compilation):
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = cc_toolchain,
        requested_features = ctx.features,
        # It looks at headers of other targets, without their module maps.
        unsupported_features = ctx.disabled_features + ["layering_check", "module_maps"],
    )
    variables = cc_common.create_compile_variables(
        feature_configuration = features,
        cc_toolchain = cc_toolchain,
        source_file = ctx.file.src.path,
        user_compile_flags = ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts,
        include_directories = compilation.includes,
        quote_include_directories = compilation.quote_includes,
        system_include_directories = compilation.system_includes,
        preprocessor_defines = compilation.defines,
        # As the precompiled headers were compiled.
        use_pic = True,
    )
    options = cc_common.get_memory_inefficient_command_line(
        feature_configuration = features,
        action_name = ACTION_NAMES.cpp_compile,
        variables = variables,
    )
    compiler = cc_common.get_tool_for_action(
        feature_configuration = features,
        action_name = ACTION_NAMES.cpp_compile,
    )
    environment = cc_common.get_environment_variables(
        feature_configuration = features,
        action_name = ACTION_NAMES.cpp_compile,
        variables = variables,
    )
    return compiler, options, environment

def _nocompile_test_impl(ctx):
    cc_toolchain = find_cpp_toolchain(ctx)
    compilation = cc_common.merge_cc_infos(
        cc_infos = [dep[CcInfo] for dep in ctx.attr.deps],
    ).compilation_context
    compiler, options, environment = _compiler_command(ctx, cc_toolchain, compilation)

    logs = []
    script = ["#!/bin/bash", "bad=0"]
    for case in [""] + sorted(ctx.attr.cases.keys()):
        log = ctx.actions.declare_file("%s.%s.log" % (ctx.label.name, case or "compiles"))
        logs.append(log)
        args = ctx.actions.args()
        args.add(log)
        args.add(compiler)
        args.add_all(options)
        if ctx.file.precompiled:
            args.add_all(["-fmodules-strict-decluse", "-include-pch", ctx.file.precompiled])
        args.add_all(["-w", "-fsyntax-only", "-fdiagnostics-color=never", "-DNOCOMPILE_" + (case or "NOTHING")])
        ctx.actions.run_shell(
            # The last line says whether it compiled. The log is the output, so the action never fails.
            command = 'log=$1; shift; if "$@" >"$log" 2>&1; then echo COMPILED >>"$log"; else echo REFUSED >>"$log"; fi',
            arguments = [args],
            env = environment,
            inputs = depset([ctx.file.src] + ctx.files.precompiled, transitive = [compilation.headers, cc_toolchain.all_files]),
            outputs = [log],
            mnemonic = "NoCompile",
        )
        script.append("check %s %s '%s'" % (
            log.short_path,
            case or "''",
            ctx.attr.cases[case].replace("'", "'\\''") if case else "",
        ))
    script.insert(1, "src=" + ctx.file.src.short_path + """
leads_to_block() {
  for line in $(awk -v begin="#ifdef NOCOMPILE_$1" '$0 == begin {on = 1; next} /^#endif/ {on = 0} on {print NR}' "$src"); do
    grep -qE "${src##*/}:$line[:,]" "$2" && return
  done
  return 1
}
check() {
  if [ -z "$2" ]; then
    tail -n 1 "$1" | grep -qx COMPILED && return
    echo "without a case the file must compile:" && cat "$1" && bad=1
  elif tail -n 1 "$1" | grep -qx COMPILED; then
    echo "NOCOMPILE_$2 compiles, and must not" && bad=1
  elif ! grep -qE -- "$3" "$1"; then
    echo "NOCOMPILE_$2: the compiler does not say \\"$3\\":" && cat "$1" && bad=1
  elif ! leads_to_block "$2" "$1" || grep -qE "^/[^ ]*: error" "$1"; then
    echo "NOCOMPILE_$2: the error does not lead to the lines of that case, or lies in a header of the system:"
    cat "$1" && bad=1
  else
    echo "NOCOMPILE_$2 is refused: $(grep -E -m 1 -- "$3" "$1")"
  fi
}""")
    script.append("exit $bad")
    executable = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.write(executable, "\n".join(script) + "\n", is_executable = True)
    return [DefaultInfo(executable = executable, runfiles = ctx.runfiles(files = logs + [ctx.file.src]))]

_nocompile_test = rule(
    implementation = _nocompile_test_impl,
    test = True,
    attrs = {
        "src": attr.label(mandatory = True, allow_single_file = [".cc"]),
        "cases": attr.string_dict(mandatory = True),
        "deps": attr.label_list(providers = [CcInfo]),
        "precompiled": attr.label(allow_single_file = True, doc = "Headers that fit the plain configuration, or none."),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)

def understudy_nocompile_test(name, src, cases, deps, **kwargs):
    """A test that `src` compiles as it is, and is refused under each -DNOCOMPILE_<case>.

    Each error, or a note of it, names a line between that case's #ifdef and #endif.

    Args:
      name: of the test.
      src: one .cc file with `#ifdef NOCOMPILE_X … #endif` blocks.
      cases: {"X": what the compiler's output must match, an extended regular expression}.
      deps: what src includes.
      **kwargs: passed to the test rule.
    """
    _nocompile_test(
        name = name,
        src = src,
        cases = cases,
        deps = deps,
        precompiled = select({
            str(Label("//bazel/precompiled:in_plain")): str(Label("//bazel/precompiled:test")),
            "//conditions:default": None,
        }),
        size = "small",
        **kwargs
    )
