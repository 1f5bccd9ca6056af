#!/usr/bin/python3
"""Every ```cpp block of the README and of docs/guide has a name, and a rule builds it; docs/guide has no ```c++ block.

Lines that are indented in place of a block are not looked at: they show a call or two of a program.
"""

import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

from extract import blocks  # noqa: E402


def main():
    example = "```cpp\na\n```\n<!-- program: b d -->\n```cpp\nc\n```\n"
    assert [name for name, *_ in blocks(example)] == [None, "b", "d"]
    root = os.path.dirname(os.path.realpath("WORKSPACE"))
    documents = {"README.md": "tests/readme/BUILD"}
    for page in sorted(os.listdir(os.path.join(root, "docs/guide"))):
        if page.endswith(".md"):
            documents["docs/guide/" + page] = "tests/examples/guide/BUILD"
    bad = 0
    for document, build in documents.items():
        with open(os.path.join(root, build), encoding="utf-8") as file:
            built = set(re.findall(r'readme_(?:program|binary|proto)\(\s*name = "(\w+)"', file.read()))
        with open(os.path.join(root, document), encoding="utf-8") as file:
            text = file.read()
            if document.startswith("docs/") and "```c++" in text:
                print(f"{document}: a block marked ```c++ is not built: make it a part of a program")
                bad += 1
            for name, line, *_ in blocks(text):
                if name not in built:
                    print(f"{document}:{line}: a block named {name}: mark it <!-- program: x -->, and add a "
                          f"readme_program x to {build}")
                    bad += 1
    sys.exit(bad)


if __name__ == "__main__":
    main()
