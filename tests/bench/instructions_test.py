#!/usr/bin/python3
"""The counting's arithmetic and its file, on canned profiles: valgrind is not needed."""

import contextlib
import io
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

import callgrind  # noqa: E402
import instructions  # noqa: E402

PROFILE = """\
version: 1
creator: callgrind-3.19.0
positions: line
events: Ir
summary: 1000

ob=/build/counted
fl=???
fn=Send
0 100
cob=/usr/lib/x86_64-linux-gnu/libc.so.6
cfn=malloc
calls=7 0
0 5000
0 11

ob=/usr/lib/x86_64-linux-gnu/libc.so.6
fn=malloc
0 5000

ob=/usr/lib/x86_64-linux-gnu/libabsl_base.so.20220623.0.0
fn=Lock
0 7
ob=/build/counted
fn=Send
0 1
"""


class CallgrindTest(unittest.TestCase):
    def test_what_a_callee_spends_is_not_the_callers(self):
        costs = callgrind.self_costs(PROFILE.splitlines())
        self.assertEqual(costs["counted", "Send"], 112)
        self.assertEqual(costs["libc.so.6", "malloc"], 5000)

    def test_libc_is_left_out_and_other_libraries_are_not(self):
        self.assertEqual(sum(callgrind.ours(callgrind.self_costs(PROFILE.splitlines())).values()), 119)


class FileTest(unittest.TestCase):
    counts = {(operation.name, operation.bytes): 100.0 + number
              for number, operation in enumerate(instructions.OPERATIONS)}

    def test_what_is_written_is_read_again(self):
        self.assertEqual(instructions.parse_file(instructions.format_file(self.counts)), self.counts)

    def test_a_line_that_is_none_is_named(self):
        with self.assertRaisesRegex(instructions.FileError, "line 2"):
            instructions.parse_file("send 8 100.0 a send\nsend eight\n")

    def test_five_percent_is_close_enough_and_six_is_not_up_or_down(self):
        def off(count):
            return list(instructions.differences({("send", 8): 100.0}, {("send", 8): count}))

        self.assertEqual(off(105.0) + off(95.0), [])
        self.assertEqual(off(106.0), ["send (8 bytes): counted 106.0, the file says 100.0 (+6.0%)"])
        self.assertEqual(len(off(94.0)), 1)

    def test_what_only_one_side_has_is_named(self):
        self.assertEqual(len(list(instructions.differences({("send", 8): 1.0}, {("ask", 8): 1.0}))), 2)

    def test_a_count_is_the_median_of_its_tries(self):
        counts = iter([900.0, 100.0, 101.0])
        count_one, instructions.count_one = instructions.count_one, lambda program, operation: next(counts)
        self.addCleanup(setattr, instructions, "count_one", count_one)
        self.assertEqual(instructions.count_all("", instructions.OPERATIONS[:1], 3), {("send", 8): 101.0})

    def test_what_seems_off_is_counted_again_before_it_fails(self):
        path = os.path.join(os.environ["TEST_TMPDIR"], "counts.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.write(instructions.format_file(self.counts))
        tries = []

        def count_one(_, operation):
            tries.append(operation.name)
            first_of_ask = operation.name == "ask" and tries.count("ask") <= 2
            return self.counts[operation.name, operation.bytes] * (1.2 if first_of_ask else 1.01)

        count, instructions.count_one = instructions.count_one, count_one
        self.addCleanup(setattr, instructions, "count_one", count)
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(instructions.check("", path), 0)
            self.counts["send", 8] /= 2
            self.addCleanup(self.counts.__setitem__, ("send", 8), self.counts["send", 8] * 2)
            self.assertEqual(instructions.check("", path), 1)
        self.assertEqual(tries.count("ask"), 2 + 6 + 2)

    def test_the_file_in_the_tree_has_every_operation(self):
        here = os.path.dirname(os.path.realpath(__file__))
        with open(os.path.join(here, "instructions.txt"), encoding="utf-8") as file:
            self.assertEqual(sorted(instructions.parse_file(file.read())), sorted(self.counts))


class CountedTest(unittest.TestCase):
    def test_each_operation_runs_in_the_program(self):
        program = os.path.abspath("tests/bench/counted")
        for operation in instructions.OPERATIONS:
            subprocess.run(instructions.command_of(program, operation)(700), check=True)

    def test_what_is_unknown_ends_with_status_2(self):
        self.assertEqual(instructions.main(["--explain=send/9"]), 2)
        self.assertEqual(instructions.main(["--updates"]), 2)
        program = os.path.abspath("tests/bench/counted")
        for wrong in ("--operation=fly", "--bytes=9", "--fast"):
            done = subprocess.run([program, "--operations=1", wrong], stderr=subprocess.PIPE, check=False)
            self.assertEqual(done.returncode, 2, wrong)


if __name__ == "__main__":
    unittest.main()
