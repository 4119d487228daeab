"""The comparisons of a study: declared ones first, then those that were asked later or come by themselves."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from octavo.declared import HELDOUT_METRICS, control_variant
from octavo.evaluation.comparisons.claims import CHECKPOINTS, RECIPE, Claim, checkpoint_claim, recipe_claim
from octavo.evaluation.comparisons.contrasts import Question, group_facts, with_readings
from octavo.evaluation.comparisons.corrections import correct
from octavo.evaluation.comparisons.groups import survival, warnings
from octavo.evaluation.comparisons.placebo import note_on_glyphs, over_placebos
from octavo.evaluation.comparisons.questions import Bench, questions
from octavo.evaluation.comparisons.readings import Lines, lower_is_better
from octavo.settings import Comparison
from octavo.study import Study

EXPLORATORY = "benjamini-hochberg"


def compare(
    study: Study,
    declared: Sequence[Comparison],
    later: Sequence[Comparison],
    rows: Sequence[Mapping[str, Any]],
    lines: Mapping[str, Lines],
) -> list[dict[str, Any]]:
    """What every comparison found, as results.json holds it.

    Arguments:
        declared: frozen before training. later: asked afterwards, so exploratory.
        rows: results.json's `runs`. lines: suite -> evaluation lines.

    An entry holds the groups with what became of their runs, and two labelled claims, `checkpoints` and `recipe`.
    """
    bench = Bench(study, rows, lines)
    entries: list[dict[str, Any]] = []
    asked: set[str] = set()
    for one, is_declared in _all(study, list(declared), later, lines):
        for question in questions(bench, one):
            if question.label not in asked and _any_reading(bench, question):
                asked.add(question.label)
                entries.append(_entry(bench, question, one, is_declared))
    correct(entries)
    return entries


def _all(
    study: Study, declared: list[Comparison], later: Sequence[Comparison], lines: Mapping[str, Lines]
) -> Iterator[tuple[Comparison, bool]]:
    """Every comparison and whether it was declared: a question that was declared is not asked again."""
    yield from ((one, True) for one in declared)
    yield from ((one, False) for one in later)
    yield from ((one, False) for one in over_placebos(study, declared))
    control = control_variant(study)
    for suite, of_suite in lines.items():
        scored = suite != "heldout" and any(line.get("score") is not None for line in of_suite)
        if scored and control is not None and len(study.variants) > 1:
            yield Comparison(control=control, metric=suite), False


def _any_reading(bench: Bench, question: Question) -> bool:
    """A suite that gave these runs nothing to answer is not shown; runs that died are."""
    readings = bench.readings(question.metric)
    return question.metric in HELDOUT_METRICS or any(
        readings.get(run) for group in question.groups for run in group.counted
    )


def _entry(bench: Bench, question: Question, one: Comparison, declared: bool) -> dict[str, Any]:
    variant, control = question.groups[0].name, question.groups[-1 if question.kind != "trend" else 0].name
    if question.kind == "interaction":
        control = question.groups[1].name
    notes = warnings(question.groups)
    if question.kind in ("difference", "equivalence") and (
        note := note_on_glyphs(bench.study, variant, control)
    ):
        notes.append(note)
    if question.metric == "heldout_loss":
        notes.append("Losses a token of different texts do not rank variants; bits per character do.")
    settled = _settled(bench, question)
    return {
        "kind": question.kind,
        "metric": question.metric,
        "lower_is_better": lower_is_better(question.metric),
        "declared": declared,
        "variant": [group.name for group in question.groups[1:]] if question.kind == "trend" else variant,
        "control": control,
        "bases": list(dict.fromkeys(group.facts["base"] for group in question.groups)),
        "settings": {k: v for k, v in json.loads(json.loads(question.label)[-1]).items() if k != "base"},
        "margin": question.margin,
        "alpha": question.alpha,
        "correction": one.correction if declared else EXPLORATORY,
        "groups": settled[0],
        "survival": survival(question.groups),
        "notes": notes + settled[1],
        CHECKPOINTS: settled[2],
        RECIPE: settled[3],
    }


def _settled(bench: Bench, question: Question) -> tuple[list[dict[str, Any]], list[str], Claim, Claim]:
    """Facts of the groups, notes and the two claims; claims that cannot be made say why."""
    if not question.fewest_runs:
        empty = [group.name for group in question.groups if not group.counted]
        why = f"no run of {' and '.join(dict.fromkeys(empty))} counts"
        nothing: Claim = {
            "possible": False,
            "why": why,
            "estimate": None,
            "interval": None,
            "tests": {},
            "p": None,
        }
        facts = [dict(group.facts) | {"mean": None, "sd_of_runs": None} for group in question.groups]
        return facts, [], {"claim": CHECKPOINTS} | nothing, {"claim": RECIPE} | nothing
    found = with_readings(question, bench.readings(question.metric))
    notes = []
    if found.table.left_out:
        notes.append(f"{found.table.left_out} items that not all of these runs answered are left out.")
    return group_facts(found), notes, checkpoint_claim(found), recipe_claim(found)
