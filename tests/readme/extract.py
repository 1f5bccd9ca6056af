#!/usr/bin/python3
"""extract.py FILE.md NAME: prints the ```cpp block that follows the line <!-- program: NAME -->."""

import re
import sys

_BLOCK = re.compile(r"(?:^<!-- program: (?P<name>\w+) -->\n)?^```cpp\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(text):
    """(name or None, line of the code, code) of each ```cpp block."""
    for match in _BLOCK.finditer(text):
        yield match["name"], text.count("\n", 0, match.start("code")) + 1, match["code"]


def main():
    path, wanted = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        found = [(line, code) for name, line, code in blocks(file.read()) if name == wanted]
    if len(found) != 1:
        sys.exit(f"{path}: {len(found)} blocks are named {wanted}; there must be one")
    line, code = found[0]
    print(f'#line {line} "{path}"\n{code}', end="")


if __name__ == "__main__":
    main()
