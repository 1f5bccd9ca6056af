#!/usr/bin/python3
"""README.md and rows/*.md must be equal to the output of table.py for the current tests."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

import table  # noqa: E402


def read(path):
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8") as file:
        return file.read()


def main():
    root = os.path.dirname(os.path.realpath("WORKSPACE"))
    try:
        wanted = table.pages(table.read_tests(root))
    except table.Malformed as error:
        print(error)
        return 1
    # The page of a work that was removed must also be removed.
    folder = os.path.join(root, table.FOLDER, "rows")
    found = {f"{table.FOLDER}/rows/{name}" for name in os.listdir(folder) if name.endswith(".md")}
    stale = [path for path in sorted(found | set(wanted)) if read(os.path.join(root, path)) != wanted.get(path)]
    for path in stale:
        differing = set(wanted.get(path, "").split("\n")) ^ set(read(os.path.join(root, path)).split("\n"))
        for line in sorted(differing):
            print(line)
        print(f"{path} is not up to date: run tests/conformance/table.py")
    if not stale:
        print(wanted[f"{table.FOLDER}/README.md"].strip().rpartition("\n")[2])
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
