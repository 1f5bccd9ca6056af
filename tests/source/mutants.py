"""The list of mutants, tests/planted/mutants.txt: small changes of the code that tests must detect."""

import re

LIST = "tests/planted/mutants.txt"
_FIELDS = ("mutant", "file", "test", "old", "new")


class Mutant:
    def __init__(self, line, values):
        self.line = line
        self.what, self.file, self.test, self.old, self.new = values


def parse(text):
    """Returns the mutants of a list. Raises ValueError with the line number if the text is not such a list."""
    mutants = []
    values = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            if values:
                raise ValueError(f"line {number}: expected '{_FIELDS[len(values)]}:' of '{values[0]}'")
            continue
        field, colon, value = line.partition(":")
        if not colon or field != _FIELDS[len(values)]:
            raise ValueError(f"line {number}: expected '{_FIELDS[len(values)]}:', got '{line}'")
        values.append(value.strip())
        if len(values) == len(_FIELDS):
            mutants.append(Mutant(number - len(_FIELDS) + 1, values))
            values = []
    if values:
        raise ValueError(f"the list ends before '{_FIELDS[len(values)]}:' of '{values[0]}'")
    return mutants


def check(files):
    """Yields (path, line, message) for each mutant that cannot be applied or whose test belongs to another layer."""
    if LIST not in files:
        return
    try:
        mutants = parse(files[LIST])
    except ValueError as error:
        yield LIST, 1, str(error)
        return
    for mutant in mutants:
        count = files.get(mutant.file, "").count(mutant.old) if mutant.old else 0
        if count != 1:
            yield LIST, mutant.line, f"{mutant.file} has {count} times, and must have once: {mutant.old}"
        layer = mutant.file.partition("/")[0]
        target = re.fullmatch(rf"//(tests/{layer}(?:/\w+)*):(\w+)", mutant.test)
        if target is None:
            yield LIST, mutant.line, f"{mutant.test} is no test of //tests/{layer}, the layer of {mutant.file}"
        elif f'"{target[2]}"' not in files.get(f"{target[1]}/BUILD", ""):
            yield LIST, mutant.line, f"{target[1]}/BUILD has no test {target[2]}"
