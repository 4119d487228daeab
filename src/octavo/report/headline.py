"""What a study found, in plain words: what completed, the criteria, the losses, what may not be claimed."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from math import comb
from typing import Any

from octavo.report.cards import readable
from octavo.report.comparisons import comparison_sentences
from octavo.report.matrix import BASE_PREFIX, Losses
from octavo.report.numbers import as_finite, as_float, fixed, listed
from octavo.report.runs import Run

NUMBERS = (
    "No",
    "One",
    "Two",
    "Three",
    "Four",
    "Five",
    "Six",
    "Seven",
    "Eight",
    "Nine",
    "Ten",
    "Eleven",
    "Twelve",
)


def headline(results: Mapping[str, Any], losses: Losses) -> tuple[str, list[str]]:
    """The verdict: a leading sentence, then the sentences under it."""
    runs = list(results.get("runs") or [])
    criteria = list(results.get("criteria") or [])
    texts = [
        _unfinished(runs),
        _not_finite(runs),
        _unmet(criteria),
        *_losses(runs, losses),
        _bounds(results),
        seed_limits(runs),
    ]
    if results.get("comparisons"):
        texts += comparison_sentences(results["comparisons"])
    else:
        texts.append(
            "No statistical comparison was computed: differences on this page are differences of checkpoints."
        )
    return f"{_completed(runs)} {_criteria(criteria)}", [text for text in texts if text]


def _word(number: int) -> str:
    return NUMBERS[number] if number < len(NUMBERS) else f"{number:,}"


def _completed(runs: list[Run]) -> str:
    done = sum(run.get("state") == "completed" for run in runs)
    if not runs:
        return "There are no runs."
    if done == len(runs):
        return "The one run completed." if done == 1 else f"All {_word(done).lower()} runs completed."
    noun = "run" if len(runs) == 1 else "runs"
    return f"{_word(done) if done else 'None'} of {_word(len(runs)).lower()} {noun} completed."


def _unfinished(runs: list[Run]) -> str:
    by_state: dict[str, list[str]] = defaultdict(list)
    for run in runs:
        if run.get("state") != "completed":
            by_state[str(run.get("state") or "in an unknown state")].append(str(run.get("id")))
    parts = [
        f"{listed(names)} {'is' if len(names) == 1 else 'are'} {state}" for state, names in by_state.items()
    ]
    text = "; ".join(parts)
    return f"{text}: the figures of such runs are of an unfinished training." if text else ""


def _not_finite(runs: list[Run]) -> str:
    bad = [str(run.get("id")) for run in runs if as_float(run.get("nonfinite_parameters"))]
    return f"Weights that are not finite: {listed(bad)}." if bad else ""


def _criteria(criteria: list[Mapping[str, Any]]) -> str:
    if not criteria:
        return "No criteria were set."
    met = sum(entry.get("met") is True for entry in criteria)
    if met == len(criteria):
        return "The one criterion is met." if met == 1 else f"All {_word(met).lower()} criteria are met."
    total = f"{_word(len(criteria)).lower()} {'criterion' if len(criteria) == 1 else 'criteria'}"
    return f"{_word(met) if met else 'None'} of {total} {'is' if met < 2 else 'are'} met."


def _unmet(criteria: list[Mapping[str, Any]]) -> str:
    failed = [readable(str(entry.get("name"))) for entry in criteria if entry.get("met") is False]
    unknown = [readable(str(entry.get("name"))) for entry in criteria if entry.get("met") is None]
    parts = ([f"Not met: {listed(failed)}."] if failed else []) + (
        [f"Not measured: {listed(unknown)}."] if unknown else []
    )
    return " ".join(parts)


def _losses(runs: list[Run], losses: Losses) -> list[str]:
    """Own sets (each run against its base), then the set that all runs share (where they can be ranked)."""
    texts = []
    own = {str(run.get("id")): losses.to_base(run, str(run.get("variant"))) for run in runs}
    known = {name: delta for name, delta in own.items() if delta is not None}
    if known:
        best = min(known, key=lambda name: known[name])
        run = next(run for run in runs if str(run.get("id")) == best)
        variant = str(run.get("variant"))
        base = losses.value(f"{BASE_PREFIX}{run.get('base')}", variant)
        below = sum(delta < 0 for delta in known.values())
        texts.append(
            f"On its own held-out set {_share(below, len(known), len(runs))} a lower loss than the base; "
            f"the largest fall is that of {best}, to {fixed(losses.value(best, variant))} from "
            f"{fixed(base)} nats a token."
        )
    shared = {
        str(run.get("id")): loss
        for run in runs
        if (loss := as_finite(losses.value(str(run.get("id")), losses.control))) is not None
    }
    if shared:
        best = min(shared, key=lambda name: shared[name])
        bases = [row for row in losses.rows if row.startswith(BASE_PREFIX)]
        beside = [f"{fixed(losses.value(row, losses.control))} for {row}" for row in bases]
        against = f", against {listed(beside)}" if beside else ""
        texts.append(
            f"On the held-out set of {losses.control}, the same text for all, the lowest loss is "
            f"{fixed(shared[best])} ({best}){against}."
        )
    return texts or ["No held-out loss was measured."]


def _bounds(results: Mapping[str, Any]) -> str:
    """What the losses of bases that guess hidden tokens are."""
    bases = list(results.get("bases") or [])
    hiding = [str(base.get("name")) for base in bases if base.get("objective") == "masked_diffusion"]
    if not hiding:
        return ""
    beside = " They do not stand beside those of the other bases." if len(hiding) < len(bases) else ""
    return (
        f"Losses of {listed(hiding)} are of hidden tokens (masked diffusion): held-out ones are upper bounds, "
        f"estimated with the same tokens hidden for all runs; a training step's moves with how many it hides.{beside}"
    )


def _share(part: int, known: int, total: int) -> str:
    if part == known == total:
        return "every run has"
    noun = "run" if known == 1 else "runs"
    measured = f"{known} {noun}" if known == total else f"{known} {noun} measured"
    if part == known:
        return f"{'the' if part == 1 else 'all'} {measured} {'has' if part == 1 else 'have'}"
    return f"{part if part else 'none'} of {measured} {'has' if part < 2 else 'have'}"


def seeds_per_arm(runs: list[Run]) -> int:
    """The fewest seeds that an arm (variant, base, settings) completed, among arms that completed any."""
    seeds: dict[str, set[Any]] = defaultdict(set)
    for run in runs:
        settings = {key: value for key, value in (run.get("hyperparameters") or {}).items() if key != "seed"}
        arm = json.dumps([run.get("variant"), run.get("base"), settings], sort_keys=True, default=str)
        if run.get("state") == "completed":
            seeds[arm].add(run.get("seed"))
    return min((len(found) for found in seeds.values()), default=0)


def seed_limits(runs: list[Run]) -> str:
    """What the number of seeds lets one claim: a recipe is judged by runs, so one seed supports no claim."""
    if not runs:
        return ""
    fewest = seeds_per_arm(runs)
    if fewest < 2:
        how = "With one seed" if fewest else "Without a completed run"
        return (
            f"{how} no claim about a recipe is possible: another seed may move a run as far as another "
            "recipe does. What is shown compares these checkpoints only."
        )
    smallest = 2 / comb(2 * fewest, fewest)  # two-sided permutation test over run labels
    return (
        f"With {fewest} seeds an arm, a test that permutes runs between two arms cannot give p below "
        f"{smallest:.2g}; several comparisons need correspondingly more seeds."
    )
