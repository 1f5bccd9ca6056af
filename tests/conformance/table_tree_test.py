#!/usr/bin/python3
"""README.md is what table.py makes of the tests as they are."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

import table  # noqa: E402


def main():
    root = os.path.dirname(os.path.realpath("WORKSPACE"))
    try:
        wanted = table.table_of_tree(root)
    except table.Malformed as error:
        print(error)
        return 1
    with open(os.path.join(root, table.README), encoding="utf-8") as file:
        found = file.read()
    if found == wanted:
        print(wanted.strip().rpartition("\n")[2])
        return 0
    for line in sorted(set(wanted.split("\n")) ^ set(found.split("\n"))):
        print(line)
    print(f"{table.README} is not up to date: run tests/conformance/table.py")
    return 1


if __name__ == "__main__":
    sys.exit(main())
