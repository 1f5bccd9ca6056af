#!/usr/bin/python3
"""Counts the instructions of the kernel's operations, and compares them with instructions.txt.

  ./bazelw run --config=opt //tests/bench:instructions                         # fails where a count is off by over 5%
  ./bazelw run --config=opt //tests/bench:instructions -- --update             # writes the file
  ./bazelw run --config=opt //tests/bench:instructions -- --explain=receive/8  # where the instructions of one go

Valgrind is installed if it is missing. Exit status: 1 when a count is off, or cannot be had; 2 when called wrongly.
"""

import collections
import concurrent.futures
import os
import shutil
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

import callgrind  # noqa: E402

TOLERANCE = 0.05
TRIES = 3
COMPILER = "Clang 19"
Operation = collections.namedtuple("Operation", "name bytes collect count what")

_PER_LETTER = [
    Operation("send", 0, "inside", 6400, "a send that is accepted; the first of 640 wakes its receiver"),
    Operation("receive", 0, "outside", 6400, "taking and handling it, 64 a turn, and its share of the turn"),
    Operation("become", 0, "outside", 6400, "the same, where each handler becomes another behaviour"),
    Operation("guard_miss", 0, "inside", 6400, "send to a mailbox whose guard does not hold"),
    Operation("guard_open", 0, "outside", 6400, "taking and handling it once the guard holds"),
    Operation("round_trip", 0, "all", 40000, "two sends, two turns of one message each"),
    Operation("ask", 0, "all", 4000, "ask with a deadline, answered, and the asker goes on"),
    Operation("ask_replier", 0, "all", 4000, "the same, where the handler takes a Replier and answers by it"),
    Operation("counting_traced", 0, "all", 64000, "send and receive together, where one letter in 100 is traced"),
    Operation("trip_traced", 0, "all", 40000, "round_trip, where one in 100 is traced: seven spans"),
    Operation("spawn", 0, "all", 5000, "an actor is spawned, told one thing, tells one thing, ends"),
]
OPERATIONS = [operation._replace(bytes=size) for operation in _PER_LETTER for size in (8, 80)]

HEADER = """\
# Instructions per operation: callgrind, {compiler} -O3, one worker thread; libc, libm and the loader are left out.
# Written by: ./bazelw run --config=opt //tests/bench:instructions -- --update
# operation   bytes  instructions  what is counted
"""


class FileError(Exception):
    """instructions.txt cannot be read; the text says where."""


def format_file(counts):
    """The file's text for {(name, bytes): instructions}."""
    lines = [f"{operation.name:<13} {operation.bytes:>5} {counts[operation.name, operation.bytes]:>13.1f}"
             f"  {operation.what}\n" for operation in OPERATIONS]
    return HEADER.format(compiler=COMPILER) + "".join(lines)


def parse_file(text):
    counts = {}
    for number, line in enumerate(text.splitlines(), 1):
        fields = line.split("#")[0].split(maxsplit=3)
        if not fields:
            continue
        try:
            counts[fields[0], int(fields[1])] = float(fields[2])
        except (IndexError, ValueError):
            raise FileError(f"line {number}: should be: operation bytes instructions what: {line}") from None
    return counts


def is_off(expected, found, tolerance=TOLERANCE):
    return abs(found - expected) > tolerance * expected


def differences(expected, found):
    """A line for each count that is off by more than the tolerance, or that only one side has."""
    for key in sorted(set(expected) | set(found)):
        name = f"{key[0]} ({key[1]} bytes)"
        if key not in found:
            yield f"{name}: in the file, but not counted"
        elif key not in expected:
            yield f"{name}: counted {found[key]:.1f}, but not in the file"
        elif is_off(expected[key], found[key]):
            change = found[key] / expected[key] - 1 if expected[key] else float("inf")
            yield f"{name}: counted {found[key]:.1f}, the file says {expected[key]:.1f} ({change:+.1%})"


def command_of(program, operation):
    return lambda count: [program, f"--operation={operation.name}", f"--bytes={operation.bytes}",
                          f"--operations={count}"]


def count_one(program, operation):
    return sum(callgrind.per_operation(command_of(program, operation), operation.count, operation.collect).values())


def count_all(program, operations=OPERATIONS, tries=1):
    """{(name, bytes): instructions}, each the median of its tries: a thread of the pool that wakes by the clock now and
    then meets the worker at a lock, and both spin."""
    runs = [operation for operation in operations for _ in range(tries)]
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        found = list(pool.map(lambda operation: count_one(program, operation), runs))
    return {(operation.name, operation.bytes): statistics.median(found[i * tries:(i + 1) * tries])
            for i, operation in enumerate(operations)}


def explain(program, operation, places_max=40):
    costs = callgrind.per_operation(command_of(program, operation), operation.count, operation.collect)
    print(f"{operation.name}, {operation.bytes} bytes: {sum(costs.values()):.1f} instructions; by function itself:")
    for (object_file, function), cost in sorted(costs.items(), key=lambda item: -item[1])[:places_max]:
        print(f"{cost:9.1f}  {object_file}  {function[:150]}")


def find(text):
    """The operation that NAME/BYTES says, or None."""
    for operation in OPERATIONS:
        if text == f"{operation.name}/{operation.bytes}":
            return operation
    return None


def install_valgrind(workspace):
    if shutil.which("valgrind"):
        return True
    done = subprocess.run(["./bazelw", "--version"], cwd=workspace, env=dict(os.environ, BAZELW_ALSO="valgrind"),
                          stdout=subprocess.DEVNULL, check=False)
    return done.returncode == 0 and shutil.which("valgrind") is not None


def refusal(program):
    """Why this build is not to be counted; empty when it is."""
    build = subprocess.run([program, "--build"], stdout=subprocess.PIPE, check=True).stdout.decode()
    if "optimised=yes" not in build:
        return "this build is not optimised"
    if COMPILER not in build:
        return f"this build is not by {COMPILER}, and the counts are: {build.strip()}"
    return ""


def check(program, path):
    try:
        with open(path, encoding="utf-8") as file:
            expected = parse_file(file.read())
    except (OSError, FileError) as error:
        print(f"instructions: {path}: {error}", file=sys.stderr)
        return 1
    counts = count_all(program)
    # What seems off is counted again, with more care.
    again = [operation for operation in OPERATIONS
             if is_off(expected.get(operation[:2], 0), counts[operation[:2]], TOLERANCE / 2)]
    counts.update(count_all(program, again, TRIES))
    print(format_file(counts), end="")
    off = list(differences(expected, counts))
    for line in off:
        print("instructions: " + line)
    if off:
        print("If that is as it should be: ./bazelw run --config=opt //tests/bench:instructions -- --update")
    else:
        print(f"{len(counts)} counts, each within {TOLERANCE:.0%} of the file")
    return 1 if off else 0


def main(arguments):
    chosen = None
    if len(arguments) == 1 and arguments[0].startswith("--explain="):
        chosen = find(arguments[0].partition("=")[2])
    if len(arguments) > 1 or (arguments and arguments != ["--update"] and chosen is None):
        names = " ".join(f"{operation.name}/{operation.bytes}" for operation in OPERATIONS)
        print(f"usage: instructions [--update | --explain=OPERATION]\noperations: {names}", file=sys.stderr)
        return 2
    workspace = os.environ.get("BUILD_WORKSPACE_DIRECTORY")
    program = os.path.abspath("tests/bench/counted")
    if workspace is None or not os.path.exists(program):
        print("instructions: run it by ./bazelw run --config=opt //tests/bench:instructions", file=sys.stderr)
        return 1
    why = refusal(program)
    if why:
        print(f"instructions: {why}. Run it by ./bazelw run --config=opt //tests/bench:instructions", file=sys.stderr)
        return 1
    if not install_valgrind(workspace):
        print("instructions: valgrind is missing, and could not be installed", file=sys.stderr)
        return 1
    path = os.path.join(workspace, "tests/bench/instructions.txt")
    try:
        if chosen is not None:
            explain(program, chosen)
            return 0
        if not arguments:
            return check(program, path)
        text = format_file(count_all(program, tries=TRIES))
    except callgrind.CallgrindError as error:
        print(f"instructions: {error}", file=sys.stderr)
        return 1
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
