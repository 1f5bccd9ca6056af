"""Names that a page of the specification cites, and that are nowhere in the sources: test cases that were renamed, mostly."""

import re

from cpp_text import line_of

_SOURCES = (".cc", ".h", ".py", ".sh", ".bzl", ".proto")
# Of three words at least: `SubscribersAreBounded`, and not `ExitReason`.
_NAME = re.compile(r"`(?:\w+[:.]+ ?)?((?:[A-Z]+[a-z0-9]*){3,})`")


def check(files):
    """Yields (path, line, message) for each name in backticks that no source has; `files` maps paths to texts."""
    known = set()
    for path, text in files.items():
        if path.endswith(_SOURCES):
            known.update(re.findall(r"\w+", text))
    for path, text in sorted(files.items()):
        if not path.endswith(".md"):
            continue
        for match in _NAME.finditer(text):
            if match[1] not in known:
                yield path, line_of(text, match.start(1)), f"cites {match[1]}, which is nowhere in the sources"
