"""Checks of single files. Each takes (path, text) and yields (line, message) for each violation. Paths are relative."""

import re

from cpp_text import line_of, without_comments, without_comments_and_strings

LINES_MAX = 500
COLUMNS_MAX = 120
TOP_LEVEL = {
    "WORKSPACE", "BUILD", "README.md", "bazelw", "LICENSE", "actors", "supervision", "transport", "proto", "tests",
    "examples", "bazel", "docs", "tools",
}
OUR_FOLDERS = "actors|supervision|transport|proto|tests|examples|tools"
# Input data of examples, which users replace with their own. The limit on lines does not apply to it.
DATA_SUFFIXES = (".csv", ".textproto")


def is_cpp(path):
    return path.endswith((".cc", ".h"))


def is_test(path):
    return path.startswith("tests/") or "/testing/" in path or path.endswith("_test.cc")


def file_length(path, text):
    lines = text.count("\n")
    if lines > LINES_MAX and not path.endswith(DATA_SUFFIXES):
        yield lines, f"{lines} lines; a file has at most {LINES_MAX}: past that it is two ideas"


def line_length(path, text):
    if not is_cpp(path) and not path.endswith(".py"):
        return
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > COLUMNS_MAX:
            yield number, f"{len(line)} columns; a line has at most {COLUMNS_MAX}"


def bare_include(path, text):
    if not is_cpp(path):
        return
    for match in re.finditer(rf'^\s*#\s*include\s+["<](({OUR_FOLDERS})/[^">]+)', text, re.MULTILINE):
        yield line_of(text, match.start(1)), f'include "{match[1]}" as "understudy/{match[1]}"'


def wire_library_in_kernel(path, text):
    if not is_cpp(path) or not path.startswith(("actors/", "supervision/")):
        return
    pattern = r'^\s*#\s*include\s+["<]((?:grpc|grpcpp|grpc\+\+|google/protobuf)/[^">]+|[^">]+\.(?:pb|actor)\.h)'
    for match in re.finditer(pattern, text, re.MULTILINE):
        yield line_of(text, match.start(1)), f"actors and supervision see neither gRPC nor protobuf: {match[1]}"


def proto_import(path, text):
    if not path.endswith(".proto"):
        return
    for match in re.finditer(r'^\s*import\s+(?:public\s+|weak\s+)?"([^"]+)"', text, re.MULTILINE):
        if not match[1].startswith(("understudy/", "google/")):
            yield line_of(text, match.start(1)), f'import "{match[1]}" as "understudy/{match[1]}"'


def _operand_end(code, start):
    """Returns the end of the operand of a co_await: its ';', its ',' or the bracket that encloses it."""
    depth = 0
    for offset in range(start, len(code)):
        char = code[offset]
        if char in "([{":
            depth += 1
        elif char in ")]}":
            if depth == 0:
                return offset
            depth -= 1
        elif char in ";," and depth == 0:
            return offset
    return len(code)


def co_await_temporary(path, text):
    if not is_cpp(path):
        return
    code = without_comments_and_strings(text)
    for match in re.finditer(r"(?<!operator )\bco_await\b", code):
        operand = code[match.end():_operand_end(code, match.end())]
        if "{" in operand:
            yield line_of(code, match.start()), "a braced temporary inside co_await: GCC 12 destroys it twice; name it first"
        elif re.search(r"(?:^|[(,=&|?:!])\s*\[", operand):
            yield line_of(code, match.start()), "a lambda inside co_await: GCC 12 destroys it twice; name it first"


def sleeping(path, text):
    if not is_cpp(path):
        return
    code = without_comments_and_strings(text)
    for match in re.finditer(r"\bthis_thread\s*::\s*sleep_(for|until)\b", code):
        yield line_of(code, match.start()), "this_thread::sleep: wait for an event, or use the injected clock"
    if not is_test(path):
        return
    for match in re.finditer(r"\b(SleepFor|usleep|nanosleep)\s*\(|(?<![\w.:>])(?:::)?sleep\s*\(", code):
        yield line_of(code, match.start()), "a test does not sleep: virtual time, or wait for an event with a deadline"


def leftover(path, text):
    for match in re.finditer(r"\b(TODO|FIXME|XXX)\b", text):
        yield line_of(text, match.start()), f"{match[1]}: do it, or open an issue"


def joins_tests(path, text):
    if not re.fullmatch(r"tests/(?!consumer/|planted/).*BUILD", path) or text.rstrip().endswith("\njoined_tests()"):
        return
    for match in re.finditer(r"^[\[ ]*(understudy|one_thread|value|grpc_callback|actor)_test\(", text, re.MULTILINE):
        yield line_of(text, match.start()), "end this file with joined_tests(), or .ci/run does not run this test"


def includes(text):
    """Yields (line, path) for each quoted include of a path below understudy/."""
    code = without_comments(text)
    for match in re.finditer(r'^\s*#\s*include\s+"understudy/([^"]+)"', code, re.MULTILINE):
        yield line_of(code, match.start(1)), match[1]


ALL = [
    file_length,
    line_length,
    bare_include,
    wire_library_in_kernel,
    proto_import,
    co_await_temporary,
    sleeping,
    leftover,
    joins_tests,
]
