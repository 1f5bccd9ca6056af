#!/usr/bin/python3
"""Runs the workloads between processes in Understudy, raw gRPC, Erlang and CAF, and prints the table.

  ./bazelw run --config=opt //tests/bench:remote -- --csv=FILE
  ./bazelw run --config=opt //tests/bench:remote -- --workloads=round_trip_1 --networks=unix --scale=0.1 --repeats=3

Flags: --workloads=A,B  --networks=unix,tcp,tls  --systems=A,B  --repeats=N (5)  --scale=F (1)  --csv=FILE. Each repeat
runs every workload once in every system, each system first in its turn. Rates are operations per second. Workloads that
measure something else have rows of their own, WORKLOAD_FIGURE, and the figure's name ends with its unit: ask_1ms gives
ask_1ms_p50 and ask_1ms_p99, in microseconds.
Exit status: 1 when a run failed or counted wrongly, or the build is not optimised; 2 when called wrongly. A peer that
cannot be installed has no rows, and the text before the table says why.
"""

import collections
import csv
import os
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

import compare  # noqa: E402
import peers  # noqa: E402
import results  # noqa: E402

CSV_COLUMNS = ["workload", "network", "system", "median", "min", "max",
               "ratio_to_grpc", "ratio_to_erlang", "ratio_to_caf", "ratio_to_tcp"]

# operations: what scale 1 does; scaled ones are a multiple of `unit`. grpc: the system that ratio_to_grpc divides by.
# peers: servers of a run, each a process.
Remote = collections.namedtuple("Remote", "name operations unit grpc systems networks peers", defaults=(1,))

ALL = ["unix", "tcp", "tls"]
STREAMS = ("understudy", "grpc_callback", "grpc_queue", "erlang", "caf")
SENDERS = ("understudy", "grpc_callback", "grpc_callback_64", "erlang", "caf")
PEER_COUNTS = (1, 4, 16, 64)
REMOTE = [
    Remote("round_trip_1", 40_000, 12_800, "grpc_callback", STREAMS, ALL),
    Remote("round_trip_100", 300_000, 12_800, "grpc_callback", STREAMS, ALL),
    Remote("ask_1ms", 1_500, 100, "grpc_callback", STREAMS, ALL),
    Remote("one_way_1", 1_600_000, 12_800, "grpc_callback_64", SENDERS, ALL),
    Remote("one_way_8", 1_638_400, 12_800, "grpc_callback_64", SENDERS, ALL),
    *(Remote(f"round_trip_peers_{count}", 300_000, 12_800, "grpc_callback", ("understudy", "grpc_callback"), ["tcp"],
             count) for count in PEER_COUNTS),
    *(Remote(f"one_way_peers_{count}", 1_638_400, 4_096, "grpc_callback_64", ("understudy", "grpc_callback_64"),
             ["tcp"], count) for count in PEER_COUNTS),
    Remote("idle_peers_64", 5_000, 5_000, "grpc_callback", ("understudy",), ["tcp", "tls"], 64),
    Remote("tls_handshake", 600, 600, "grpc_callback", ("understudy", "grpc_callback"), ["tls"]),
    Remote("half_open_silent", 1_000, 1_000, "grpc_callback", ("understudy", "grpc_callback"), ["tls"]),
    Remote("half_open_hello", 1_000, 1_000, "grpc_callback", ("understudy", "grpc_callback"), ["tls"]),
]
SYSTEMS = ["understudy", "grpc_callback", "grpc_callback_64", "grpc_queue", "erlang", "caf"]
# These carry messages over TCP without TLS only; their figures stand in the ratios of every network.
TCP_ONLY = ("erlang", "caf")
WITHOUT_TLS = TCP_ONLY + ("grpc_queue",)

Options = collections.namedtuple("Options", "workloads networks systems repeats csv")
Row = collections.namedtuple(
    "Row", "workload network system median min max ratio_to_grpc ratio_to_erlang ratio_to_caf ratio_to_tcp")
# One measured run. figures: {name of its row: value}
Run = collections.namedtuple("Run", "figures")


def scaled(workload, scale):
    units = max(1, round(workload.operations * scale / workload.unit))
    return workload._replace(operations=units * workload.unit)


def parse(arguments):
    """The Options that the flags say. compare.CalledWrongly otherwise."""
    values = {"--workloads": ",".join(w.name for w in REMOTE), "--networks": ",".join(ALL),
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
                   compare.chosen("--networks", values["--networks"], ALL),
                   compare.chosen("--systems", values["--systems"], SYSTEMS),
                   compare.number("--repeats", values["--repeats"], int), values["--csv"])


def tcp_network(options):
    """The network in whose rows the systems that have TCP only are."""
    return "tcp" if "tcp" in options.networks else options.networks[-1]


def runs_over(options, workload, system, network):
    if system not in workload.systems or network not in workload.networks:
        return False
    if system in TCP_ONLY:
        return network == tcp_network(options)
    return network != "tls" or system not in WITHOUT_TLS


def certificate_names(options):
    """The nodes that need certificates; none when no run has TLS."""
    servers = [w.peers for w in options.workloads if "tls" in w.networks] if "tls" in options.networks else []
    return ["client"] + [f"server-{index}" for index in range(max(servers))] if servers else []


def our_command(program, certificates, system, network, workload):
    envelopes = 64 if system.endswith("_64") else 1
    command = [program, f"--system={system.removesuffix('_64')}", f"--network={network}",
               f"--workload={workload.name}", f"--operations={workload.operations}", f"--envelopes={envelopes}"]
    return command + ([f"--certificates={certificates}"] if network == "tls" else [])


def erlang_command(folder):
    def command(_system, _network, workload):
        return ["erl", "-noshell", "-name", f"client_{os.getpid()}@127.0.0.1", "-setcookie", f"bench{os.getpid()}",
                "-pa", folder, "-run", "bench_remote", "main", workload.name, str(workload.operations)]

    return command


def caf_command(program):
    threads = str(len(os.sched_getaffinity(0)))
    return lambda _system, _network, workload: [program, workload.name, str(workload.operations), threads]


def parse_run(line, workload):
    """The Run that a program's output line says. results.WrongRun when it is not one, or counted wrongly."""
    run = results.parse_run(line, ResultsWorkload(workload.name, workload.operations, False))
    figures = {workload.name: run.value} if workload.name.startswith(("round_trip", "one_way")) else {}
    if workload.name.startswith("ask"):
        if run.latency is None:
            raise results.WrongRun(f"it measured no latency: {line.strip()!r}")
        figures = {workload.name + "_p50": run.latency[0], workload.name + "_p99": run.latency[1]}
    for part in line.split():
        name, _, value = part.partition("=")
        if name.startswith("figure_"):
            figures[f"{workload.name}_{name.removeprefix('figure_')}"] = float(value)
    return Run(figures)


ResultsWorkload = collections.namedtuple("ResultsWorkload", "name operations by_bytes")


def measure(options, commands, run=compare.run_program,
            say=lambda text: print(text, file=sys.stderr, flush=True)):
    """Runs everything; returns ({(workload, network, system): [Run]}, failures)."""
    runs = collections.defaultdict(list)
    failures = []
    systems = [system for system in options.systems if system in commands]
    for repeat in range(options.repeats):
        shift = repeat % len(systems)
        for workload in options.workloads:
            for network in options.networks:
                for system in systems[shift:] + systems[:shift]:
                    if not runs_over(options, workload, system, network):
                        continue
                    try:
                        line = run(commands[system](system, network, workload))
                        runs[workload.name, network, system].append(parse_run(line, workload))
                    except results.WrongRun as wrong:
                        failures.append(f"{workload.name} over {network} in {system}: {wrong}")
                        say("failed: " + failures[-1])
                say(f"{repeat + 1}/{options.repeats} {workload.name} {network}")
    return runs, failures


def rows_of(options, runs):
    values = collections.defaultdict(list)  # {(row name, network, system): values}
    divisors = {}  # {row name: the system of ratio_to_grpc}
    for workload in options.workloads:
        for network in options.networks:
            for system in options.systems:
                for run in runs.get((workload.name, network, system), []):
                    for name, value in run.figures.items():
                        values[name, network, system].append(value)
                        divisors[name] = workload.grpc
    medians = {key: statistics.median(of) for key, of in values.items()}

    def ratio(key, peer):
        return medians[key] / medians[peer] if medians.get(peer) else None

    home = tcp_network(options)
    return [Row(name, network, system, medians[name, network, system], min(of), max(of),
                ratio((name, network, system), (name, network, divisors[name])),
                ratio((name, network, system), (name, home, "erlang")),
                ratio((name, network, system), (name, home, "caf")),
                ratio((name, network, system), (name, "tcp", system)) if network == "tls" else None)
            for (name, network, system), of in values.items()]


def table(rows):
    cells = [CSV_COLUMNS] + [cells_of(row, ",") for row in rows]
    widths = [max(len(line[column]) for line in cells) for column in range(len(CSV_COLUMNS))]
    return ["  ".join(text.ljust(width) if column < 3 else text.rjust(width)
                      for column, (text, width) in enumerate(zip(line, widths))).rstrip() for line in cells]


def cells_of(row, thousands):
    """The cells of a line. Small values, such as per cents, have three decimals."""
    def text(value):
        return f"{value:{thousands}.0f}" if abs(value) >= 1_000 else f"{value:.3f}"

    return ([row.workload, row.network, row.system] + [text(value) for value in row[3:6]] +
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
            writer.writerows(cells_of(row, "") for row in rows)
    for failure in failures:
        print("failed: " + failure)
    return 1 if failures else 0


def peer_commands(options, workspace):
    """{system: command} of the peers among the systems; one that cannot be had is left out, and it is said why."""
    here = os.path.dirname(os.path.realpath(__file__))
    cache = os.path.join(workspace, ".cache", "bench")
    builders = {
        "erlang": lambda: erlang_command(peers.erlang_folder(os.path.join(here, "erlang"), cache)),
        "caf": lambda: caf_command(peers.build_caf_remote(os.path.join(here, "caf"), cache)),
    }
    commands = {}
    for system, build in builders.items():
        if system not in options.systems or not any(system in workload.systems for workload in options.workloads):
            continue
        try:
            peers.install(workspace, [system])
            commands[system] = build()
        except peers.PeerError as error:
            print(f"remote: without {system}: {error}", file=sys.stderr)
    return commands


def make_certificates(workspace, folder, names):
    """Fills the folder for these nodes. results.WrongRun when that fails."""
    if not names:
        return
    done = subprocess.run([os.path.join(workspace, "tools", "make_certs"), "--days", "1", folder] + names,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        raise results.WrongRun("tools/make_certs failed: " + done.stdout.decode(errors="replace").strip())


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

    commands = peer_commands(options, workspace)
    with tempfile.TemporaryDirectory() as certificates:
        try:
            make_certificates(workspace, certificates, certificate_names(options))
        except results.WrongRun as wrong:
            print(f"remote: {wrong}", file=sys.stderr)
            return 1
        for system in SYSTEMS:
            if system not in peers.PACKAGES:
                commands[system] = lambda s, n, w: our_command(program, certificates, s, n, w)
        runs, failures = measure(options, commands)
    return report(options, runs, failures)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
