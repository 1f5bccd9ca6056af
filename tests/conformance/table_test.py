#!/usr/bin/python3
"""The table is made from citations and rows.txt, and what is wrong in either is refused."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

import table  # noqa: E402

ROWS = """\
expect OTP PRC 3 12   # a comment
expect SEL 1-3
know OTP SUP 26
"""


def made(rows, **files):
    texts = {"tests/a/BUILD": "".join(f'"{name}.cc", ' for name in files)}
    texts.update({f"tests/a/{name}.cc": text for name, text in files.items()})
    return table.table(table.Rows(rows), table.all_citations(texts))


class TableTest(unittest.TestCase):
    def test_a_comment_cites_rows_until_its_prose(self):
        for comment, rows in {
                "OTP PRC-3": ["OTP PRC-03"],
                "OTP PRC-03, PRC-12: the first": ["OTP PRC-03", "OTP PRC-12"],
                "SEL 1, 3 and 4": ["SEL 1", "SEL 3", "SEL 4"],
                "SEL 3; EBA 12": ["SEL 3", "EBA 12"],
                "OTP PRC-3, SEL 1": ["OTP PRC-03", "SEL 1"],
                "OTP leaves it in the queue": [],
                "semantics 5.4": [],
                "12 of them": [],
        }.items():
            self.assertEqual(table.cited_rows(comment), rows, comment)

    def test_a_row_is_done_by_a_test_that_cites_it(self):
        text = made(ROWS, some_test="// OTP PRC-12\nTEST(A, IsTold) {\n  // SEL 2\n}\n")
        self.assertIn("| OTP PRC-12 | `a/some_test: IsTold` | done |", text)
        self.assertIn("| SEL 2 | `a/some_test: IsTold` | done |", text)
        self.assertIn("| OTP PRC-03 |  | missing |", text)
        self.assertIn("5 rows: 2 done, 0 partial, 0 later, 0 not applicable, 3 missing.", text)

    def test_several_tests_may_cite_a_row_and_each_row_stands_once(self):
        text = made(ROWS, x="// SEL 1\n// More of it.\n#if X\nTEST_F(A, One) {}\n// SEL 1\nTEST(A, Two) {}\n")
        self.assertIn("| SEL 1 | `a/x: One`, `a/x: Two` | done |", text)
        self.assertEqual(text.count("| SEL 1 |"), 1)

    def test_a_case_that_must_not_compile_is_a_test(self):
        text = made(ROWS, x="// SEL 1\n#ifdef NOCOMPILE_IMMOVABLE\n#endif\n")
        self.assertIn("| SEL 1 | `a/x: IMMOVABLE` | done |", text)

    def test_what_does_not_run_shows_nothing(self):
        self.assertIn("| SEL 1 |  | missing |", made(ROWS, x="// SEL 1\nTEST(A, DISABLED_B) {}\n"))

    def test_a_file_that_no_target_compiles_shows_nothing(self):
        files = {"tests/a/BUILD": "", "tests/a/x.cc": "// SEL 1\nTEST(A, B) {}\n"}
        self.assertEqual(table.all_citations(files), {})

    def test_notes_give_the_state(self):
        rows = ROWS + ("SEL 1 later: nodes\nSEL 2 not applicable: none here\nSEL 3 missing: not built\n"
                       "OTP PRC-3 done: ours differs\nOTP PRC-12 partial: no bound\n")
        text = made(rows, x="// OTP PRC-03, OTP PRC-12, SEL 1\nTEST(A, B) {}\n")
        self.assertIn("| OTP PRC-12 | `a/x: B` | partial. no bound |", text)
        self.assertIn("| SEL 1 | `a/x: B` | later: nodes |", text)
        self.assertIn("| SEL 2 |  | not applicable. none here |", text)
        self.assertIn("| SEL 3 |  | missing. not built |", text)
        self.assertIn("| OTP PRC-03 | `a/x: B` | done. ours differs |", text)

    def test_a_row_that_may_be_cited_but_waits_stands_in_no_table(self):
        self.assertNotIn("SUP", made(ROWS, x="// OTP SUP-26\nTEST(A, B) {}\n").replace(table.PREAMBLE, ""))

    def test_what_cannot_be_is_refused(self):
        done = "// SEL 1\nTEST(A, B) {}\n"
        for rows, text in (
            (ROWS, "// SEL 9\nTEST(A, B) {}\n"),  # no such row
            (ROWS, "// OTP PRC-04\nTEST(A, B) {}\n"),
            (ROWS, "// SEL 1\nint x;\nTEST(A, B) {}\n"),  # not directly above
            (ROWS, "// SEL 1\n"),
            (ROWS + "SEL 1 missing: no\n", done),  # it has a test
            (ROWS + "SEL 1 not applicable: no\n", done),
            (ROWS + "SEL 2 done: yes\n", done),  # it has none
            (ROWS + "SEL 2 partial: no bound\n", done),
            (ROWS + "SEL 1 later\n", done),  # waits for what?
            (ROWS + "SEL 1 soon: x\n", done),
            (ROWS + "SEL 9 later: x\n", done),
            (ROWS + "SEL 1 later: x\nSEL 1 later: y\n", done),
            (ROWS + "expect SEL 1\n", done),
            (ROWS + "nonsense\n", done),
        ):
            with self.assertRaises(table.Malformed, msg=(rows, text)):
                made(rows, x=text)


if __name__ == "__main__":
    unittest.main()
