#!/usr/bin/python3
"""Every ```cpp block of the README and of docs/guide has a name, and a readme_program builds it."""

import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

from extract import blocks  # noqa: E402


def main():
    assert [name for name, _, _ in blocks("```cpp\na\n```\n<!-- program: b -->\n```cpp\nc\n```\n")] == [None, "b"]
    root = os.path.dirname(os.path.realpath("WORKSPACE"))
    documents = {"README.md": "tests/readme/BUILD"}
    for page in sorted(os.listdir(os.path.join(root, "docs/guide"))):
        if page.endswith(".md"):
            documents["docs/guide/" + page] = "tests/examples/guide/BUILD"
    bad = 0
    for document, build in documents.items():
        with open(os.path.join(root, build), encoding="utf-8") as file:
            built = set(re.findall(r'readme_program\(\s*name = "(\w+)"', file.read()))
        with open(os.path.join(root, document), encoding="utf-8") as file:
            for name, line, _ in blocks(file.read()):
                if name not in built:
                    print(f"{document}:{line}: a cpp block named {name}: mark it <!-- program: x -->, and add a "
                          f"readme_program x to {build}")
                    bad += 1
    sys.exit(bad)


if __name__ == "__main__":
    main()
