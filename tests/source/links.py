"""Checks the links and citations of the pages (.md).

A relative link must lead to a file or folder of the tree, and its anchor to a heading of that page. A test that a page
cites in backticks, as in `order_test` or `order_test: ResultsComeFirst`, must exist and have that case. The same holds
for further cases that follow after commas, as in `order_test: ResultsComeFirst`, `TellsComeBeforeCalls`. Users must be
able to include each header that a page for users names, links to or includes. Each header at the top of actors/,
supervision/ and transport/ is listed as public or as internal.
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
# Further cases in a citation.
_FURTHER = re.compile(r"(?:,\s+`[A-Z]\w*`)+")
_TEST_FILE = re.compile(r"(?:.*/)?(\w+_test)\.(?:cc|py|sh)$")
# The name of a test target, or a rule or macro that defines test targets.
_TEST_TARGET = re.compile(r'\bname = "(\w+_test)"|^(?:def )?(\w+_test)\(', re.MULTILINE)
_HEADER = re.compile(r"`([a-z_/0-9]+\.h)`")
_OF_LAYER = r"(?:actors|supervision|transport)/"
# A link to a header, and a line of a program that includes one.
_HEADER_PATH = re.compile(rf'\]\([./]*({_OF_LAYER}[\w/]+\.h)[#)]|^#include "understudy/({_OF_LAYER}[\w/]+\.h)"',
                          re.MULTILINE)
_INCLUDE = re.compile(r'^#include "understudy/([^"]+)"', re.MULTILINE)
_AT_TOP = re.compile(_OF_LAYER + r"\w+\.h")
_PUBLIC_HEADERS = "tests/build/public_headers.cc"
_INTERNAL_HEADERS = "tests/build/internal_headers.txt"
_FOR_USERS = re.compile(r"README\.md|docs/(?:guide/[^/]+|for_[^/]+)\.md")
# //:testing, //:cluster_testing, //:gateway, //:grpc_client, //:metrics, //:ops and //:tracing.
_OTHER_TARGETS = re.compile(r"(?:actors|transport)/testing/|actors/(?:test_system|simulation_trace|\w+_executor)\.h|"
                            r"transport/(?:client|gateway|metrics|ops|tracing)/")
# Bazel's own rule, and the placeholder for any test.
_NO_TARGETS = {"cc_test", "foo_test"}


def _blank(match):
    return re.sub(r"[^\n]", " ", match[0])


def _prose(text):
    """Returns `text` with its code blanked out. Offsets and lines do not change."""
    return _CODE.sub(_blank, _FENCE.sub(_blank, text))


def anchors(text):
    """Returns the anchors that GitHub gives to the headings of a page."""
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
    """Yields (path, line, message) for each broken relative link. `files` maps paths to texts."""
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
    """Yields (path, line, message) for each header that a page for users shows and that users cannot include.

    Users can include the headers that tests/build/public_headers.cc includes, and those in other public targets.
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
        for match in _HEADER_PATH.finditer(text):
            place = match[1] or match[2]
            if place not in public and not _OTHER_TARGETS.match(place):
                yield path, line_of(text, match.start()), f"shows {place}, which {_PUBLIC_HEADERS} does not include"


def check_top_headers(files):
    """Yields (path, line, message) for each header at the top of a layer that is not in exactly one of the two lists.

    The lists are tests/build/public_headers.cc and tests/build/internal_headers.txt.
    """
    public = set(_INCLUDE.findall(files.get(_PUBLIC_HEADERS, "")))
    internal = {}
    for number, line in enumerate(files.get(_INTERNAL_HEADERS, "").splitlines(), 1):
        if name := line.partition("#")[0].strip():
            internal[name] = number
    for name, number in internal.items():
        if name not in files:
            yield _INTERNAL_HEADERS, number, f"names {name}, which is not there"
        elif name in public:
            yield _INTERNAL_HEADERS, number, f"names {name}, which {_PUBLIC_HEADERS} has too"
    for path in sorted(files):
        if _AT_TOP.fullmatch(path) and not _OTHER_TARGETS.match(path) and path not in public and path not in internal:
            yield path, 1, f"is new: add it to {_PUBLIC_HEADERS} if it is for users, else to {_INTERNAL_HEADERS}"


def check_tests(files):
    """Yields (path, line, message) for each cited test or test case that does not exist."""
    texts = {}
    targets = set(_NO_TARGETS)
    for path, text in files.items():
        if match := _TEST_FILE.match(path):
            texts.setdefault(match[1], []).append(text)
        elif path.endswith(("BUILD", ".bzl")):
            targets.update(match[1] or match[2] for match in _TEST_TARGET.finditer(text))
    words = {}  # the words in the sources of each cited test
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
