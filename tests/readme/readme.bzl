"""Programs that are shown in a README, built and run as shown."""


def readme_program(name, document = "//:README.md", deps = []):
    """A test that builds the block marked <!-- program: name --> and runs it; it passes by exit status 0.

    Args:
      name: of the block, and of the test.
      document: the file that shows it.
      deps: what the block includes.
    """
    native.genrule(
        name = name + "_source",
        srcs = [document],
        outs = [name + ".cc"],
        cmd = "$(location //tests/readme:extract.py) $(location %s) %s >$@" % (document, name),
        tools = ["//tests/readme:extract.py"],
    )
    native.cc_test(
        name = name,
        size = "small",
        srcs = [name + ".cc"],
        features = ["layering_check"],
        deps = deps,
    )
