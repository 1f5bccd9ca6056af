"""Checks the includes of each target against the table of layers (layers.txt)."""

import ast
import posixpath

from checks import includes

LAYERED = ("actors", "supervision", "transport", "tools")


_RULES = ("understudy_library", "understudy_binary")
_GENERATED = (".pb.h", ".actor.h", ".ref.h", ".testing.h")


def parse_table(text):
    """Returns {target: the set of the target and all targets below it}."""
    below = {}
    for number, line in enumerate(text.split("\n"), 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        name, _, deps = line.replace(":", "\0", 1).partition(":")
        target = name.replace("\0", ":").strip()
        closure = {target}
        for dep in deps.split():
            if dep not in below:
                raise ValueError(f"layers.txt:{number}: {target} names {dep}, which is not above it in the file")
            closure |= below[dep]
        below[target] = closure
    return below


def _files(node):
    """Returns the file names in a list expression of constants and sums of lists. Raises ValueError for a call."""
    if isinstance(node, ast.List):
        return [item.value for item in node.elts if isinstance(item, ast.Constant)]
    if isinstance(node, ast.BinOp):
        return _files(node.left) + _files(node.right)
    if isinstance(node, ast.Call):
        raise ValueError("a layered library lists its files one by one (no glob, no select)")
    return []


def files_of_targets(package, build_text):
    """Returns {path: target} for the files of the libraries and binaries of one BUILD file."""
    owner = {}
    for node in ast.walk(ast.parse(build_text)):
        if not (isinstance(node, ast.Call) and getattr(node.func, "id", "") in _RULES):
            continue
        attributes = {keyword.arg: keyword.value for keyword in node.keywords}
        name = attributes["name"].value
        for attribute in ("srcs", "hdrs"):
            for file in _files(attributes[attribute]) if attribute in attributes else []:
                owner[posixpath.join(package, file.lstrip(":"))] = f"{package}:{name}"
    return owner


def check(table, files):
    """Yields (path, line, message) for each violation. `files` is {path: text} of the whole tree."""
    owner = {}
    for path, text in files.items():
        package = posixpath.dirname(path)
        if posixpath.basename(path) == "BUILD" and package.split("/")[0] in LAYERED:
            try:
                owner.update(files_of_targets(package, text))
            except ValueError as error:
                yield path, 1, str(error)
    unknown = set()
    for path, target in sorted(owner.items()):
        if target not in table:
            if target not in unknown:
                yield path, 1, f"target {target} is not in tests/source/layers.txt: give it its layer there"
            unknown.add(target)
            continue
        for line, included in includes(files.get(path, "")):
            if included.split("/")[0] not in LAYERED:
                continue
            other = owner.get(included)
            if other is None:
                if not included.endswith(_GENERATED):
                    yield path, line, f"{included} belongs to no understudy_library"
            elif other in table and other not in table[target]:
                yield path, line, f"{target} may not include {included} of {other}: the layer is not below it"
    for target in sorted(set(table) - set(owner.values())):
        yield "tests/source/layers.txt", 1, f"target {target} has no file: take it out of the table"
    for path in files:
        if path.endswith((".cc", ".h")) and path.split("/")[0] in LAYERED and path not in owner:
            yield path, 1, "no understudy_library of its folder's BUILD names this file"
