"""Blanks out the comments, or the comments and strings, of C++ source text. Lines and columns do not change."""

import re

_TOKEN = re.compile(
    r"""
    (?P<comment>//[^\n]*|/\*.*?\*/)
  | (?P<raw>R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)")
  | (?P<string>"(?:[^"\\\n]|\\.)*")
  | (?P<char>(?<![0-9a-fA-F])'(?:[^'\\\n]|\\.)+')
    """,
    re.VERBOSE | re.DOTALL,
)


def _blank(text):
    return re.sub(r"[^\n]", " ", text)


def without_comments(text):
    return _TOKEN.sub(lambda m: _blank(m.group()) if m.group("comment") else m.group(), text)


def without_comments_and_strings(text):
    return _TOKEN.sub(lambda m: _blank(m.group()) if m.group("comment") else '"' + _blank(m.group()[1:-1]) + '"', text)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1
