#!/usr/bin/python3
"""extract.py FILE.md NAME: prints the blocks that follow a line <!-- program: NAME -->, one after another.

They are ```cpp blocks, or the ```proto blocks of a .proto file.

A block that belongs to several programs is named for each: <!-- program: client server -->.
"""

import re
import sys

_BLOCK = re.compile(
    r"(?:^<!-- program: (?P<names>\w+(?: \w+)*) -->\n)?^```(?P<language>cpp|proto)\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


def blocks(text):
    """(name or None, line of the code, code, language) of each block, and for each of its names."""
    for match in _BLOCK.finditer(text):
        for name in (match["names"] or "").split() or [None]:
            yield name, text.count("\n", 0, match.start("code")) + 1, match["code"], match["language"]


def main():
    path, wanted = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        found = [block[1:] for block in blocks(file.read()) if block[0] == wanted]
    if not found:
        sys.exit(f"{path}: no block is named {wanted}")
    for line, code, language in found:
        print(f'#line {line} "{path}"\n{code}' if language == "cpp" else code, end="")


if __name__ == "__main__":
    main()
