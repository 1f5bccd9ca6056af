"""Sources that are compiled together.

Most of what a source costs to compile are the headers that it includes, and ten sources of one library, or ten tests of one package, include
nearly the same. As one file they take a third of the time. A change of one then compiles all ten, so it is not the default:

- The libraries, but not the examples and benchmarks, are joined where --define=understudy_sources=joined asks for that, as `.bazelrc` does
  for the sanitizers and `.ci/run` for its tests. Names in anonymous namespaces and macros must differ among the sources of a library;
  the compiler refuses those that do not.
- joined_tests() at the end of a BUILD file below tests/ declares tests that join those of the package, and `.ci/run` runs them in place of
  those. Suites must have different names then; GoogleTest ends the test that finds two of one name.
"""

# Where this file is the main workspace's: users' packages are compiled as they stand.
_IS_OWN = not str(Label("//bazel:joined.bzl")).startswith("@")

# Programs, each with actors of its own that have the names of others.
_NOT_JOINED = ("examples/", "tests/bench")

# More gain little, and a library should keep two cores busy.
_FILES_MAX = 10

def _parts(items):
    """The items in their order, in as few lists of at most _FILES_MAX as there can be, which are as long as each other or one longer."""
    count = (len(items) + _FILES_MAX - 1) // _FILES_MAX
    return [items[len(items) * part // count:len(items) * (part + 1) // count] for part in range(count)]

def _joined_file(name, srcs, printed_by, testonly = False):
    """Declares the file NAME.cc, which has the sources, each as the command `printed_by` prints it."""
    native.genrule(
        name = name + ".cc_file",
        testonly = testonly,
        srcs = srcs,
        outs = [name + ".cc"],
        # Diagnostics, and what a sanitizer reports, name the sources.
        cmd = 'for source in $(SRCS); do echo "#line 1 \\"$$source\\""; %s "$$source"; done >$@' % printed_by,
        tags = ["manual"],
        visibility = ["//visibility:private"],
    )
    return name + ".cc"

def joined(name, srcs):
    """The srcs of the library `name`, a select by configuration. Headers, labels and a single source stay what they are."""
    if not _IS_OWN or native.package_name().startswith(_NOT_JOINED) or type(srcs) != "list":
        return srcs
    sources = [source for source in srcs if source.endswith(".cc") and not source.startswith((":", "//", "@"))]
    if len(sources) < 2:
        return srcs
    files = [_joined_file("%s_joined_%d" % (name, number), part, "cat") for number, part in enumerate(_parts(sources))]
    return select({
        str(Label("//bazel/precompiled:joined")): files + [source for source in srcs if source not in sources],
        "//conditions:default": srcs,
    })

# What a joined test can take over from its parts.
_JOINABLE = ["data", "env", "tags", "visibility"]

def _part_impl(_ctx):
    return []

_joined_test_part = rule(
    implementation = _part_impl,
    attrs = {
        "srcs": attr.label_list(allow_files = True),
        "data": attr.label_list(allow_files = True),
        "deps_of_test": attr.string_list(),
        "env": attr.string_dict(),
        "size_of_test": attr.string(),
        "tags_of_test": attr.string_list(),
    },
    doc = "What joined_tests() has to know of a test.",
)

def joined_test_tags(name, srcs, deps, size, features, kwargs):
    """The tags of a test, "joined" among them if joined_tests() takes its sources, which it then finds.

    A test is not joined if it has an argument of cc_test that a joined test cannot take over, or the tag "alone": it needs a process of
    its own, or names that are its alone.
    """
    tags = kwargs.get("tags", [])
    if not _IS_OWN or not native.package_name().startswith("tests/") or type(deps) != "list" or type(srcs) != "list":
        return tags
    if "alone" in tags or "manual" in tags or features or [key for key in kwargs if key not in _JOINABLE]:
        return tags
    if type(kwargs.get("data", [])) != "list":
        return tags
    _joined_test_part(
        name = name + "_part",
        testonly = True,
        srcs = srcs,
        data = kwargs.get("data", []),
        deps_of_test = deps,
        env = kwargs.get("env", {}),
        size_of_test = size,
        tags = ["manual"],
        tags_of_test = tags,
        visibility = ["//visibility:private"],
    )
    return tags + ["joined"]

_SIZES = ["small", "medium", "large", "enormous"]

def joined_test_groups():
    """What the tests of this package join to: structs with name, srcs, headers, data, deps, env, size and tags.

    Tests with the same tags and environment are joined, in the order of their names.
    """
    groups = {}
    for _, rule in sorted(native.existing_rules().items()):
        if rule["kind"] == "_joined_test_part":
            groups.setdefault(str([rule["tags_of_test"], rule["env"]]), []).append(rule)
    found = []
    for key in sorted(groups):
        for members in _parts(groups[key]):
            srcs = [src for rule in members for src in rule["srcs"]]
            if len({src: None for src in srcs if src.endswith(".cc")}) != len([src for src in srcs if src.endswith(".cc")]):
                fail("two joined tests have a source in common: give them the tag \"alone\" (bazel/joined.bzl)")
            found.append(struct(
                name = "joined_%d_test" % len(found),
                srcs = [src for src in srcs if src.endswith(".cc")],
                headers = {src: None for src in srcs if not src.endswith(".cc")}.keys(),
                data = {file: None for rule in members for file in rule["data"]}.keys(),
                deps = {dep: None for rule in members for dep in rule["deps_of_test"]}.keys(),
                env = dict(members[0]["env"]),
                size = _SIZES[max([_SIZES.index(rule["size_of_test"]) for rule in members])],
                tags = list(members[0]["tags_of_test"]),
            ))
    return found

def joined_test_source(name, srcs):
    """Declares and returns the file that has the sources of the joined test `name`.

    What a source has in an anonymous namespace is there in a namespace that is named after the source.
    """
    return _joined_file(name, srcs, 'sed "s/namespace {/namespace joined_$$(basename $$source .cc) {/"', testonly = True)
