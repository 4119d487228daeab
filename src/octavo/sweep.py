"""Swept settings: what a study's `sweep` section says, as the distinct values of each swept key."""

from __future__ import annotations

import hashlib
import json
import math
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, ValidationError

from octavo.errors import InputError
from octavo.explain import complain, dotted, explain, nearest
from octavo.fields import Count, Positive, Seed
from octavo.overrides import lookup, merge, undot
from octavo.settings import Section, Train, dotted_keys, leaf_keys, settle_length
from octavo.unbuilt import refuse_unbuilt
from octavo.yaml_text import Document, Path

if TYPE_CHECKING:
    from octavo.study import Study

_DIGITS = 6  # of a drawn value: the last bits of exp and log differ between machines, six digits do not


@dataclass(frozen=True)
class Axis:
    """A swept key (`base` or `train.…`) and its values, resolved and distinct."""

    key: str
    values: list[Any]


class LogUniform(Section):
    """A sweep by drawing: `samples` values, uniform in the logarithm between two bounds."""

    log_uniform: Annotated[list[Positive], Field(min_length=2, max_length=2)]
    samples: Count
    seed: Seed = 0

    def draw(self) -> list[float]:
        """The values; the same on every machine."""
        low, high = (math.log(bound) for bound in self.log_uniform)
        digest = hashlib.sha256(f"{self.log_uniform} {self.seed}".encode()).digest()
        dice = random.Random(int.from_bytes(digest[:8], "big"))
        drawn = [math.exp(low + (high - low) * dice.random()) for _ in range(self.samples)]
        return [float(f"{value:.{_DIGITS}g}") for value in drawn]


def sweep_axes(study: Study, document: Document) -> tuple[list[Axis], list[str]]:
    """The swept keys of a study in the order written, and a note for each group of equal values.

    **Raises** `InputError` that names the key and line of what cannot be swept.
    """
    notes: list[str] = []
    return [_axis(study, key, document, notes) for key in study.sweep], notes


def resolve_train(
    train: Train, overrides: dict[str, Any], document: Document, base: Path, strip: Path = ()
) -> Train:
    """`train` with `overrides` (nested) laid over it.

    `base` and `strip` say where the overrides stand in `document`, as in `octavo.explain.moved`.
    """
    refuse_unbuilt({"train": merge({}, overrides)}, document, base, ("train", *strip))
    try:
        return Train.model_validate(merge(train.model_dump(), settle_length(overrides)))
    except ValidationError as error:
        keys = [f"train.{key}" for key in dotted_keys(Train)]
        raise explain(error, document, keys, base, strip) from None


def _axis(study: Study, key: str, document: Document, notes: list[str]) -> Axis:
    path: Path = ("sweep", key)
    sweepable = ["base", *(f"train.{name}" for name in leaf_keys(Train))]
    if key not in sweepable:
        match = nearest(key, sweepable) or nearest(f"train.{key}", sweepable)
        hint = f"did you mean {match}?" if match else "keys of train can, and base"
        raise InputError(complain(document, path, f"cannot be swept; {hint}"))
    written: dict[str, list[str]] = {}
    values: dict[str, Any] = {}
    for raw, where in _raw_values(study.sweep[key], key, document):
        value = _resolve_value(study, key, raw, document, where)
        same = json.dumps(value)
        values.setdefault(same, value)
        written.setdefault(same, []).append(document.origin(where).text or str(raw))
    for same, texts in written.items():
        if len(texts) > 1:
            notes.append(f"{dotted(path)}: {', '.join(texts)} are one value, {same}: one run a seed")
    return Axis(key, list(values.values()))


def _raw_values(spec: Any, key: str, document: Document) -> list[tuple[Any, Path]]:
    """The values of a swept key as written or drawn, and where each stands."""
    path: Path = ("sweep", key)
    if isinstance(spec, list) and spec:
        return [(value, (*path, index)) for index, value in enumerate(spec)]
    if not isinstance(spec, dict):
        problem = "is no list of values; write [a, b] or {log_uniform: [low, high], samples: n}"
        raise InputError(complain(document, path, problem, spec))
    try:
        drawn = LogUniform.model_validate(spec)
    except ValidationError as error:
        raise explain(
            error, document, [f"sweep.{key}.{name}" for name in LogUniform.model_fields], path
        ) from None
    if key == "base" or not drawn.log_uniform[0] < drawn.log_uniform[1]:
        raise InputError(
            complain(document, (*path, "log_uniform"), "needs a number's key and two bounds, low then high")
        )
    return [(value, path) for value in drawn.draw()]


def _resolve_value(study: Study, key: str, value: Any, document: Document, path: Path) -> Any:
    """The value that runs will have, as the models read it: text "1e-5" is the number."""
    if key == "base":
        names = [base.name for base in study.bases]
        if value not in names:
            raise InputError(complain(document, path, f"is no base; there are {', '.join(names)}", value))
        return value
    name = key.removeprefix("train.")
    now = lookup(study.train.model_dump(), name)[1]
    if isinstance(study.sweep[key], dict) and (isinstance(now, int) or name.endswith(("epochs", "steps"))):
        value = round(value)
    train = resolve_train(study.train, undot({name: value}), document, path, tuple(name.split(".")))
    return lookup(train.model_dump(), name)[1]
