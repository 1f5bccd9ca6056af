#!/usr/bin/python3
"""Runs the workloads of tests/bench in Understudy, Erlang and CAF, and prints the table.

  ./bazelw run --config=opt //tests/bench:compare
  ./bazelw run --config=opt //tests/bench:compare -- --workloads=ping_pong,ring --csv=FILE

Flags: --workloads=A,B  --systems=understudy,erlang,caf,one_thread  --repeats=N (5)  --scale=F (1: a few seconds for
each run)  --csv=FILE. Each repeat runs every workload in every system once, so that what else the machine does falls on
all alike.
Exit status: 1 when a run failed or counted wrongly, or the build is not optimised; 2 when called wrongly.
"""

import collections
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

import peers  # noqa: E402
import results  # noqa: E402
import workloads  # noqa: E402

RUN_SECONDS_MAX = 120
Options = collections.namedtuple("Options", "workloads systems repeats scale csv")


class CalledWrongly(Exception):
    """The text says what was wrong, and what would be right."""


def chosen(flag, text, known):
    names = text.split(",")
    for name in names:
        if name not in known:
            raise CalledWrongly(f"{flag}: there is no \"{name}\"; there are: {', '.join(known)}")
    return [name for name in known if name in names]


def number(flag, text, kind):
    try:
        number = kind(text)
    except ValueError:
        number = 0
    if not 0 < number < 1e6:
        raise CalledWrongly(f"{flag}={text}: should be a number above 0")
    return number


def parse(arguments):
    """The Options that the flags say. CalledWrongly otherwise."""
    values = {"--workloads": None, "--systems": None, "--repeats": "5", "--scale": "1", "--csv": None}
    for argument in arguments:
        flag, equals, text = argument.partition("=")
        if flag not in values or not equals:
            raise CalledWrongly(f"no such flag: {argument}; there are: {' '.join(name + '=' for name in values)}")
        values[flag] = text
    names = [workload.name for workload in workloads.WORKLOADS]
    wanted = names if values["--workloads"] is None else chosen("--workloads", values["--workloads"], names)
    systems = workloads.SYSTEMS
    if values["--systems"] is not None:
        systems = chosen("--systems", values["--systems"], workloads.SYSTEMS)
    scale = number("--scale", values["--scale"], float)
    return Options([workloads.scaled(workload, scale) for workload in workloads.WORKLOADS if workload.name in wanted],
                   systems, number("--repeats", values["--repeats"], int), scale, values["--csv"])


def run_program(command):
    """The last line that the program prints. results.WrongRun when it fails."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=RUN_SECONDS_MAX, check=False)
    except subprocess.TimeoutExpired:
        raise results.WrongRun(f"it did not end within {RUN_SECONDS_MAX} s") from None
    lines = done.stdout.decode(errors="replace").strip().splitlines()
    if done.returncode != 0 or not lines:
        said = (done.stderr + done.stdout).decode(errors="replace").strip()
        raise results.WrongRun(f"exit status {done.returncode}: {said[-2000:]}")
    return lines[-1]


def measure(options, commands, threads, run=run_program, say=lambda text: print(text, file=sys.stderr, flush=True)):
    """Runs everything; returns ({workload: {system: [Run]}}, failures). A system that failed in a workload is not run
    in it again, and has no row there."""
    runs = {workload.name: {system: [] for system in options.systems if system in workload.systems}
            for workload in options.workloads}
    failures = []
    for repeat in range(options.repeats):
        # Each system is the first of a repeat in its turn.
        shift = repeat % len(options.systems)
        order = options.systems[shift:] + options.systems[:shift]
        for workload in options.workloads:
            for system in order:
                if system not in runs[workload.name]:
                    continue
                try:
                    line = run(commands[system](workload.name, workload.operations, threads))
                    runs[workload.name][system].append(results.parse_run(line, workload))
                except results.WrongRun as wrong:
                    failures.append(f"{workload.name} in {system}: {wrong}")
                    say("failed: " + failures[-1])
                    del runs[workload.name][system]
            say(f"{repeat + 1}/{options.repeats} {workload.name}")
    return runs, failures


def understudy_command(program):
    def command(workload, operations, threads):
        return [program, f"--workload={workload}", f"--operations={operations}", f"--threads={threads}"]

    return command


def one_thread_command(program):
    ours = understudy_command(program)
    return lambda workload, operations, _threads: ours(workload, operations, 1)


def is_optimised(program):
    return "optimised=yes" in subprocess.run([program, "--build"], stdout=subprocess.PIPE, check=True).stdout.decode()


def report(options, runs, failures, threads):
    rows = [row for workload in options.workloads for row in results.rows_of(workload, runs[workload.name])]
    print(f"{options.repeats} runs each, {threads} scheduler threads in each system but one_thread; {peers.versions()}")
    print("\n".join(results.table(rows) + results.latencies(rows) + results.against_one_thread(rows)))
    print("Rates are better when larger, bytes when smaller; /erlang and /caf divide by that system's median.")
    if options.csv is not None:
        path = os.path.join(os.environ.get("BUILD_WORKING_DIRECTORY", "."), options.csv)
        with open(path, "w", encoding="utf-8", newline="") as file:
            results.write_csv(rows, file)
    for failure in failures:
        print("failed: " + failure)
    return 1 if failures else 0


def main(arguments):
    try:
        options = parse(arguments)
    except CalledWrongly as wrong:
        print(f"compare: {wrong}", file=sys.stderr)
        return 2
    program = os.path.abspath("tests/bench/understudy_bench")
    workspace = os.environ.get("BUILD_WORKSPACE_DIRECTORY")
    if workspace is None or not os.path.exists(program):
        print("compare: run it by ./bazelw run --config=opt //tests/bench:compare", file=sys.stderr)
        return 1
    if not is_optimised(program):
        print("compare: this build is not optimised, and its figures would mean nothing. Run it by\n"
              "  ./bazelw run --config=opt //tests/bench:compare", file=sys.stderr)
        return 1
    commands = {"understudy": understudy_command(program), "one_thread": one_thread_command(program)}
    here = os.path.dirname(os.path.realpath(__file__))
    cache = os.path.join(workspace, ".cache", "bench")
    try:
        peers.install(workspace, options.systems)
        if "erlang" in options.systems:
            commands["erlang"] = peers.build_erlang(os.path.join(here, "erlang"), cache)
        if "caf" in options.systems:
            commands["caf"] = peers.build_caf(os.path.join(here, "caf"), cache)
    except peers.PeerError as error:
        print(f"compare: {error}", file=sys.stderr)
        return 1
    threads = len(os.sched_getaffinity(0))
    runs, failures = measure(options, commands, threads)
    return report(options, runs, failures, threads)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
