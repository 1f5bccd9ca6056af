"""Checks that the names and rules that files cite exist.

A page may cite a test case or another name in backticks. Any file may cite a rule of docs/semantics.md, or of the pages
below docs/semantics/, by its number, as in `semantics 5.4`.
"""

import re

from cpp_text import line_of

_SOURCES = (".cc", ".h", ".py", ".sh", ".bzl", ".proto")
# A name of at least three words, such as `SubscribersAreBounded`. `ExitReason` is not checked.
_NAME = re.compile(r"`(?:\w+[:.]+ ?)?((?:[A-Z]+[a-z0-9]*){3,})`")
# The number of a rule may be on the next line of a comment.
_RULES = re.compile(r"\bsemantics(?:\.md)?[\s/#]+(\d+(?:\.\d+)?(?:(?:,|\s+(?:and|to))\s+\d+\.\d+)*)")


def check_rules(files):
    """Yields (path, line, message) for each cited rule of the semantics that is on no page."""
    known = set()
    for path, text in files.items():
        if path == "docs/semantics.md" or path.startswith("docs/semantics/"):
            known.update(re.findall(r"^\*\*(\d+\.\d+)\*\*", text, re.MULTILINE))
            known.update(re.findall(r"^## (\d+) ", text, re.MULTILINE))
    for path, text in sorted(files.items()):
        for match in _RULES.finditer(text):
            for rule in re.findall(r"\d+(?:\.\d+)?", match[1]):
                if rule not in known:
                    yield path, line_of(text, match.start(1)), f"cites semantics {rule}, which docs/semantics.md does not have"


def check(files):
    """Yields (path, line, message) for each name in backticks that is in no source. `files` maps paths to texts."""
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
