#!/usr/bin/python3
"""The shop as processes: the stock's process is killed with SIGKILL under load, orders go on, and the stock is right.

The test waits for events only.
"""

import os
import signal
import subprocess
import sys
import tempfile

FOLDER = os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"], "examples/shop")
ORDERS = 200  # of each of four customers
ITEMS = 1000


def children_named(name, parent):
    """The pids of the children of the process `parent` that run the binary `name`."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                of = int(file.read().rpartition(")")[2].split()[1])
            with open(f"/proc/{pid}/cmdline", encoding="utf-8") as file:
                command = file.read().split("\0")[0]
        except (OSError, ValueError):
            continue  # it has ended meanwhile
        if of == parent and os.path.basename(command) == name:
            found.append(int(pid))
    return found


def main():
    journal = tempfile.mkdtemp(dir=os.environ["TEST_TMPDIR"])
    shop = subprocess.Popen(
        [f"{FOLDER}/shop_node", f"--journal={journal}", f"--items={ITEMS}"], stdout=subprocess.PIPE, text=True
    )
    address = shop.stdout.readline().strip()
    load = subprocess.Popen(
        [f"{FOLDER}/load", f"--address={address}", f"--orders={ORDERS}", f"--items={ITEMS}"],
        stdout=subprocess.PIPE,
        text=True,
    )
    killed = []
    for line in load.stdout:
        print(line, end="", flush=True)
        if not killed and line.endswith(" shipped\n"):
            killed = children_named("inventory_node", shop.pid)
            assert len(killed) == 1, killed
            os.kill(killed[0], signal.SIGKILL)
            print("killed the stock", flush=True)
    assert load.wait() == 0, "the load failed"
    assert killed, "the stock was not killed"
    again = children_named("inventory_node", shop.pid)
    assert len(again) == 1 and again != killed, (killed, again)
    shop.send_signal(signal.SIGTERM)
    assert shop.wait() == 0, "the shop did not drain"
    return 0


if __name__ == "__main__":
    sys.exit(main())
