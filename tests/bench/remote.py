#!/usr/bin/python3
"""Runs the workloads between two processes in Understudy, raw gRPC and Erlang, and prints the table.

  ./bazelw run --config=opt //tests/bench:remote -- --csv=FILE
  ./bazelw run --config=opt //tests/bench:remote -- --workloads=round_trip_1 --networks=unix --scale=0.1 --repeats=3

Flags: --workloads=A,B  --networks=unix,tcp  --systems=A,B  --repeats=N (5)  --scale=F (1)  --csv=FILE. Each repeat runs
every workload once in every system, each system first in its turn. Rates are operations per second; ask_1ms gives two
rows, ask_1ms_p50 and ask_1ms_p99, in microseconds.
Exit status: 1 when a run failed or counted wrongly, or the build is not optimised; 2 when called wrongly.
"""

import collections
import csv
import os
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

import compare  # noqa: E402
import peers  # noqa: E402
import results  # noqa: E402

CSV_COLUMNS = ["workload", "network", "system", "median", "min", "max", "ratio_to_grpc", "ratio_to_erlang"]

# envelopes: of a raw stream, in each message. ratio_to_grpc divides by the system that `grpc` names.
Remote = collections.namedtuple("Remote", "name operations grpc systems")
REMOTE = [
    Remote("round_trip_1", 40_000, "grpc_callback", ("understudy", "grpc_callback", "grpc_queue", "erlang")),
    Remote("round_trip_100", 300_000, "grpc_callback", ("understudy", "grpc_callback", "grpc_queue", "erlang")),
    Remote("ask_1ms", 1_500, "grpc_callback", ("understudy", "grpc_callback", "grpc_queue", "erlang")),
    Remote("one_way_1", 1_600_000, "grpc_callback_64", ("understudy", "grpc_callback", "grpc_callback_64", "erlang")),
    Remote("one_way_8", 1_638_400, "grpc_callback_64", ("understudy", "grpc_callback", "grpc_callback_64", "erlang")),
]
SYSTEMS = ["understudy", "grpc_callback", "grpc_callback_64", "grpc_queue", "erlang"]
NETWORKS = ["unix", "tcp"]
UNIT = 12_800  # a multiple of pairs, senders and envelopes
ASK_UNIT = 100

Options = collections.namedtuple("Options", "workloads networks systems repeats csv")
Row = collections.namedtuple("Row", "workload network system median min max ratio_to_grpc ratio_to_erlang")


def scaled(workload, scale):
    unit = ASK_UNIT if workload.name.startswith("ask") else UNIT
    return workload._replace(operations=max(1, round(workload.operations * scale / unit)) * unit)


def parse(arguments):
    """The Options that the flags say. compare.CalledWrongly otherwise."""
    values = {"--workloads": ",".join(w.name for w in REMOTE), "--networks": ",".join(NETWORKS),
              "--systems": ",".join(SYSTEMS), "--repeats": "5", "--scale": "1", "--csv": None}
    for argument in arguments:
        flag, equals, text = argument.partition("=")
        if flag not in values or not equals:
            raise compare.CalledWrongly(
                f"unknown flag: {argument}; there are: {' '.join(name + '=' for name in values)}")
        values[flag] = text
    chosen = compare.chosen("--workloads", values["--workloads"], [w.name for w in REMOTE])
    scale = compare.number("--scale", values["--scale"], float)
    return Options([scaled(w, scale) for w in REMOTE if w.name in chosen],
                   compare.chosen("--networks", values["--networks"], NETWORKS),
                   compare.chosen("--systems", values["--systems"], SYSTEMS),
                   compare.number("--repeats", values["--repeats"], int), values["--csv"])


def our_command(program, system, network, workload):
    envelopes = 64 if system.endswith("_64") else 1
    return [program, f"--system={system.removesuffix('_64')}", f"--network={network}", f"--workload={workload.name}",
            f"--operations={workload.operations}", f"--envelopes={envelopes}"]


def erlang_command(folder):
    def command(_system, _network, workload):
        return ["erl", "-noshell", "-name", f"client_{os.getpid()}@127.0.0.1", "-setcookie", f"bench{os.getpid()}",
                "-pa", folder, "-run", "bench_remote", "main", workload.name, str(workload.operations)]

    return command


def measure(options, commands, run=compare.run_program,
            say=lambda text: print(text, file=sys.stderr, flush=True)):
    """Runs everything; returns ({(workload, network, system): [Run]}, failures)."""
    runs = collections.defaultdict(list)
    failures = []
    systems = [system for system in options.systems if system in commands]
    for repeat in range(options.repeats):
        shift = repeat % len(systems)
        for workload in options.workloads:
            expected = results_workload(workload)
            for network in options.networks:
                for system in systems[shift:] + systems[:shift]:
                    # Erlang has TCP only; its row stands in both networks' ratios.
                    if system not in workload.systems or (system == "erlang" and network != options.networks[-1]):
                        continue
                    try:
                        line = run(commands[system](system, network, workload))
                        runs[workload.name, network, system].append(results.parse_run(line, expected))
                    except results.WrongRun as wrong:
                        failures.append(f"{workload.name} over {network} in {system}: {wrong}")
                        say("failed: " + failures[-1])
                say(f"{repeat + 1}/{options.repeats} {workload.name} {network}")
    return runs, failures


ResultsWorkload = collections.namedtuple("ResultsWorkload", "name operations by_bytes")


def results_workload(workload):
    return ResultsWorkload(workload.name, workload.operations, False)


def figures(workload, runs):
    """[(row name, values of all runs)] of one system."""
    if workload.name.startswith("ask"):
        return [(workload.name + "_p50", [run.latency[0] for run in runs]),
                (workload.name + "_p99", [run.latency[1] for run in runs])]
    return [(workload.name, [run.value for run in runs])]


def rows_of(options, runs):
    rows = []
    for workload in options.workloads:
        for network in options.networks:
            values = {}
            for system in options.systems:
                over = options.networks[-1] if system == "erlang" else network
                for name, list_of_values in figures(workload, runs.get((workload.name, over, system), [])):
                    if list_of_values:
                        values[name, system] = list_of_values
            medians = {key: statistics.median(of) for key, of in values.items()}
            for (name, system), of in values.items():
                if system == "erlang" and network != options.networks[-1]:
                    continue
                ratios = [medians[name, system] / medians[name, peer] if (name, peer) in medians else None
                          for peer in (workload.grpc, "erlang")]
                rows.append(Row(name, network, system, medians[name, system], min(of), max(of), *ratios))
    return rows


def table(rows):
    cells = [CSV_COLUMNS] + [cells_of(row, "{:,.0f}") for row in rows]
    widths = [max(len(line[column]) for line in cells) for column in range(len(CSV_COLUMNS))]
    return ["  ".join(text.ljust(width) if column < 3 else text.rjust(width)
                      for column, (text, width) in enumerate(zip(line, widths))).rstrip() for line in cells]


def cells_of(row, form):
    return ([row.workload, row.network, row.system] + [form.format(value) for value in row[3:6]] +
            ["" if ratio is None else f"{ratio:.3f}" for ratio in row[6:]])


def report(options, runs, failures):
    rows = rows_of(options, runs)
    print(f"{options.repeats} runs each; rates in operations per second, asks in microseconds; {peers.versions()}")
    print("\n".join(table(rows)))
    if options.csv is not None:
        path = os.path.join(os.environ.get("BUILD_WORKING_DIRECTORY", "."), options.csv)
        with open(path, "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(CSV_COLUMNS)
            writer.writerows(cells_of(row, "{:.1f}") for row in rows)
    for failure in failures:
        print("failed: " + failure)
    return 1 if failures else 0


def main(arguments):
    try:
        options = parse(arguments)
    except compare.CalledWrongly as wrong:
        print(f"remote: {wrong}", file=sys.stderr)
        return 2
    program = os.path.abspath("tests/bench/remote_bench")
    workspace = os.environ.get("BUILD_WORKSPACE_DIRECTORY")
    if workspace is None or not os.path.exists(program) or not compare.is_optimised(program):
        print("remote: run it by ./bazelw run --config=opt //tests/bench:remote: other builds' figures mean nothing",
              file=sys.stderr)
        return 1

    commands = {system: lambda s, n, w: our_command(program, s, n, w) for system in SYSTEMS if system != "erlang"}
    if "erlang" in options.systems:
        here = os.path.dirname(os.path.realpath(__file__))
        try:
            peers.install(workspace, ["erlang"])
            folder = peers.erlang_folder(os.path.join(here, "erlang"), os.path.join(workspace, ".cache", "bench"))
            commands["erlang"] = erlang_command(folder)
        except peers.PeerError as error:
            print(f"remote: without Erlang: {error}", file=sys.stderr)
    runs, failures = measure(options, commands)
    return report(options, runs, failures)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
