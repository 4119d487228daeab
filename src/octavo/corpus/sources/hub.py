"""Data sets of the Hugging Face hub, read through `datasets`: `hf:NAME[:CONFIG][:SPLIT]`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from octavo.errors import InputError


def read_hub_rows(spec: str) -> Iterator[tuple[dict[str, Any], str]]:
    """The rows of a hub data set, each with its place. No code of the data set is run.

    Arguments:
        spec: `hf:NAME`, `hf:NAME:SPLIT` or `hf:NAME:CONFIG:SPLIT`; the split is `train` if none is named.

    Raises:
        InputError: `datasets` is not installed, or the data set cannot be had (unknown, or no network).
    """
    name, config, split = parse_hub_spec(spec)
    try:
        import datasets
    except ImportError:
        raise InputError(
            f"{spec}: hub data sets need `datasets`; install it with `pip install octavo[hub]`"
        ) from None
    try:
        rows = datasets.load_dataset(name, config, split=split)
    except Exception as error:  # the library raises its own, the network's and the file system's errors
        what = " ".join(str(error).split())[:300]
        raise InputError(
            f"{spec} cannot be loaded ({type(error).__name__}: {what}); check name, configuration and split, "
            "and the network, or save the rows as JSONL and name that file"
        ) from None
    for number, row in enumerate(rows):
        yield row, f"{spec} row {number}"


def parse_hub_spec(spec: str) -> tuple[str, str | None, str]:
    """Name, configuration (or None) and split of an `hf:` source.

    Raises:
        InputError: too few or too many parts.
    """
    parts = re.split(r":(?![^\[]*\])", spec.removeprefix("hf:"))  # not those of a slice like train[:100]
    if not all(parts) or len(parts) > 3:
        raise InputError(f"{spec}: write hf:NAME, hf:NAME:SPLIT or hf:NAME:CONFIG:SPLIT")
    config = parts[1] if len(parts) == 3 else None
    return parts[0], config, parts[-1] if len(parts) > 1 else "train"
