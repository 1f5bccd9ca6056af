#!/usr/bin/python3
"""The comparison's arithmetic, table, file and flags, on canned numbers: no peer is needed."""

import contextlib
import io
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

import compare  # noqa: E402
import peers  # noqa: E402
import results  # noqa: E402
import workloads  # noqa: E402

PING = workloads.Workload("ping_pong", "round trip", 600, False)
IDLE = workloads.Workload("idle_memory", "bytes/actor", 600, True)


def line(workload, seconds=1.0, count=600, size=0):
    return f"workload={workload.name} count={count} seconds={seconds} bytes={size} capacity=1000"


def runs(*values):
    return [results.Run(value, "1000") for value in values]


class ResultsTest(unittest.TestCase):
    def test_a_rate_is_operations_per_second(self):
        self.assertEqual(results.parse_run(line(PING, seconds=0.5), PING), results.Run(1200, "1000"))

    def test_memory_is_bytes_per_operation(self):
        self.assertEqual(results.parse_run(line(IDLE, size=6000), IDLE).value, 10)

    def test_latencies_are_told_where_a_workload_measures_them(self):
        text = line(PING) + " median_us=1.5 p99_us=40.25"
        self.assertEqual(results.parse_run(text, PING).latency, (1.5, 40.25))
        done = [results.Run(1, "1000", latency) for latency in ((1, 10), (3, 50), (2, 90))]
        rows = results.rows_of(PING, {"understudy": done, "erlang": runs(2)})
        self.assertEqual(results.latencies(rows),
                         ["ping_pong in understudy: median 2.00 us, 99th percentile 50.00 us"])

    def test_a_wrong_count_is_no_run(self):
        with self.assertRaisesRegex(results.WrongRun, "wrong count: 599 of ping_pong, should be 600"):
            results.parse_run(line(PING, count=599), PING)

    def test_what_is_no_measurement_is_no_run(self):
        for text in ("", "done", line(PING, seconds=0), line(IDLE, size=600)):
            with self.assertRaises(results.WrongRun):
                results.parse_run(text, PING)

    def test_median_spread_and_ratios(self):
        rows = results.rows_of(PING, {"understudy": runs(30e6, 10e6, 21e6, 20e6, 40e6),
                                      "erlang": runs(3e6, 2e6, 1e6), "caf": runs(7e6)})
        ours = rows[0]
        self.assertEqual((ours.system, ours.median, ours.min, ours.max), ("understudy", 21e6, 10e6, 40e6))
        self.assertEqual((ours.ratio_to_erlang, ours.ratio_to_caf), (10.5, 3))
        self.assertEqual(rows[1].ratio_to_erlang, 1)

    def test_without_erlang_there_is_no_ratio_to_it(self):
        rows = results.rows_of(PING, {"understudy": runs(1), "erlang": []})
        self.assertEqual([(row.system, row.ratio_to_erlang) for row in rows], [("understudy", None)])

    def test_the_table_states_rates_ratios_and_capacities(self):
        text = results.table(results.rows_of(PING, {"understudy": runs(21e6), "erlang": runs(2e6)}))
        self.assertEqual(text[0].split(), ["workload", "per", "system", "median", "min", "max", "/erlang", "/caf",
                                           "mailbox", "capacity"])
        self.assertEqual(text[1].split(), ["ping_pong", "round", "trip", "understudy", "21.000", "M/s", "21.000", "M/s",
                                           "21.000", "M/s", "10.50", "1000"])

    def test_one_thread_stands_beside_all_where_it_was_run(self):
        rows = results.rows_of(PING, {"understudy": runs(20e6), "one_thread": runs(24e6)})
        self.assertEqual(results.against_one_thread(rows), ["ping_pong: all threads take 1.20 times as long as one"])
        self.assertEqual(results.against_one_thread(results.rows_of(IDLE, {"understudy": runs(373)})), [])

    def test_the_file_has_exactly_its_columns(self):
        file = io.StringIO()
        results.write_csv(results.rows_of(PING, {"understudy": runs(21e6, 7e6, 20e6), "erlang": runs(2e6)})
                          + results.rows_of(IDLE, {"caf": runs(1280)}), file)
        self.assertEqual(file.getvalue().splitlines(), [
            "workload,system,median,min,max,ratio_to_erlang",
            "ping_pong,understudy,20000000.0,7000000.0,21000000.0,10.0000",
            "ping_pong,erlang,2000000.0,2000000.0,2000000.0,1.0000",
            "idle_memory,caf,1280.0,1280.0,1280.0,",
        ])


class FlagsTest(unittest.TestCase):
    def test_without_flags_all_is_run_five_times(self):
        options = compare.parse([])
        self.assertEqual([w.name for w in options.workloads], [w.name for w in workloads.WORKLOADS])
        self.assertEqual((options.systems, options.repeats, options.csv),
                         (["understudy", "erlang", "caf", "one_thread"], 5, None))

    def test_a_part_can_be_chosen(self):
        options = compare.parse(["--workloads=ring,ping_pong", "--systems=caf", "--repeats=3", "--csv=x.csv"])
        self.assertEqual([w.name for w in options.workloads], ["ping_pong", "ring"])
        self.assertEqual((options.systems, options.repeats, options.csv), (["caf"], 3, "x.csv"))

    def test_a_scale_leaves_whole_units(self):
        for workload in compare.parse(["--scale=0.00123"]).workloads:
            self.assertEqual(workload.operations % workloads.UNIT, 0)
            self.assertGreater(workload.operations, 0)

    def test_what_is_unknown_ends_with_status_2_and_says_what_there_is(self):
        for wrong, said in (("--workloads=rings", "ping_pong, ring"), ("--systems=akka", "understudy, erlang, caf"),
                            ("--fast", "--workloads="), ("--repeats=0", "number"), ("--repeats=x", "number"),
                            ("--scale=-1", "number"), ("ring", "--workloads=")):
            stderr = io.StringIO()
            with contextlib.redirect_stderr(stderr):
                self.assertEqual(compare.main([wrong]), 2, wrong)
            self.assertIn(said, stderr.getvalue())


class MeasureTest(unittest.TestCase):
    def commands(self):
        return {system: lambda workload, operations, threads, system=system: (system, workload, operations)
                for system in workloads.SYSTEMS}

    def test_each_repeat_runs_every_system_once_and_each_is_first_in_its_turn(self):
        options = compare.parse(["--workloads=ring", "--repeats=3", "--scale=0.0001"])
        order = []

        def run(command):
            order.append(command[0])
            return line(options.workloads[0], count=command[2])

        done, failures = compare.measure(options, self.commands(), 2, run, say=lambda text: None)
        self.assertEqual(order, ["understudy", "erlang", "caf", "erlang", "caf", "understudy", "caf", "understudy",
                                 "erlang"])
        self.assertEqual([len(done["ring"][system]) for system in ("understudy", "erlang", "caf")], [3, 3, 3])
        self.assertEqual(failures, [])

    def test_a_system_that_has_nothing_of_the_kind_is_not_run(self):
        options = compare.parse(["--workloads=restart", "--repeats=1", "--scale=0.01"])
        ran = []

        def run(command):
            ran.append(command[0])
            return line(options.workloads[0], count=command[2])

        done, failures = compare.measure(options, self.commands(), 2, run, say=lambda text: None)
        self.assertEqual((ran, failures), (["understudy", "erlang"], []))
        self.assertEqual(sorted(done["restart"]), ["erlang", "understudy"])

    def test_a_wrong_count_fails_and_leaves_no_row(self):
        options = compare.parse(["--workloads=ring", "--repeats=2", "--scale=0.0001"])

        def run(command):
            return line(options.workloads[0], count=command[2] - (command[0] == "erlang"))

        done, failures = compare.measure(options, self.commands(), 2, run, say=lambda text: None)
        self.assertEqual(len(failures), 1)
        self.assertRegex(failures[0], "^ring in erlang: wrong count")
        self.assertEqual(sorted(done["ring"]), ["caf", "understudy"])
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(compare.report(options, done, failures, 2), 1)
            self.assertEqual(compare.report(options, done, [], 2), 0)

    def test_a_program_that_fails_is_no_run(self):
        with self.assertRaisesRegex(results.WrongRun, "exit status 3: oh"):
            compare.run_program(["/bin/sh", "-c", "echo oh >&2; exit 3"])
        with self.assertRaises(results.WrongRun):
            compare.run_program(["/bin/true"])


class PeersTest(unittest.TestCase):
    def test_each_workload_has_a_program_in_each_peer(self):
        here = os.path.dirname(os.path.realpath(__file__))
        for workload in workloads.WORKLOADS:
            for system, path in (("erlang", f"erlang/bench_{workload.name}.erl"), ("caf", f"caf/{workload.name}.cc")):
                self.assertEqual(os.path.exists(os.path.join(here, path)), system in workload.systems, path)
        self.assertEqual(sorted(["understudy", "one_thread", *peers.PACKAGES]), sorted(workloads.SYSTEMS))


class OursTest(unittest.TestCase):
    """Understudy's own program, built however it was."""

    def test_each_workload_runs_and_counts(self):
        command = compare.understudy_command(os.path.abspath("tests/bench/understudy_bench"))
        for workload in workloads.WORKLOADS:
            small = workload._replace(operations=workloads.UNIT)
            text = compare.run_program(command(small.name, small.operations, 2))
            self.assertGreater(results.parse_run(text, small).value, 0)

    def test_one_thread_is_asked_for_whatever_the_others_have(self):
        self.assertIn("--threads=1", compare.one_thread_command("ours")("multicast_ack", 600, 2))

    def test_a_build_that_is_not_optimised_is_refused(self):
        program = os.path.abspath("tests/bench/understudy_bench")
        if compare.is_optimised(program):
            self.skipTest("this build is optimised")
        os.environ["BUILD_WORKSPACE_DIRECTORY"] = os.environ["TEST_TMPDIR"]
        stderr = io.StringIO()
        with contextlib.redirect_stderr(stderr):
            self.assertEqual(compare.main([]), 1)
        self.assertIn("not optimised", stderr.getvalue())


if __name__ == "__main__":
    unittest.main()
