"""CSV files (and tab-separated ones): a header of names, then a record a row."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from octavo.corpus.strict_json import parse_json
from octavo.errors import InputError

# Values that are lists or objects can only stand in a CSV file as JSON text.
JSON_COLUMNS = ("messages", "conversations", "tools", "steps")
LONGEST_FIELD = 2**31 - 1  # csv refuses more than 128 KiB unless told


def read_csv_rows(path: Path) -> Iterator[tuple[dict[str, Any], str]]:
    """The records of a CSV file as objects, each with its place `file:line` (the record's first line).

    Raises:
        InputError: the file cannot be read, is not UTF-8, has no header, or a record does not fit it.
    """
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            yield from _records(file, path)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8; save the file as UTF-8") from None


def _records(file: Any, path: Path) -> Iterator[tuple[dict[str, Any], str]]:
    csv.field_size_limit(LONGEST_FIELD)
    reader = csv.reader(file, delimiter="\t" if path.suffix == ".tsv" else ",", strict=True)
    header: list[str] | None = None
    line = 1
    while True:
        where = f"{path}:{line}"
        try:
            record = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise InputError(
                f"{where} is no CSV record: {error}; quotes inside a value are doubled"
            ) from None
        line = reader.line_num + 1
        if header is None:
            header = _header(record, where)
        elif record:
            yield _row(header, record, where), where


def _header(record: list[str], where: str) -> list[str]:
    if len(set(record)) != len(record):
        raise InputError(f"{where}: a name stands twice in the header {record}")
    return record


def _row(header: list[str], record: list[str], where: str) -> dict[str, Any]:
    if len(record) != len(header):
        have, want = len(record), len(header)
        raise InputError(
            f"{where}: {have} values for the {want} names of the header; quote values with commas"
        )
    row: dict[str, Any] = {name: value or None for name, value in zip(header, record, strict=True)}
    for name in JSON_COLUMNS:
        if row.get(name):
            row[name] = parse_json(row[name], f"{where}: `{name}`")
    return row
