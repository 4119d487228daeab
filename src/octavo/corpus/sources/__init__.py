"""Where examples come from: files, hub data sets, the procedural corpus, or a mixture of them."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from octavo.corpus.example import Example
from octavo.corpus.sources.csv_rows import read_csv_rows
from octavo.corpus.sources.hub import read_hub_rows
from octavo.corpus.sources.jsonl import read_jsonl_rows
from octavo.corpus.sources.shapes import check_fields, example_from_row
from octavo.corpus.sources.split import Sides, file_candidates
from octavo.errors import InputError

BUILTIN = "builtin"
READERS: dict[str, Callable[[Path], Iterator[tuple[Any, str]]]] = {
    ".jsonl": read_jsonl_rows,
    ".ndjson": read_jsonl_rows,
    ".csv": read_csv_rows,
    ".tsv": read_csv_rows,
}


def read_source(source: str, fields: Mapping[str, str] | None = None) -> list[Example]:
    """All examples of a file or a hub data set, in its order, with distinct ids.

    Arguments:
        source: a path that ends in .jsonl, .ndjson, .csv or .tsv, or `hf:NAME[:CONFIG][:SPLIT]`.
        fields: our name -> the file's name.

    Raises:
        InputError: names file and line, what is wrong and what to do.
    """
    check_fields(fields)
    if source.startswith("hf:"):
        rows, stem = read_hub_rows(source), source
    else:
        reader = READERS.get(Path(source).suffix.lower())
        if reader is None:
            raise InputError(
                f"corpus source {source!r}: write builtin, a .jsonl or .csv file, or hf:NAME[:split]"
            )
        rows, stem = reader(Path(source)), Path(source).stem
    examples = []
    for row, where in rows:
        line = where.replace(" ", ":").rsplit(":", 1)[-1]
        examples.append(example_from_row(row, where, f"{stem}:{line}", dict(fields or {})))
    if not examples:
        raise InputError(f"{source} has no rows; add some or name another source")
    return with_distinct_ids(examples)


def with_distinct_ids(examples: list[Example]) -> list[Example]:
    """The same examples; an id that was there before gets `~2`, `~3`, ... (ids seed the recipes)."""
    taken: set[str] = set()
    for example in examples:
        wanted, number = example.id, 1
        while example.id in taken:
            number += 1
            example.id = f"{wanted}~{number}"
        taken.add(example.id)
    return examples


@dataclass(frozen=True)
class Share:
    """One source's part of a corpus: how many examples of each side, and where they are drawn from.

    Arguments:
        name: the source, as the study names it.
        counts: side -> how many.
        candidates: (side, sides) -> examples that may go there, in order; endless for the procedural corpus.
        size: how many examples the source has, None if it has no end.
    """

    name: str
    counts: Mapping[str, int]
    candidates: Callable[[str, Sides], Iterator[Example]]
    size: int | None


def open_shares(
    sources: Sequence[tuple[str, float]],
    kinds: Mapping[Any, float],
    counts: Mapping[str, int],
    seed: int,
    fields: Mapping[str, str] | None = None,
) -> list[Share]:
    """The sources of a corpus with exact counts by weight.

    Arguments:
        sources: (name, weight) each.
        kinds: kinds of the procedural corpus with their weights.
        counts: side -> examples wanted over all sources.
        seed: of the split and of the procedural corpus.
        fields: see `read_source`.

    Raises:
        InputError: a source that cannot be read.
    """
    weights = [weight for _, weight in sources]
    parts = {side: apportion(count, weights) for side, count in counts.items()}
    return [
        _share(name, {side: parts[side][i] for side in counts}, kinds, seed, fields)
        for i, (name, _) in enumerate(sources)
    ]


def apportion(total: int, weights: Sequence[float]) -> list[int]:
    """`total` in whole parts by weight that add up exactly (largest remainders; ties go to the first)."""
    exact = [total * weight / sum(weights) for weight in weights]
    parts = [math.floor(part) for part in exact]
    by_remainder = sorted(range(len(exact)), key=lambda i: parts[i] - exact[i])
    for i in by_remainder[: total - sum(parts)]:
        parts[i] += 1
    return parts


def source_fingerprint(source: str) -> str:
    """What tells two states of a source apart: the file's SHA-256, or the name of what has no file here."""
    if source == BUILTIN or source.startswith("hf:"):
        return source
    try:
        with open(source, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{source} cannot be read: {error.strerror or error}") from None


def _share(
    name: str,
    counts: Mapping[str, int],
    kinds: Mapping[Any, float],
    seed: int,
    fields: Mapping[str, str] | None,
) -> Share:
    if name == BUILTIN:
        return Share(name, counts, lambda side, sides: _builtin_candidates(kinds, seed, side, sides), None)
    examples = read_source(name, fields)
    return Share(
        name, counts, lambda side, sides: file_candidates(examples, side, seed, sides), len(examples)
    )


def _builtin_candidates(kinds: Mapping[Any, float], seed: int, side: str, sides: Sides) -> Iterator[Example]:
    from octavo.corpus.builtin import stream

    return (example for example in stream(kinds, seed, side) if sides.admits(example, side))
