#!/usr/bin/python3
"""Writes README.md and rows/*.md: what others' suites and papers require, the state of each row, and its tests.

rows/*.txt has one file for each work, with its rows in our words and the state of each row. The tests of a row are
those that cite it in a comment directly above them (`// OTP PRC-12`, `// SEL 3, 4`), and those that its entry names:

    work SEL Selectors (title)        the letters by which its rows are cited, and the title of its page
    about A paragraph of the page.
    rows 1-37                         the existing rows; for OTP the rows of one suite: rows PRC 3-6 8
    section A heading of the page
    SEL 1 What the row asks for.
      partial: what is missing        done, partial, missing or not applicable; only done needs no reason
      by actors/become_test: ThisCase, ThatCase; //tests/bench:compare

    tests/conformance/table.py        writes the pages again
"""

import os
import re
import sys

STATES = ("done", "partial", "missing", "not applicable")
FOLDER = "tests/conformance"

PREAMBLE = """\
# tests/conformance/: what others' suites and papers ask for

Each row is one case of a list: a case of OTP's own test suites (`OTP PRC-12`), a claim of a paper on actors (`SEL 3`),
something that peer systems have or that their users miss. `rows/*.txt` says in our words what each row asks for, and
what its state is. A test cites its rows in a comment directly above it, wherever it lies under `tests/`, or the row
names the test. This page and those in `rows/` are made from both by `tests/conformance/table.py`; `table_test` and
`table_tree_test` hold them to the tests.

A race is run with 200 seeds under the seeded executor, and 200 times on the thread pool, where the thread sanitizer
watches it (`.ci/long races`: 1,000): both cases stand in the table. A test of `otp_sup_*` is one scenario, run with a
hundred seeds and twenty times on four threads. The nodes of `transport/node_core_test` and of `conformance/nodes_*` are
in one process, joined by a simulated network. Tests of a million messages send fewer when sanitized.

Where a row and the semantics of this library differ, the semantics win, and the row says how.

- *done*: the tests show it. What is said after it is where we differ from the row, or which size the tests take.
- *partial*: the tests show less than the row asks for; what is missing is said.
- *missing*: nothing shows it, and why.
- *not applicable*: there is nothing of the kind here, and why.
"""


class Malformed(ValueError):
    pass


def row_name(work, suite, number):
    return f"{work} {suite}-{number:02d}" if suite else f"{work} {number}"


class Row:
    def __init__(self, name, claim):
        self.name = name
        self.claim = claim
        self.state = None
        self.note = ""
        self.named = []  # tests, as "actors/become_test: Case" or "//tests/bench:compare"


class Work:
    """A file of rows/: the rows of one work."""

    def __init__(self, path, text):
        self.path = path
        self.letters = self.title = None
        self.about = []
        self.entries = []  # Row, or the text of a heading
        self._expected = []
        for number, line in enumerate(text.split("\n"), 1):
            try:
                self._add(line)
            except (Malformed, ValueError) as error:
                raise Malformed(f"{path}:{number}: {error}") from None
        if not self.letters:
            raise Malformed(f"{path}: begins with 'work LETTERS Title'")
        names = [row.name for row in self.rows()]
        for name in self._expected:
            if names.count(name) != 1:
                raise Malformed(f"{path}: {names.count(name)} entries for {name}, which stands in 'rows'")
        for row in self.rows():
            if row.name not in self._expected:
                raise Malformed(f"{path}: {row.name} stands in no 'rows'")
            if row.state is None:
                raise Malformed(f"{path}: {row.name} has no state")

    def rows(self):
        return [entry for entry in self.entries if isinstance(entry, Row)]

    def _add(self, line):
        word, _, rest = line.strip().partition(" ")
        if not word or word.startswith("#"):
            return
        if line.startswith(" "):
            self._add_to_row(line.strip())
        elif word == "work":
            self.letters, _, self.title = rest.partition(" ")
        elif word == "about":
            self.about.append(rest)
        elif word == "section":
            self.entries.append(rest)
        elif word == "rows":
            match = re.match(r"(?:([A-Z]+)\s+)?([\d\s-]+)$", rest)
            if not match:
                raise Malformed(f"'rows' wants numbers: {rest}")
            self._expected += [row_name(self.letters, match[1] or "", n) for n in _numbers(match[2])]
        else:
            match = re.match(rf"{self.letters} (?:([A-Z]+)-)?(\d+) (\S.*)$", line)
            if match is None:
                raise Malformed(f"no row of {self.letters} with what it asks for: {line}")
            self.entries.append(Row(row_name(self.letters, match[1] or "", int(match[2])), match[3]))

    def _add_to_row(self, text):
        row = self.entries[-1] if self.entries else None
        if not isinstance(row, Row):
            raise Malformed(f"belongs to no row: {text}")
        if text.startswith("by "):
            row.named += list(_named_tests(text[3:]))
            return
        match = re.match(r"(%s)(?::\s*(.+))?$" % "|".join(STATES), text)
        if match is None:
            raise Malformed(f"{row.name} needs one of the states {', '.join(STATES)}, not '{text}'")
        if row.state is not None:
            raise Malformed(f"{row.name} has a second state")
        if match[1] != "done" and not match[2]:
            raise Malformed(f"{row.name}: say what is missing, or why")
        row.state, row.note = match[1], match[2] or ""


def _numbers(text):
    for part in text.split():
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def _named_tests(text):
    for part in text.split(";"):
        part = part.strip()
        if part.startswith("//"):
            yield part
            continue
        file, _, cases = part.partition(": ")
        for case in cases.split(","):
            if not re.match(r"\w+$", case.strip()):
                raise Malformed(f"a test is 'folder/file_test: Case, Case' or '//package:target', not '{part}'")
            yield f"{file}: {case.strip()}"


_CITED = re.compile(r"[\s,;]*(?:and\s+)?(?:([A-Z]{3,})\s+)?(?:([A-Z]+)-(\d+)\b|(\d+)\b(?!\.\d))")


def cited_rows(comment, works):
    """Returns the rows that the text of a comment begins with. The text after them is prose."""
    rows, work, at = [], None, 0
    while True:
        match = _CITED.match(comment, at)
        if match is None or (match[1] and match[1] not in works):
            return rows
        work = match[1] or work
        if work is None or (work == "OTP") != (match[2] is not None):
            return rows
        rows.append(row_name(work, match[2] or "", int(match[3] or match[4])))
        at = match.end()


_TEST = re.compile(r"(?:TYPED_)?TEST(?:_\w+)?\(\s*(\w+)\s*,\s*(\w+)")
_NOCOMPILE = re.compile(r"#ifdef NOCOMPILE_(\w+)")
# Lines that are allowed between the comment and its test.
_BETWEEN = re.compile(r"\s*(?://.*|#if.*|#endif.*|template.*)?$")


def _short(path):
    return re.sub(r"^tests/|\.(cc|h)$", "", path)


def citations(path, text, works):
    """Yields (row, test) for each citation of a file. Raises Malformed for a citation that is not above a test."""
    lines = text.split("\n")
    for index, line in enumerate(lines):
        comment = re.match(r"\s*//\s*(.*)$", line)
        rows = cited_rows(comment[1], works) if comment else []
        if not rows:
            continue
        test = _test_of(lines, index, indented=line.startswith(" "))
        if test is None:
            raise Malformed(f"{path}:{index + 1}: {', '.join(rows)} cited, but not directly above a test or in one")
        if not test.startswith("DISABLED_"):  # a disabled test does not run
            for row in rows:
                yield row, f"{_short(path)}: {test}"


def _test_of(lines, index, indented):
    """Returns the test of a comment: at the margin the test on the next line; indented, the test that contains it."""
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


def compiled(files):
    """Yields (path, text) for each source below tests/ that some target compiles."""
    for path, text in sorted(files.items()):
        folder, _, name = path.rpartition("/")
        if not path.startswith("tests/") or not path.endswith((".cc", ".h")):
            continue
        # The target has "x_test.cc" as a source, or "x_test" in a list of names.
        build = files.get(f"{folder}/BUILD", "")
        if f'"{name}"' in build or f'"{name.rpartition(".")[0]}"' in build:
            yield path, text


def all_citations(files, works):
    """Returns {row: [test]}."""
    found = {}
    for path, text in compiled(files):
        for row, test in citations(path, text, works):
            tests = found.setdefault(row, [])
            if test not in tests:
                tests.append(test)
    return found


def all_tests(files):
    """Returns the names of all tests in the forms that an entry may use."""
    known = set()
    for path, text in compiled(files):
        for match in list(_TEST.finditer(text)) + list(_NOCOMPILE.finditer(text)):
            known.add(f"{_short(path)}: {match[match.lastindex]}")
    for path, text in files.items():
        if path.endswith("/BUILD"):
            package = path.rpartition("/")[0]
            known.update(f"//{package}:{name}" for name in re.findall(r'"(\w+)"', text))
    return known


def page(work, cited, known):
    """Returns the text of one work's page, and the number of rows in each state."""
    text = [f"# {work.title}\n\n"]
    text += [f"{paragraph}\n\n" for paragraph in work.about]
    counts = dict.fromkeys(STATES, 0)
    head = "| row | what it asks for | state | tests |\n|---|---|---|---|\n"
    needs_head = True
    for entry in work.entries:
        if not isinstance(entry, Row):
            text.append(f"\n## {entry}\n\n" if not needs_head else f"## {entry}\n\n")
            needs_head = True
            continue
        if needs_head:
            text.append(head)
            needs_head = False
        for test in entry.named:
            if test not in known:
                raise Malformed(f"{work.path}: {entry.name} names {test}, which is no test that anything compiles")
        tests = sorted(set(cited.get(entry.name, []) + entry.named))
        if entry.state in ("done", "partial") and not tests:
            raise Malformed(f"{work.path}: {entry.name} is said to be {entry.state}, but no test shows it")
        if entry.state in ("missing", "not applicable") and tests:
            raise Malformed(f"{work.path}: {entry.name} is said to be {entry.state}, but {tests[0]} shows it")
        counts[entry.state] += 1
        state = f"*{entry.state}*: {entry.note}" if entry.note else f"*{entry.state}*"
        shown = ", ".join(f"`{test}`" for test in tests)
        text.append(f"| {entry.name} | {entry.claim} | {state} | {shown} |\n")
    return "".join(text), counts


def pages(files):
    """Returns {path: text} of all generated pages."""
    works = [Work(path, text) for path, text in sorted(files.items()) if re.match(FOLDER + r"/rows/\w+\.txt$", path)]
    letters = {work.letters for work in works}
    if len(letters) != len(works):
        raise Malformed(f"{FOLDER}/rows: two works have the same letters")
    cited = all_citations(files, letters)
    rows = {row.name for work in works for row in work.rows()}
    for row in cited:
        if row not in rows:
            raise Malformed(f"{cited[row][0]} cites {row}, which does not exist")
    known = all_tests(files)
    made = {}
    readme = [PREAMBLE, "\n| work | cited as | rows | " + " | ".join(STATES) + " |\n" + "|---" * 7 + "|\n"]
    total = dict.fromkeys(STATES, 0)
    for work in works:
        path = re.sub(r"\.txt$", ".md", work.path)
        made[path], counts = page(work, cited, known)
        for state in STATES:
            total[state] += counts[state]
        numbers = " | ".join(str(counts[state]) for state in STATES)
        link = f"[{work.title}](rows/{os.path.basename(path)})"
        readme.append(f"| {link} | {work.letters} | {sum(counts.values())} | {numbers} |\n")
    numbers = ", ".join(f"{count} {state}" for state, count in total.items())
    readme.append(f"\n{sum(total.values())} rows: {numbers}.\n")
    made[f"{FOLDER}/README.md"] = "".join(readme)
    return made


def read_tests(root):
    """Returns {path: text} of the files from which the pages are generated."""
    files = {}
    for folder, folders, names in os.walk(os.path.join(root, "tests")):
        folders[:] = sorted(f for f in folders if f != "consumer" and not f.startswith("bazel-"))
        for name in names:
            if name == "BUILD" or name.endswith((".cc", ".h", ".txt")):
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as file:
                    files[os.path.relpath(path, root)] = file.read()
    return files


def main():
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
    try:
        made = pages(read_tests(root))
    except Malformed as error:
        sys.exit(str(error))
    for path, text in made.items():
        with open(os.path.join(root, path), "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main()
