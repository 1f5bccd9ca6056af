#!/usr/bin/python3
"""extract.py FILE.md NAME: prints the ```cpp blocks that follow a line <!-- program: NAME -->, one after another.

A block that belongs to several programs is named for each: <!-- program: client server -->.
"""

import re
import sys

_BLOCK = re.compile(
    r"(?:^<!-- program: (?P<names>\w+(?: \w+)*) -->\n)?^```cpp\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL
)


def blocks(text):
    """(name or None, line of the code, code) of each ```cpp block, and for each of its names."""
    for match in _BLOCK.finditer(text):
        for name in (match["names"] or "").split() or [None]:
            yield name, text.count("\n", 0, match.start("code")) + 1, match["code"]


def main():
    path, wanted = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        found = [(line, code) for name, line, code in blocks(file.read()) if name == wanted]
    if not found:
        sys.exit(f"{path}: no block is named {wanted}")
    for line, code in found:
        print(f'#line {line} "{path}"\n{code}', end="")


if __name__ == "__main__":
    main()
