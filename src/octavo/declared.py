"""The comparisons that a study declares: what is declared where nothing is said, and what cannot be compared."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from octavo.errors import InputError
from octavo.explain import complain, nearest
from octavo.overrides import lookup
from octavo.yaml_text import Document, Path

if TYPE_CHECKING:
    from octavo.expand import Run
    from octavo.settings import Comparison, Variant
    from octavo.study import Study

ALL = ["all"]
HELDOUT_METRICS = ("heldout_loss_control", "heldout_loss", "heldout_bits_per_character")
DOSE = "density"  # the option that is a dose


def declare_default(data: dict[str, Any]) -> None:
    """Every variant against the control, where the raw study (changed in place) says nothing and has one."""
    evaluate = data.get("evaluate")
    evaluate = {} if evaluate is None else evaluate
    variants = data.get("variants")
    if not isinstance(evaluate, dict) or "comparisons" in evaluate or not isinstance(variants, list):
        return
    controls = [v.get("name") for v in variants if isinstance(v, dict) and _is_control(v.get("recipe"))]
    data["evaluate"] = evaluate
    evaluate["comparisons"] = [{"control": controls[0]}] if controls and len(variants) > 1 else []


def control_variant(study: Study) -> str | None:
    """The variant whose recipe is `control`."""
    return next((variant.name for variant in study.variants if _is_control(variant.recipe)), None)


def check_comparisons(study: Study, runs: Sequence[Run], document: Document) -> None:
    """Raises `InputError` that names the place of a comparison that this study cannot make."""
    for index, one in enumerate(study.evaluate.comparisons or []):
        path: Path = ("evaluate", "comparisons", index)
        for key, problem in _problems(study, runs, one):
            raise InputError(complain(document, (*path, key), problem, getattr(one, key)))


def compared(study: Study, one: Comparison) -> list[str]:
    """The variants of a comparison, the control left out; `all` takes those that its kind is about."""
    if one.variants != ALL:
        return [name for name in one.variants or [] if name != one.control]
    others = [variant for variant in study.variants if variant.name != one.control]
    if one.kind == "trend":
        others = [variant for variant in others if variant.recipe == ["glyphs"] and dose(variant) is not None]
    return [variant.name for variant in others]


def dose(variant: Variant) -> float | None:
    """How dense a variant's symbols are; 0 for the control, None where that is no question."""
    if _is_control(variant.recipe):
        return 0.0
    found = variant.options.get(DOSE)
    return None if isinstance(found, bool) or not isinstance(found, int | float) else float(found)


def stratum(study: Study, run: Run) -> str:
    """What runs must have in common to be compared: the base and the swept settings, as JSON."""
    train = run.train.model_dump(mode="json")
    swept = {key: lookup(train, key.removeprefix("train."))[1] for key in study.sweep if key != "base"}
    return json.dumps({"base": run.base} | swept, sort_keys=True)


def _is_control(recipe: Any) -> bool:
    return recipe in ("control", ["control"])


def _problems(study: Study, runs: Sequence[Run], one: Comparison) -> Iterator[tuple[str, str]]:
    """(key, problem) of one comparison, the first that hinders the others first."""
    names = [variant.name for variant in study.variants]
    if one.control not in names:
        yield "control", f"is no variant; {_choices(one.control, names)}"
    for name in [] if one.variants == ALL else one.variants or []:
        if name not in names:
            yield "variants", f"holds {name!r}, which is no variant; {_choices(name, names)}"
    yield from _metric_problems(study, one.metric)
    chosen = compared(study, one)
    if not chosen:
        yield "variants", f"leaves nothing to compare with {one.control}; name another variant"
    if one.kind == "trend":
        yield from _trend_problems(study, one, chosen)
    yield from _common_runs(study, runs, one, chosen)


def _metric_problems(study: Study, metric: str) -> Iterator[tuple[str, str]]:
    suites = [suite.name for suite in study.evaluate.suites if suite.name != "heldout"]
    if metric in HELDOUT_METRICS or metric.split(".", maxsplit=1)[0] in suites:
        if metric == "heldout_loss_control" and control_variant(study) is None:
            yield (
                "metric",
                "is the loss on the control's set, and no variant has the recipe control; choose another",
            )
        return
    known = [*HELDOUT_METRICS, *suites]
    yield "metric", f"is not measured by this study; {_choices(metric, known)}, or SUITE.DETAIL of a suite"


def _trend_problems(study: Study, one: Comparison, chosen: list[str]) -> Iterator[tuple[str, str]]:
    by_name = {variant.name: variant for variant in study.variants}
    doses = {name: dose(by_name[name]) for name in [one.control, *chosen]}
    for name, found in doses.items():
        if found is None:
            key = "control" if name == one.control else "variants"
            yield key, f"holds {name}, which has no option {DOSE}; a trend is over {DOSE}"
    if len(set(doses.values())) < 3:
        yield "variants", f"gives fewer than three {DOSE} values with the control; a trend needs three"


def _common_runs(
    study: Study, runs: Sequence[Run], one: Comparison, chosen: list[str]
) -> Iterator[tuple[str, str]]:
    """Explicit names must share a base and swept settings with the control; `all` passes over those that do not."""
    strata: dict[str, set[str]] = {}
    bases: dict[str, set[str]] = {}
    for run in runs:
        strata.setdefault(run.variant, set()).add(stratum(study, run))
        bases.setdefault(run.variant, set()).add(run.base)
    for name in chosen if one.variants != ALL else []:
        if not strata[name] & strata[one.control]:
            yield "variants", f"holds {name}, which has no base in common with {one.control}"
        if one.kind == "interaction" and len(bases[name] & bases[one.control]) < 2:
            yield "variants", f"holds {name}, which does not run on two bases that {one.control} runs on too"
    if one.kind == "interaction" and one.variants == ALL and len(bases[one.control]) < 2:
        yield (
            "kind",
            "asks whether an effect is another on another base, and the control runs on one base only",
        )


def _choices(name: str, known: Sequence[str]) -> str:
    match = nearest(name, known)
    return f"did you mean {match}?" if match else f"there are {', '.join(known)}"
