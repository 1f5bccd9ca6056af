"""Links and citations of the pages (.md) that lead nowhere.

A relative link leads to a file or folder of the tree, and its anchor to a heading of that page. A test that a page
cites in backticks, as in `order_test` or `order_test: ResultsComeFirst`, is there and has that case; so it is with
further cases that follow after commas, as in `order_test: ResultsComeFirst`, `TellsComeBeforeCalls`. A header that a page
for users names can be included by them.
"""

import os
import re

from cpp_text import line_of

_FENCE = re.compile(r"^( *)(```|~~~).*?(?:^ *\2|\Z)", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]*`")
_LINK = re.compile(r"\[[^\]]*\]\(\s*<?([^)\s>]+)>?[^)]*\)|^ *\[[^\]]+\]:\s*(\S+)", re.MULTILINE)
_HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$", re.MULTILINE)
_EXTERNAL = re.compile(r"[a-z][a-z0-9+.-]*:|//")
_TEST = re.compile(r"`(?:[\w.]+/)*(\w+_test)(?:\.cc|\.py|\.sh)?(?:[.:] ?(\w+))?`")
# The further cases of a citation.
_FURTHER = re.compile(r"(?:,\s+`[A-Z]\w*`)+")
_TEST_FILE = re.compile(r"(?:.*/)?(\w+_test)\.(?:cc|py|sh)$")
# A target, or the rule or macro that makes one.
_TEST_TARGET = re.compile(r'\bname = "(\w+_test)"|^(?:def )?(\w+_test)\(', re.MULTILINE)
_HEADER = re.compile(r"`([a-z_/0-9]+\.h)`")
_INCLUDE = re.compile(r'^#include "understudy/([^"]+)"', re.MULTILINE)
_PUBLIC_HEADERS = "tests/build/public_headers.cc"
_FOR_USERS = re.compile(r"README\.md|docs/(?:guide/[^/]+|for_[^/]+)\.md")
# //:testing, //:cluster_testing, //:gateway, //:metrics, //:ops and //:tracing.
_OTHER_TARGETS = re.compile(
    r"(?:actors|transport)/testing/|actors/(?:test_system|\w+_executor)\.h|transport/(?:gateway|metrics|ops|tracing)/")
# Bazel's own rule, and the name that stands for any test.
_NO_TARGETS = {"cc_test", "foo_test"}


def _blank(match):
    return re.sub(r"[^\n]", " ", match[0])


def _prose(text):
    """`text` without its code; offsets and lines stay."""
    return _CODE.sub(_blank, _FENCE.sub(_blank, text))


def anchors(text):
    """The anchors that the headings of a page have on GitHub."""
    found = set()
    for match in _HEADING.finditer(_FENCE.sub(_blank, text)):
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", match[1]).lower()
        anchor = re.sub(r"[^\w\- ]", "", title).replace(" ", "-")
        plain, again = anchor, 0
        while anchor in found:
            again += 1
            anchor = f"{plain}-{again}"
        found.add(anchor)
    return found


def check_links(files):
    """Yields (path, line, message) for each relative link that leads nowhere; `files` maps paths to texts."""
    folders = {"."}
    for path in files:
        while path := os.path.dirname(path):
            folders.add(path)
    pages = {path: text for path, text in files.items() if path.endswith(".md")}
    known = {}
    for path, text in sorted(pages.items()):
        for match in _LINK.finditer(_prose(text)):
            link = match[1] or match[2]
            if _EXTERNAL.match(link):
                continue
            line = line_of(text, match.start())
            name, _, anchor = link.partition("#")
            target = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
            if target not in files and target not in folders:
                yield path, line, f"links to {link}: {target} is not there"
            elif anchor and target in pages:
                if anchor not in known.setdefault(target, anchors(pages[target])):
                    yield path, line, f"links to {link}: {target} has no heading #{anchor}"


def check_headers(files):
    """Yields (path, line, message) for each header that a page for users names and that they cannot include.

    Users can include what tests/build/public_headers.cc includes, and what the other public targets have.
    """
    public = set(_INCLUDE.findall(files.get(_PUBLIC_HEADERS, "")))
    for path, text in sorted(files.items()):
        if not _FOR_USERS.fullmatch(path):
            continue
        for match in _HEADER.finditer(text):
            name = match[1]
            places = [place for place in (name, "actors/" + name, "supervision/" + name) if place in files]
            if places and not any(place in public or _OTHER_TARGETS.match(place) for place in places):
                yield path, line_of(text, match.start()), f"names {name}, which {_PUBLIC_HEADERS} does not include"


def check_tests(files):
    """Yields (path, line, message) for each cited test, or case of one, that is not there."""
    texts = {}
    targets = set(_NO_TARGETS)
    for path, text in files.items():
        if match := _TEST_FILE.match(path):
            texts.setdefault(match[1], []).append(text)
        elif path.endswith(("BUILD", ".bzl")):
            targets.update(match[1] or match[2] for match in _TEST_TARGET.finditer(text))
    words = {}  # by test
    for path, text in sorted(files.items()):
        if not path.endswith(".md"):
            continue
        for match in _TEST.finditer(_FENCE.sub(_blank, text)):
            test, case = match[1], match[2]
            if test not in texts:
                if test not in targets:
                    yield path, line_of(text, match.start()), f"cites {test}, which is no test"
                continue
            if not case:
                continue
            if test not in words:
                words[test] = set(re.findall(r"\w+", "\n".join(texts[test])))
            further = _FURTHER.match(text, match.end())
            for cited in [case] + re.findall(r"\w+", further[0] if further else ""):
                if cited not in words[test]:
                    yield path, line_of(text, match.start()), f"cites {cited} of {test}, which does not have it"
