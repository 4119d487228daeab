"""A study as its runs: variants x swept settings x seeds, each with all its settings resolved."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from octavo.errors import InputError
from octavo.explain import complain
from octavo.overrides import lookup, merge, undot
from octavo.settings import Train, Variant
from octavo.sweep import Axis, resolve_train, sweep_axes
from octavo.yaml_text import Document, Path

if TYPE_CHECKING:
    from octavo.study import Study

_LONGEST_ID = 150  # file systems take 255 bytes; the rest is for suffixes


@dataclass(frozen=True)
class Run:
    """What ends as one adapter: a variant on a base with a seed, all its settings resolved."""

    id: str
    variant: str
    base: str
    seed: int
    train: Train


def expand(study: Study, document: Document) -> list[Run]:
    """The runs of a study in a fixed order.

    **Raises** `InputError` that names the place in `document` of a sweep or an override that cannot be.
    """
    axes, _ = sweep_axes(study, document)
    runs: list[Run] = []
    for index, variant in enumerate(study.variants):
        _refuse_conflicts(index, variant, axes, document)
        runs += _variant_runs(study, index, variant, axes, document)
    return _told_apart(runs)


def _refuse_conflicts(index: int, variant: Variant, axes: list[Axis], document: Document) -> None:
    """A key both swept and set in a variant has two values; neither may win in silence."""
    for axis in axes:
        path: Path = ("variants", index, *axis.key.split("."))
        held = variant.base is not None if axis.key == "base" else lookup(variant.train, axis.key[6:])[0]
        if held:
            raise InputError(complain(document, path, f"is set here and swept by sweep.{axis.key}; keep one"))


def _variant_runs(
    study: Study, index: int, variant: Variant, axes: list[Axis], document: Document
) -> Iterator[Run]:
    for values in itertools.product(*(axis.values for axis in axes)):
        swept = {axis.key: value for axis, value in zip(axes, values, strict=True)}
        base = swept.get("base", variant.base or study.bases[0].name)
        keys = {key.removeprefix("train."): value for key, value in swept.items() if key != "base"}
        overrides = merge(variant.train, undot(keys))
        train = resolve_train(study.train, overrides, document, ("variants", index, "train"))
        for seed in study.seeds:
            yield Run(run_id(variant.name, swept, seed), variant.name, base, seed, train)


def run_id(variant: str, swept: dict[str, Any], seed: int) -> str:
    """`<variant>`, `-<key><value>` for each swept key (its last word), `-s<seed>`: file-name safe.

    An id longer than 150 characters ends in a hash of the whole instead.
    """
    words = Counter(key.rsplit(".", 1)[-1] for key in swept)
    text = variant
    for key, value in swept.items():
        word = key.rsplit(".", 1)[-1]
        text += f"-{word if words[word] == 1 else key}{_value_text(value)}"
    text += f"-s{seed}"
    return text if len(text) <= _LONGEST_ID else f"{text[: _LONGEST_ID - 13]}-{_hash(text, 12)}"


def _value_text(value: Any) -> str:
    """A value in a file name. `repr` of a float is the shortest text that reads back as the same float."""
    if isinstance(value, list):
        return "_".join(_value_text(item) for item in value)
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return re.sub(
        r"[^A-Za-z0-9._-]", "_", repr(value).replace("+", "") if isinstance(value, float) else str(value)
    )


def _told_apart(runs: list[Run]) -> list[Run]:
    """Runs whose ids are equal (on a file system that ignores case too) get a hash of their settings."""
    times = Counter(run.id.casefold() for run in runs)
    return [
        run if times[run.id.casefold()] == 1 else replace(run, id=f"{run.id}-{_hash(_identity(run), 8)}")
        for run in runs
    ]


def _identity(run: Run) -> str:
    return json.dumps([run.variant, run.base, run.seed, run.train.model_dump()], sort_keys=True)


def _hash(text: str, digits: int) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:digits]
