"""Evaluation lines with planted effects, and the rows of runs that they belong to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from octavo.study import Study
from octavo.yaml_text import Document


def make_study(**values: Any) -> Study:
    """A study of a control and two variants with six seeds; nothing of it is trained."""
    variants = [
        {"name": "control", "recipe": "control"},
        {"name": "think", "recipe": "think"},
        {"name": "spore", "recipe": "spore"},
    ]
    return Study.parse(Document({"name": "planted", "seeds": 6, "variants": variants} | values, "study.yaml"))


def rows_of(study: Study, **changes: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A completed, healthy row for every run; `changes` by run id with underscores for dashes."""
    rows = []
    for run in study.expand():
        row = {"id": run.id, "variant": run.variant, "base": run.base, "seed": run.seed, "state": "completed"}
        row |= {"verdict": "healthy", "rescued": False}
        rows.append(row | dict(changes.get(run.id.replace("-", "_"), {})))
    return rows


def heldout_lines(
    study: Study,
    effects: Mapping[str, float],
    items: int = 40,
    families: int = 20,
    run_sd: float = 0.01,
    item_sd: float = 0.05,
    seed: int = 1,
) -> list[dict[str, Any]]:
    """Every run on its own and the control set: loss 2 + item + effect of `variant` or `variant@base` + run."""
    rng = np.random.default_rng(seed)
    difficulty, targets = rng.normal(0, 0.3, items), rng.integers(20, 60, items)
    lines = []
    for run in study.expand():
        shift = effects.get(f"{run.variant}@{run.base}", effects.get(run.variant, 0.0)) + rng.normal(
            0, run_sd
        )
        for owner in dict.fromkeys(["control", run.variant]):
            losses = 2 + difficulty + shift + rng.normal(0, item_sd, items)
            for number, (loss, count) in enumerate(zip(losses, targets, strict=True)):
                detail = {
                    "set": owner, "family": f"f{number % families}", "seen": True,
                    "loss_sum": float(loss * count), "targets": int(count), "characters": int(count) * 4,
                }  # fmt: skip
                lines.append(
                    {"suite": "heldout", "version": 1, "item": f"{owner}/e{number}", "item_sha": "i",
                     "prompt_sha": "p", "run": run.id, "score": float(loss), "detail": detail}
                )  # fmt: skip
    return lines


def right_or_wrong(
    study: Study, rates: Mapping[str, float], items: int = 80, seed: int = 0
) -> list[dict[str, Any]]:
    """Lines of a suite `tasks` whose scores are 0 or 1."""
    rng = np.random.default_rng(seed)
    return [
        {"suite": "tasks", "version": 1, "item": f"t{number}", "item_sha": "i", "prompt_sha": "p", "run": run.id,
         "score": int(rng.random() < rates[run.variant]), "detail": {"chars": number}}
        for run in study.expand()
        for number in range(items)
    ]  # fmt: skip
