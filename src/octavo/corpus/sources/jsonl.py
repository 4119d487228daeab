"""JSONL files as people really have them.

A line ends at `\\n` and nowhere else: U+2028, U+2029 and U+0085 are text. `\\r\\n`, empty lines, a byte-order
mark at the start of the file and those left inside when files were glued together are fine.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from octavo.corpus.strict_json import parse_json_prefix
from octavo.errors import InputError

BOM = "\ufeff"
BLANK = " \t\r\n"


def read_jsonl_rows(path: Path) -> Iterator[tuple[Any, str]]:
    """The values of a JSONL file, each with its place `file:line` (lines from 1, empty ones counted).

    Raises:
        InputError: the file cannot be read, is not UTF-8, or a line is no JSON.
    """
    try:
        with open(path, "rb") as file:
            for number, line in enumerate(file, start=1):
                yield from _rows(_decode(line, f"{path}:{number}"), f"{path}:{number}")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None


def _decode(line: bytes, where: str) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        byte = f"byte {error.start + 1} is {line[error.start]:#04x}"
        raise InputError(f"{where} is not UTF-8 ({byte}); save the file as UTF-8") from None


def _rows(text: str, where: str) -> Iterator[tuple[Any, str]]:
    """The rows of one line: one, none if it is blank, more where files were glued without a newline."""
    rest = text.strip(BLANK).lstrip(BOM + BLANK)
    while rest:
        value, end = parse_json_prefix(rest, where)
        rest = rest[end:].lstrip(BLANK)
        if rest and not rest.startswith(BOM):
            raise InputError(f"{where} is no JSON row: something follows the object; write one object a line")
        rest = rest.lstrip(BOM + BLANK)
        yield value, where
