#!/usr/bin/python3
"""The arithmetic, rows, table, flags and commands of the workloads between processes, on canned numbers."""

import contextlib
import io
import os
import stat
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

import compare  # noqa: E402
import peers  # noqa: E402
import remote  # noqa: E402
import results  # noqa: E402


def parse(*flags):
    return remote.parse(list(flags) + ["--repeats=1", "--scale=0.01"])


def line(workload, seconds=1.0, rest=""):
    return f"workload={workload.name} count={workload.operations} seconds={seconds} bytes=0 capacity=default{rest}"


def measured(options, value):
    """What measure returns when each run takes the seconds that `value` of (system, network, workload) says."""
    commands = {system: lambda system, network, workload: (system, network, workload) for system in remote.SYSTEMS}
    return remote.measure(options, commands, lambda key: value(*key), say=lambda text: None)


def ratios(options, seconds):
    runs, failures = measured(options, lambda system, network, workload: line(workload, seconds[system, network]))
    assert not failures, failures
    return {(row.system, row.network): row for row in remote.rows_of(options, runs)}


class RunTest(unittest.TestCase):
    def setUp(self):
        self.workloads = {workload.name: workload for workload in remote.REMOTE}

    def test_a_rate_is_operations_per_second(self):
        run = remote.parse_run(line(self.workloads["round_trip_1"], 2), self.workloads["round_trip_1"])
        self.assertEqual(run.figures, {"round_trip_1": 20_000})

    def test_an_ask_has_a_median_and_a_99th_percentile(self):
        ask = self.workloads["ask_1ms"]
        run = remote.parse_run(line(ask, rest=" median_us=80.5 p99_us=200"), ask)
        self.assertEqual(run.figures, {"ask_1ms_p50": 80.5, "ask_1ms_p99": 200})
        with self.assertRaisesRegex(results.WrongRun, "no latency"):
            remote.parse_run(line(ask), ask)

    def test_figures_have_rows_beside_the_rate_of_messages_and_instead_of_other_rates(self):
        peers_4 = self.workloads["round_trip_peers_4"]
        run = remote.parse_run(line(peers_4, 2, " figure_cpu_us=20.5"), peers_4)
        self.assertEqual(run.figures, {"round_trip_peers_4": 150_000, "round_trip_peers_4_cpu_us": 20.5})
        idle = self.workloads["idle_peers_64"]
        run = remote.parse_run(line(idle, rest=" figure_cpu_percent=0.5 figure_peer_cpu_percent=0.1"), idle)
        self.assertEqual(run.figures, {"idle_peers_64_cpu_percent": 0.5, "idle_peers_64_peer_cpu_percent": 0.1})

    def test_a_wrong_count_is_no_run(self):
        one_way = self.workloads["one_way_1"]
        with self.assertRaisesRegex(results.WrongRun, "wrong count"):
            remote.parse_run(line(one_way._replace(operations=5)), one_way)


class RowsTest(unittest.TestCase):
    def test_tls_is_divided_by_tcp_and_each_network_by_its_own_grpc(self):
        options = parse("--workloads=round_trip_1", "--systems=understudy,grpc_callback", "--networks=tcp,tls")
        rows = ratios(options, {("understudy", "tcp"): 2, ("grpc_callback", "tcp"): 1,
                                ("understudy", "tls"): 2.5, ("grpc_callback", "tls"): 2})
        self.assertAlmostEqual(rows["understudy", "tls"].ratio_to_tcp, 0.8)
        self.assertAlmostEqual(rows["grpc_callback", "tls"].ratio_to_tcp, 0.5)
        self.assertIsNone(rows["understudy", "tcp"].ratio_to_tcp)
        self.assertAlmostEqual(rows["understudy", "tcp"].ratio_to_grpc, 0.5)
        self.assertAlmostEqual(rows["understudy", "tls"].ratio_to_grpc, 0.8)

    def test_erlang_and_caf_run_over_tcp_only_and_divide_every_network(self):
        options = parse("--workloads=round_trip_1", "--systems=understudy,erlang,caf")
        rows = ratios(options, {("understudy", "unix"): 1, ("understudy", "tcp"): 2, ("understudy", "tls"): 4,
                                ("erlang", "tcp"): 4, ("caf", "tcp"): 8})
        self.assertEqual(len(rows), 5)
        self.assertEqual([rows["understudy", network].ratio_to_erlang for network in remote.ALL], [4, 2, 1])
        self.assertEqual([rows["understudy", network].ratio_to_caf for network in remote.ALL], [8, 4, 2])

    def test_the_table_and_the_file_have_their_columns_and_small_values_decimals(self):
        options = parse("--workloads=idle_peers_64", "--networks=tcp")
        runs, _ = measured(options, lambda system, network, workload: line(workload, rest=" figure_cpu_percent=0.25"))
        text = remote.table(remote.rows_of(options, runs))
        self.assertEqual(text[0].split(), remote.CSV_COLUMNS)
        self.assertEqual(text[1].split(), ["idle_peers_64_cpu_percent", "tcp", "understudy", "0.250", "0.250", "0.250"])
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            path = os.path.join(folder, "table.csv")
            self.assertEqual(remote.report(options._replace(csv=path), runs, ["a run failed"]), 1)
            with open(path, encoding="utf-8") as file:
                self.assertEqual(file.read().splitlines(), [
                    ",".join(remote.CSV_COLUMNS), "idle_peers_64_cpu_percent,tcp,understudy,0.250,0.250,0.250,,,,"])


class ChoiceTest(unittest.TestCase):
    def test_each_workload_runs_in_its_systems_over_its_networks(self):
        options = remote.parse([])
        over = {(w.name, system): [n for n in remote.ALL if remote.runs_over(options, w, system, n)]
                for w in options.workloads for system in remote.SYSTEMS}
        self.assertEqual(over["round_trip_1", "understudy"], ["unix", "tcp", "tls"])
        self.assertEqual(over["round_trip_1", "grpc_callback"], ["unix", "tcp", "tls"])
        self.assertEqual(over["round_trip_1", "grpc_queue"], ["unix", "tcp"])
        self.assertEqual(over["one_way_8", "caf"], ["tcp"])
        self.assertEqual(over["one_way_8", "grpc_queue"], [])
        self.assertEqual(over["one_way_peers_64", "understudy"], ["tcp"])
        self.assertEqual(over["tls_handshake", "understudy"], ["tls"])

    def test_a_scale_leaves_whole_units(self):
        for workload in remote.parse(["--scale=0.00123"]).workloads:
            self.assertEqual(workload.operations, workload.unit)

    def test_certificates_are_made_for_the_nodes_of_tls_runs_only(self):
        self.assertEqual(remote.certificate_names(parse("--workloads=ask_1ms")), ["client", "server-0"])
        self.assertEqual(len(remote.certificate_names(parse("--workloads=ask_1ms,idle_peers_64"))), 65)
        self.assertEqual(remote.certificate_names(parse("--workloads=ask_1ms", "--networks=unix,tcp")), [])
        self.assertEqual(remote.certificate_names(parse("--workloads=one_way_peers_64")), [])

    def test_a_failure_to_make_certificates_is_told(self):
        with tempfile.TemporaryDirectory() as workspace:
            os.mkdir(os.path.join(workspace, "tools"))
            path = os.path.join(workspace, "tools", "make_certs")
            with open(path, "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\necho no openssl; exit 1\n")
            os.chmod(path, stat.S_IRWXU)
            with self.assertRaisesRegex(results.WrongRun, "no openssl"):
                remote.make_certificates(workspace, workspace, ["client"])

    def test_a_command_has_certificates_with_tls_only(self):
        one_way = parse("--workloads=one_way_1").workloads[0]
        with_tls = remote.our_command("bench", "/certs", "grpc_callback_64", "tls", one_way)
        self.assertIn("--certificates=/certs", with_tls)
        self.assertIn("--system=grpc_callback", with_tls)
        self.assertIn("--envelopes=64", with_tls)
        self.assertNotIn("--certificates=/certs", remote.our_command("bench", "/certs", "understudy", "tcp", one_way))

    def test_what_is_unknown_is_called_wrongly(self):
        for wrong, said in (("--networks=udp", "unix, tcp, tls"), ("--systems=akka", "caf"),
                            ("--workloads=x", "ask_1ms"), ("--fast", "--networks=")):
            with self.assertRaisesRegex(compare.CalledWrongly, said):
                remote.parse([wrong])

    def test_a_peer_that_cannot_be_had_is_left_out(self):
        def refuse(_workspace, systems):
            raise peers.PeerError("no package of " + systems[0])

        real, peers.install = peers.install, refuse
        stderr = io.StringIO()
        try:
            with contextlib.redirect_stderr(stderr):
                self.assertEqual(remote.peer_commands(parse("--workloads=ask_1ms"), "/nowhere"), {})
        finally:
            peers.install = real
        self.assertEqual(stderr.getvalue().splitlines(), ["remote: without erlang: no package of erlang",
                                                          "remote: without caf: no package of caf"])

    def test_a_failed_run_is_a_failure_and_has_no_row(self):
        options = parse("--workloads=round_trip_1", "--networks=unix", "--systems=understudy,grpc_callback")
        runs, failures = measured(options, lambda system, network, workload: line(
            workload if system == "understudy" else workload._replace(operations=1)))
        self.assertEqual([row.system for row in remote.rows_of(options, runs)], ["understudy"])
        self.assertRegex(failures[0], "^round_trip_1 over unix in grpc_callback: wrong count")


if __name__ == "__main__":
    unittest.main()
