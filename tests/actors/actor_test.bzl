"""A test of actors, with what nearly all of them use."""

load("//bazel:understudy.bzl", "understudy_test")

_DEPS = [
    "//actors:api",
    "//actors:base",
    "//actors:ids",
    "//actors:testing",
    "@com_google_absl//absl/status",
    "@com_google_absl//absl/status:statusor",
    "@com_google_absl//absl/strings",
    "@com_google_absl//absl/time",
]

def actor_test(name, deps = [], **kwargs):
    """understudy_test of `name`.cc.

    Args:
      name: of the test, and of its file.
      deps: besides those above.
      **kwargs: passed on.
    """
    understudy_test(
        name = name,
        srcs = [name + ".cc"],
        deps = _DEPS + deps,
        **kwargs
    )
