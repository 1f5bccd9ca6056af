"""Programs that are shown in a README or a page of the guide, built and run as shown."""

def _extract(name, document, suffix = ".cc"):
    native.genrule(
        name = name + "_source",
        srcs = [document],
        outs = [name + suffix],
        cmd = "$(location //tests/readme:extract.py) $(location %s) %s >$@" % (document, name),
        tools = ["//tests/readme:extract.py"],
    )

def readme_program(name, document = "//:README.md", deps = [], data = []):
    """A test that builds the blocks marked <!-- program: name --> and runs them; it passes by exit status 0.

    Args:
      name: of the blocks, and of the test.
      document: the file that shows them.
      deps: what they include.
      data: what the program needs when it runs.
    """
    _extract(name, document)
    native.cc_test(
        name = name,
        size = "small",
        srcs = [name + ".cc"],
        data = data,
        features = ["layering_check"],
        deps = deps,
    )

def readme_binary(name, document = "//:README.md", deps = []):
    """The same, built only: for the `data` of a readme_program, which runs it.

    Args:
      name: of the blocks, and of the binary.
      document: the file that shows them.
      deps: what they include.
    """
    _extract(name, document)
    native.cc_binary(
        name = name,
        testonly = True,
        srcs = [name + ".cc"],
        features = ["layering_check"],
        linkopts = ["-Wl,--build-id"],
        deps = deps,
    )

def readme_proto(name, document):
    """The file <name>.proto of the ```proto blocks marked <!-- program: name -->, for a proto_library.

    Args:
      name: of the blocks.
      document: the file that shows them.
    """
    _extract(name, document, suffix = ".proto")
