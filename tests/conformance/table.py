#!/usr/bin/python3
"""Writes README.md: each row of the conformance lists, its tests and its state.

The tests say which rows they hold the code to, in comments directly above them: `// OTP PRC-12`, `// SEL 3, 4`,
`// EBA 12`. rows.txt says which rows there are, and the state of those that no test can show yet.

    tests/conformance/table.py     writes README.md anew
"""

import os
import re
import sys

STATES = ("done", "partial", "later", "not applicable", "missing")
README = "tests/conformance/README.md"
ROWS = "tests/conformance/rows.txt"

PREAMBLE = """\
# tests/conformance/: what others' suites and papers ask for

Each row is one case of a list: OTP's own test suites (`OTP PRC-12`), the work on selectors (`SEL 3`), the work on
event-based actors (`EBA 12`). A test cites its rows in a comment directly above it, wherever it lies under `tests/`;
this table is made from those comments and `rows.txt` by `tests/conformance/table.py`, and `table_test` and
`table_tree_test` hold it to them. A race is run with 200 seeds under the seeded executor, and 200 times
on the thread pool, where the thread sanitizer watches it (`.ci/long races`: 1,000): both cases stand in the table.
A test of `otp_sup_*` is one scenario, run with a hundred seeds and twenty times on four threads. The nodes of
`transport/node_core_test` are in one process, joined by a simulated network. Tests of a million messages send fewer
when sanitized.

Where a row and the semantics of this library differ, the semantics win, and the row's state says how.

- *done*: the tests show it. What is said after it is where we differ from the row, or what the tests leave out.
- *partial*: the tests show less than the row asks for; what is missing is said.
- *later*: it waits for what is named (*nodes*: actors of several processes; *introspection*: lists and tables of a
  running system); tests that are named with it show the local part.
- *not applicable*: there is nothing of the kind here, and why.
- *missing*: nothing shows it.
"""


class Malformed(ValueError):
    pass


def row_name(source, suite, number):
    return f"{source} {suite}-{number:02d}" if suite else f"{source} {number}"


def parse_row(text):
    """"OTP PRC-3" or "SEL 3", and what follows it."""
    match = re.match(r"(?:OTP\s+([A-Z]+)-(\d+)|(SEL|EBA)\s+(\d+))\b", text)
    if match is None:
        raise Malformed(f"no row: {text}")
    if match[1]:
        return row_name("OTP", match[1], int(match[2])), text[match.end():]
    return row_name(match[3], "", int(match[4])), text[match.end():]


class Rows:
    """rows.txt: the rows that stand in the table, those that may be cited besides, and notes on some."""

    def __init__(self, text):
        self.expected = []  # (heading, [row])
        self.known = set()
        self.notes = {}  # row: (state, text)
        for number, line in enumerate(text.split("\n"), 1):
            line = line.split("#")[0].strip()
            if not line:
                continue
            try:
                self._add(line)
            except Malformed as error:
                raise Malformed(f"{ROWS}:{number}: {error}") from None
        for row in self.notes:
            if row not in self.all_expected():
                raise Malformed(f"{ROWS}: a note on {row}, which stands in no table")

    def all_expected(self):
        return {row for _, rows in self.expected for row in rows}

    def _add(self, line):
        listed = re.match(r"(expect|know)\s+(?:OTP\s+([A-Z]+)|(SEL|EBA))\s+([\d\s-]+)$", line)
        if listed:
            source, suite = ("OTP", listed[2]) if listed[2] else (listed[3], "")
            rows = [row_name(source, suite, n) for n in self._numbers(listed[4])]
            for row in rows:
                if row in self.known:
                    raise Malformed(f"{row} is listed twice")
                self.known.add(row)
            if listed[1] == "expect":
                self.expected.append((suite or source, rows))
            return
        row, rest = parse_row(line)
        match = re.match(r"\s+(%s)(?::\s*(.*))?$" % "|".join(STATES), rest)
        if match is None:
            raise Malformed(f"{row} needs one of the states {', '.join(STATES)}")
        if not match[2]:
            raise Malformed(f"{row}: say why, or what it waits for")
        if row in self.notes:
            raise Malformed(f"a second note on {row}")
        self.notes[row] = (match[1], match[2])

    @staticmethod
    def _numbers(text):
        for part in text.split():
            first, _, last = part.partition("-")
            yield from range(int(first), int(last or first) + 1)


_CITED = re.compile(r"[\s,;]*(?:and\s+)?(?:(OTP|SEL|EBA)\s+)?(?:([A-Z]+)-(\d+)\b|(\d+)\b(?!\.\d))")


def cited_rows(comment):
    """The rows that a comment's text begins with; what follows them is prose."""
    rows, source, at = [], None, 0
    while True:
        match = _CITED.match(comment, at)
        if match is None:
            return rows
        source = match[1] or source
        if source is None or (source == "OTP") != (match[2] is not None):
            return rows
        rows.append(row_name(source, match[2] or "", int(match[3] or match[4])))
        at = match.end()


_TEST = re.compile(r"(?:TYPED_)?TEST(?:_\w+)?\(\s*(\w+)\s*,\s*(\w+)")
_NOCOMPILE = re.compile(r"#ifdef NOCOMPILE_(\w+)")
# What may stand between the comment and its test.
_BETWEEN = re.compile(r"\s*(?://.*|#if.*|#endif.*|template.*)?$")


def citations(path, text):
    """(row, test) of each citation of a file; raises Malformed for one that stands above no test."""
    name = re.sub(r"^tests/|\.(cc|h)$", "", path)
    lines = text.split("\n")
    for index, line in enumerate(lines):
        comment = re.match(r"\s*//\s*(.*)$", line)
        rows = cited_rows(comment[1]) if comment else []
        if not rows:
            continue
        test = _test_of(lines, index, indented=line.startswith(" "))
        if test is None:
            raise Malformed(f"{path}:{index + 1}: {', '.join(rows)} cited, but not directly above a test or in one")
        if not test.startswith("DISABLED_"):  # it does not run
            for row in rows:
                yield row, f"{name}: {test}"


def _test_of(lines, index, indented):
    """A comment at the margin is its next line's test's; one further in is that of the test around it."""
    for line in reversed(lines[:index]) if indented else lines[index + 1:]:
        match = _TEST.match(line)
        if match:
            return match[2]
        match = _NOCOMPILE.match(line)
        if match:
            return match[1]
        if not indented and not _BETWEEN.match(line):
            return None
    return None


def all_citations(files):
    """{row: [test]} of the files that some target compiles."""
    found = {}
    for path, text in sorted(files.items()):
        folder, _, name = path.rpartition("/")
        if not path.startswith("tests/") or not path.endswith((".cc", ".h")):
            continue
        # "x_test.cc", or "x_test" in a list of names.
        build = files.get(f"{folder}/BUILD", "")
        if f'"{name}"' not in build and f'"{name.rpartition(".")[0]}"' not in build:
            continue
        for row, test in citations(path, text):
            tests = found.setdefault(row, [])
            if test not in tests:
                tests.append(test)
    return found


def state_of(row, tests, notes):
    state, note = notes.get(row, ("done" if tests else "missing", ""))
    if state in ("done", "partial") and not tests:
        raise Malformed(f"{row} is said to be {state}, but no test cites it")
    if state in ("missing", "not applicable") and tests:
        raise Malformed(f"{row} is said to be {state}, but {tests[0]} cites it")
    if state == "later":
        return f"later: {note}"
    return f"{state}. {note}" if note else state


def table(rows, cited):
    """README.md's text."""
    for row in cited:
        if row not in rows.known:
            raise Malformed(f"{cited[row][0]} cites {row}, which does not exist")
    text = [PREAMBLE]
    counts = dict.fromkeys(STATES, 0)
    for heading, listed in rows.expected:
        text.append(f"\n## {heading}\n\n| id | test | state |\n|---|---|---|\n")
        for row in listed:
            tests = cited.get(row, [])
            state = state_of(row, tests, rows.notes)
            counts[next(s for s in STATES if state.startswith(s))] += 1
            text.append(f"| {row} | {', '.join(f'`{test}`' for test in tests)} | {state} |\n")
    total = ", ".join(f"{count} {state}" for state, count in counts.items())
    text.append(f"\n{sum(counts.values())} rows: {total}.\n")
    return "".join(text)


def read_tests(root):
    """{path: text} of what the table is made from."""
    files = {}
    for folder, folders, names in os.walk(os.path.join(root, "tests")):
        folders[:] = sorted(f for f in folders if f != "consumer" and not f.startswith("bazel-"))
        for name in names:
            if name == "BUILD" or name.endswith((".cc", ".h", ".txt")):
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as file:
                    files[os.path.relpath(path, root)] = file.read()
    return files


def table_of_tree(root):
    files = read_tests(root)
    return table(Rows(files[ROWS]), all_citations(files))


def main():
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
    try:
        text = table_of_tree(root)
    except Malformed as error:
        sys.exit(str(error))
    with open(os.path.join(root, README), "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main()
