"""`octavo power`: the seeds and items that an effect needs, from what a study has measured or from given spreads."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from octavo.artifacts import Folder, read_jsonl
from octavo.errors import InputError
from octavo.evaluation.comparisons.questions import Bench
from octavo.evaluation.comparisons.readings import is_finite, suite_of, tabulate
from octavo.evaluation.statistics.components import Components, components
from octavo.evaluation.statistics.power import Design, items_needed, items_needed_for_recipe, seeds_needed
from octavo.ledger import Ledger
from octavo.study import Study

if TYPE_CHECKING:
    from rich.table import Table

SEEDS = (1, 3, 4, 5, 6, 8, 12, 20)


@dataclass(frozen=True)
class Spread:
    """How much runs and answers vary, and where that was taken from."""

    run_sd: float
    item_sd: float
    items: int
    source: str


def measured(out: Path, metric: str) -> Components:
    """The spreads of a metric in a study folder, pooled over its arms.

    Raises:
        InputError: nothing was evaluated there, or the metric is not in it.
    """
    folder = Folder(out)
    path = folder.evaluation(suite_of(metric))
    if not folder.study.is_file() or not path.is_file():
        raise InputError(
            f"{out}: no {path.name} of an evaluation here; run `octavo evaluate`, or give the spreads"
        )
    study = Study.load(folder.study)
    with Ledger(folder.ledger) as ledger:
        rows = [row | {"id": row["run"]} for row in ledger.rows()]
    bench = Bench(study, rows, {suite_of(metric): read_jsonl(path)})
    readings = bench.readings(metric)
    arms = [
        [run["id"] for run in runs if readings.get(run["id"]) and is_finite(readings[run["id"]])]
        for runs in bench.arms.values()
    ]
    arms = [names for names in arms if names]
    if not arms:
        raise InputError(f"{out}: no run has a score of {metric}; name a metric that was measured there")
    table = tabulate(readings, [name for names in arms for name in names])
    blocks = [([table.totals[name] for name in names], table.weights[names[0]]) for names in arms]
    return components([(np.stack(totals), weights) for totals, weights in blocks])


def settle_spread(
    found: Components | None, run_sd: float | None, item_sd: float | None, items: int | None
) -> Spread:
    """What was given, else what was measured.

    Raises:
        InputError: a figure is neither given nor measured.
    """
    run_sd = run_sd if run_sd is not None or found is None else found.run_sd
    item_sd = item_sd if item_sd is not None or found is None else found.item_sd
    items = items if items is not None or found is None else found.items
    missing = {"--run-sd": run_sd, "--item-sd": item_sd, "--items": items}
    names = [name for name, value in missing.items() if value is None or math.isnan(value)]
    if names:
        why = "the study has one run an arm" if found else "no study folder was named"
        raise InputError(f"power: {why}; give {', '.join(names)} too")
    source = f"measured on {found.runs} runs" if found else "given"
    return Spread(float(run_sd or 0), float(item_sd or 0), int(items or 0), source)


def plan_power(
    spread: Spread, effect: float, alpha: float, comparisons: int, power: float, seeds: int
) -> dict[str, Any]:
    """What a difference of `effect` needs, where the first of `comparisons` claims has to pass alpha / comparisons."""
    design = Design(spread.run_sd, spread.item_sd, seeds, spread.items, alpha / comparisons)
    levels = sorted({max(2, spread.items // 4), spread.items, spread.items * 4})
    rows = [
        {
            "seeds": count,
            "power": [replace(design, seeds=count, items=items).recipe_power(effect) for items in levels],
            "minimum_detectable": replace(design, seeds=count).recipe_detectable(power)
            if count > 1
            else None,
        }
        for count in sorted({*SEEDS, seeds})
    ]
    return {
        "effect": effect,
        "run_sd": spread.run_sd,
        "item_sd": spread.item_sd,
        "source": spread.source,
        "items": spread.items,
        "seeds": seeds,
        "alpha": alpha,
        "comparisons": comparisons,
        "power": power,
        "recipe": {
            "power": design.recipe_power(effect),
            "seeds_needed": seeds_needed(design, effect, power),
            "items_needed": items_needed_for_recipe(design, effect, power),
            "minimum_detectable": design.recipe_detectable(power) if seeds > 1 else None,
        },
        "checkpoints": {
            "power": design.checkpoint_power(effect),
            "items_needed": items_needed(design, effect, power),
        },
        "by_seeds": {"items": levels, "rows": rows},
    }


def power_table(plan: Mapping[str, Any]) -> Table:
    """Power by seeds (rows) and items (columns)."""
    from rich.table import Table

    table = Table(title=f"power to find that a recipe differs by {plan['effect']:g}")
    table.add_column("seeds an arm", justify="right")
    for items in plan["by_seeds"]["items"]:
        table.add_column(f"{items:,} items", justify="right")
    table.add_column(f"found {plan['power']:.0%} of the time from", justify="right")
    for row in plan["by_seeds"]["rows"]:
        least = row["minimum_detectable"]
        table.add_row(
            str(row["seeds"]),
            *(f"{value:.0%}" for value in row["power"]),
            "never" if least is None else f"{least:.3g}",
        )
    return table


def power_words(plan: Mapping[str, Any]) -> list[str]:
    """The needs in sentences."""
    recipe, checkpoints = plan["recipe"], plan["checkpoints"]
    first = f"alpha {plan['alpha']:g}"
    if plan["comparisons"] > 1:
        strictest = plan["alpha"] / plan["comparisons"]
        first += f" over {plan['comparisons']} comparisons under Holm, the first at {strictest:.2g}"
    return [
        f"Spreads ({plan['source']}): {plan['run_sd']:.3g} between seeds, {plan['item_sd']:.3g} of an answer; {first}.",
        f"A claim about a recipe needs {_count(recipe['seeds_needed'], 'seeds an arm')} at {plan['items']:,} items, "
        f"or {_count(recipe['items_needed'], 'items')} at {plan['seeds']} seeds.",
        f"A claim about two checkpoints needs {_count(checkpoints['items_needed'], 'items')}, which says nothing of "
        "recipes.",
    ]


def _count(number: int | None, noun: str) -> str:
    return f"more {noun} than can be had" if number is None else f"{number:,} {noun}"
