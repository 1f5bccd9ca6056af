"""Instructions by object file and function, from what callgrind writes."""

import os
import subprocess
import tempfile

# libc picks functions by CPU, so its counts differ between machines; the loader's and valgrind's own are nobody's.
LEFT_OUT = ("libc.so", "libc-", "libm.so", "libpthread", "ld-linux", "ld-", "vgpreload", "???")
TOGGLE = "understudy_counted_sends"


class CallgrindError(Exception):
    """The text says what did not work."""


def self_costs(lines):
    """{(object file, function): instructions spent in the function itself} of an uncompressed profile."""
    costs = {}
    place = ["", ""]
    is_call = False
    for line in lines:
        if line.startswith("ob="):
            place[0] = os.path.basename(line[3:].strip())
        elif line.startswith("fn="):
            place[1] = line[3:].strip()
        elif line.startswith("calls="):
            is_call = True
        elif line[:1].isdigit():
            # The line after calls= is what the callee spent.
            if not is_call:
                key = tuple(place)
                costs[key] = costs.get(key, 0) + int(line.split()[1])
            is_call = False
    return costs


def ours(costs):
    """The costs without those of the libraries that are left out."""
    return {place: cost for place, cost in costs.items() if not place[0].startswith(LEFT_OUT)}


def profile(command, collect):
    """Runs the command under callgrind; returns its self costs, without libc. `collect`: "all", "inside" (only while
    the sends run), or "outside"."""
    flags = {"all": [], "inside": ["--toggle-collect=" + TOGGLE],
             "outside": ["--toggle-collect=" + TOGGLE, "--collect-atstart=yes"]}[collect]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "callgrind.out")
        done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=" + path, "--compress-strings=no",
                               "--compress-pos=no", *flags, *command], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if done.returncode != 0 or not os.path.exists(path):
            raise CallgrindError(" ".join(command) + "\n" + done.stdout.decode(errors="replace")[-3000:])
        with open(path, encoding="utf-8", errors="replace") as file:
            return ours(self_costs(file))


def per_operation(command, operations, collect):
    """Instructions per operation by place: the difference between runs of N and of 2N, so that what happens once drops
    out. `command(n)` is the program that does n operations."""
    once = profile(command(operations), collect)
    twice = profile(command(2 * operations), collect)
    places = set(once) | set(twice)
    return {place: (twice.get(place, 0) - once.get(place, 0)) / operations for place in places}
