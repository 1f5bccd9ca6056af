#!/usr/bin/python3
"""Every ```cpp block of the README has a name and is built by a readme_program of this folder's BUILD."""

import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

from extract import blocks  # noqa: E402


def main():
    assert [name for name, _, _ in blocks("```cpp\na\n```\n<!-- program: b -->\n```cpp\nc\n```\n")] == [None, "b"]
    root = os.path.dirname(os.path.realpath("WORKSPACE"))
    readme = os.path.join(root, "README.md")
    if not os.path.exists(readme):
        sys.exit("there is no README.md")
    with open(os.path.join(root, "tests/readme/BUILD"), encoding="utf-8") as file:
        built = set(re.findall(r'readme_program\(\s*name = "(\w+)"', file.read()))
    bad = 0
    with open(readme, encoding="utf-8") as file:
        for name, line, _ in blocks(file.read()):
            if name not in built:
                print(f"README.md:{line}: a cpp block named {name}: mark it <!-- program: x -->, and add a "
                      "readme_program x to tests/readme/BUILD")
                bad += 1
    sys.exit(bad)


if __name__ == "__main__":
    main()
