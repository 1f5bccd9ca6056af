#!/usr/bin/python3
"""The pages are generated from citations and rows/*.txt, and errors in either are refused."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

import table  # noqa: E402

WORKS = {"OTP", "SEL", "PONY"}
OTP = """\
work OTP Cases of OTP   # no comment: all of the line is the title
# A comment.
about What this is.

section supervisor_SUITE
rows SUP 1 3-4
OTP SUP-01 `first`
  done: ours differs
OTP SUP-03 `third`
  partial: no bound
OTP SUP-04 `fourth`
  missing: not built
"""
SEL = """\
work SEL Selectors
rows 1-2
SEL 1 Closes a mailbox.
  done
SEL 2 Flies.
  not applicable: none here
"""
BOTH = "// OTP SUP-01, SUP-03, SEL 1\nTEST(A, B) {}\n"


def texts(works, **files):
    made = {f"tests/conformance/rows/{name}.txt": text for name, text in works.items()}
    made["tests/a/BUILD"] = "".join(f'"{name}.cc", ' for name in files) + 'name = "tool"'
    made.update({f"tests/a/{name}.cc": text for name, text in files.items()})
    return made


def pages(works, **files):
    return table.pages(texts(works, **files))


class TableTest(unittest.TestCase):
    def test_a_comment_cites_rows_until_its_prose(self):
        for comment, rows in {
                "OTP PRC-3": ["OTP PRC-03"],
                "OTP PRC-03, PRC-12: the first": ["OTP PRC-03", "OTP PRC-12"],
                "SEL 1, 3 and 4": ["SEL 1", "SEL 3", "SEL 4"],
                "SEL 3; PONY 12": ["SEL 3", "PONY 12"],
                "OTP PRC-3, SEL 1": ["OTP PRC-03", "SEL 1"],
                "OTP leaves it in the queue": [],
                "TLS 1 is refused": [],
                "semantics 5.4": [],
                "12 of them": [],
        }.items():
            self.assertEqual(table.cited_rows(comment, WORKS), rows, comment)

    def test_a_page_has_each_row_with_its_state_and_tests(self):
        made = pages({"otp": OTP, "sel": SEL}, x_test=BOTH + "// SEL 1\n// More of it.\n#if X\nTEST_F(A, Two) {}\n")
        otp, sel = made["tests/conformance/rows/otp.md"], made["tests/conformance/rows/sel.md"]
        self.assertIn("## supervisor_SUITE\n\n| row | what it asks for | state | tests |", otp)
        self.assertIn("| OTP SUP-01 | `first` | *done*: ours differs | `a/x_test: B` |", otp)
        self.assertIn("| OTP SUP-03 | `third` | *partial*: no bound | `a/x_test: B` |", otp)
        self.assertIn("| OTP SUP-04 | `fourth` | *missing*: not built |  |", otp)
        self.assertIn("| SEL 1 | Closes a mailbox. | *done* | `a/x_test: B`, `a/x_test: Two` |", sel)
        self.assertIn("| SEL 2 | Flies. | *not applicable*: none here |  |", sel)
        readme = made["tests/conformance/README.md"]
        self.assertIn("| [Selectors](rows/sel.md) | SEL | 2 | 1 | 0 | 0 | 1 |", readme)
        self.assertIn("\n5 rows: 2 done, 1 partial, 1 missing, 1 not applicable.\n", readme)

    def test_a_row_may_name_its_tests(self):
        work = "work SEL S\nrows 1\nSEL 1 Closes.\n  done\n  by a/x_test: Two, One; //tests/a:tool\n"
        made = pages({"sel": work}, x_test="TEST(A, One) {}\nTEST(A, Two) {}\n")
        self.assertIn("| `//tests/a:tool`, `a/x_test: One`, `a/x_test: Two` |", made["tests/conformance/rows/sel.md"])

    def test_a_case_that_must_not_compile_is_a_test(self):
        self.assertEqual(list(table.citations("tests/a/x.cc", "// SEL 1\n#ifdef NOCOMPILE_NO\n", WORKS)),
                         [("SEL 1", "a/x: NO")])

    def test_what_does_not_run_shows_nothing(self):
        self.assertEqual(list(table.citations("tests/a/x.cc", "// SEL 1\nTEST(A, DISABLED_B) {}\n", WORKS)), [])

    def test_a_file_that_no_target_compiles_shows_nothing(self):
        files = {"tests/a/BUILD": "", "tests/a/x.cc": "// SEL 1\nTEST(A, B) {}\n"}
        self.assertEqual(table.all_citations(files, WORKS), {})
        self.assertNotIn("a/x: B", table.all_tests(files))

    def refused(self, why, works, **files):
        with self.assertRaisesRegex(table.Malformed, why):
            pages(works, **files)

    def test_a_citation_that_cannot_be_is_refused(self):
        for why, text in (
            ("cites SEL 9, which does not exist", BOTH + "// SEL 9\nTEST(A, C) {}\n"),
            ("cites OTP SUP-02, which does not exist", BOTH + "// OTP SUP-2\nTEST(A, C) {}\n"),
            ("not directly above a test", BOTH + "// SEL 1\nint x;\nTEST(A, C) {}\n"),
            ("not directly above a test", BOTH + "// SEL 1\n"),
            ("SEL 2 is said to be not applicable, but a/x: C shows it", BOTH + "// SEL 2\nTEST(A, C) {}\n"),
            ("OTP SUP-04 is said to be missing, but a/x: C shows it", BOTH + "// OTP SUP-4\nTEST(A, C) {}\n"),
            ("OTP SUP-01 is said to be done, but no test shows it", "// OTP SUP-3, SEL 1\nTEST(A, B) {}\n"),
            ("OTP SUP-03 is said to be partial, but no test shows it", "// OTP SUP-1, SEL 1\nTEST(A, B) {}\n"),
        ):
            self.refused(why, {"otp": OTP, "sel": SEL}, x=text)

    def test_a_file_of_rows_that_cannot_be_is_refused(self):
        head = "work SEL S\nrows 1\n"
        for why, text in (
            ("begins with 'work", "rows 1\n"),
            ("0 entries for SEL 1", head),
            ("2 entries for SEL 1", head + 2 * "SEL 1 Closes.\n  missing: no\n"),
            ("SEL 2 stands in no 'rows'", head + "SEL 1 Closes.\n  missing: no\nSEL 2 Flies.\n  missing: no\n"),
            ("SEL 1 has no state", head + "SEL 1 Closes.\n"),
            ("SEL 1 has a second state", head + "SEL 1 Closes.\n  missing: no\n  missing: no\n"),
            ("SEL 1: say what is missing", head + "SEL 1 Closes.\n  missing\n"),
            ("needs one of the states", head + "SEL 1 Closes.\n  soon: no\n"),
            ("no row of SEL", head + "SEL 1\n  missing: no\n"),
            ("no row of SEL", head + "EBA 1 Closes.\n"),
            ("belongs to no row", head + "  missing: no\n"),
            ("'rows' wants numbers", "work SEL S\nrows all\n"),
            ("a test is 'folder/file_test: Case", head + "SEL 1 Closes.\n  done\n  by a/x\n"),
            ("which is no test", head + "SEL 1 Closes.\n  done\n  by a/x: C\n"),
            ("which is no test", head + "SEL 1 Closes.\n  done\n  by //tests/a:other\n"),
            ("SEL 1 is said to be missing, but a/x: B", head + "SEL 1 Closes.\n  missing: no\n  by a/x: B\n"),
        ):
            self.refused(why, {"sel": text}, x="TEST(A, B) {}\n")
        self.refused("same letters", {"a": SEL, "b": SEL}, x="// SEL 1\nTEST(A, B) {}\n")


if __name__ == "__main__":
    unittest.main()
