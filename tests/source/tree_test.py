#!/usr/bin/python3
"""Runs all checks of this folder on the whole source tree."""

import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

import checks  # noqa: E402
import citations  # noqa: E402
import layers  # noqa: E402
import links  # noqa: E402
import mutants  # noqa: E402

# tests/consumer is a workspace like a user's, and tests/source contains the bad examples.
_EXEMPT = ("tests/consumer/", "tests/source/")


def read_tree(root):
    files = {}
    for folder, folders, names in os.walk(root):
        relative = os.path.relpath(folder, root)
        folders[:] = [f for f in folders if f not in (".git", ".cache", "__pycache__") and not f.startswith("bazel-")]
        for name in names:
            path = os.path.normpath(os.path.join(relative, name))
            full = os.path.join(folder, name)
            if os.path.islink(full) or path in ("compile_commands.json", ".git", ".bazelrc.user"):
                continue
            try:
                with open(full, encoding="utf-8") as file:
                    files[path] = file.read()
            except UnicodeDecodeError:
                files[path] = ""  # not text, so it can only be the target of a link
    return files


def top_level(root):
    for name in sorted(os.listdir(root)):
        if not name.startswith((".", "bazel-")) and name not in checks.TOP_LEVEL | {"compile_commands.json"}:
            yield name, 1, "not one of the top-level entries: " + " ".join(sorted(checks.TOP_LEVEL))


def main():
    root = os.path.dirname(os.path.realpath("WORKSPACE"))
    files = read_tree(root)
    found = list(top_level(root))
    for path, text in sorted(files.items()):
        if path.startswith(_EXEMPT):
            found += [(path, line, message) for line, message in checks.file_length(path, text)]
            continue
        for check in checks.ALL:
            found += [(path, line, message) for line, message in check(path, text)]
    found += links.check_links(files)
    found += links.check_tests(files)
    found += links.check_headers(files)
    found += links.check_top_headers(files)
    found += layers.check(layers.parse_table(files["tests/source/layers.txt"]), files)
    found += mutants.check(files)
    found += citations.check(files)
    found += citations.check_rules({p: t for p, t in files.items() if not p.startswith(_EXEMPT)})
    for path, line, message in found:
        print(f"{path}:{line}: {message}")
    print(f"{len(files)} files read, {len(found)} findings")
    # The test must not pass if it has found no files to read.
    if len(files) < 20 or not any(re.fullmatch(r"actors/.*\.h", path) for path in files):
        print(f"this is not the source tree: {root}")
        return 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
