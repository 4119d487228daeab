"""Comparisons as the report shows them: two labelled claims a comparison, what could have been found, lost runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from octavo.report.cards import readable
from octavo.report.numbers import DASH, as_float, fixed, listed

Entry = Mapping[str, Any]
CLAIMS = {"checkpoints": "these checkpoints", "recipe": "this recipe"}


def comparison_tables(entries: Sequence[Entry] | None) -> list[dict[str, Any]]:
    """The declared comparisons and the exploratory ones, a table each; none where there are no entries."""
    found = []
    for declared, title in ((True, "Declared before training"), (False, "Exploratory")):
        rows = [entry for entry in entries or [] if bool(entry.get("declared")) is declared]
        if rows:
            found.append({"title": title, "rows": [_row(entry) for entry in rows]})
    return found


def comparison_sentences(entries: Sequence[Entry] | None) -> list[str]:
    """For the head of the page: what the declared comparisons say of recipes."""
    declared = [entry for entry in entries or [] if entry.get("declared")]
    by_verdict: dict[str, list[str]] = {}
    for entry in declared:
        by_verdict.setdefault(str(_claim(entry, "recipe").get("verdict")), []).append(question(entry))
    if not declared:
        return ["No comparison was declared before training: what is compared on this page is exploratory."]
    parts = [f"{verdict}: {listed(names)}" for verdict, names in by_verdict.items()]
    return [f"Of recipes, by the declared comparisons: {'; '.join(parts)}."]


def question(entry: Entry) -> str:
    """What is compared with what, in words."""
    variant = entry.get("variant")
    name = " → ".join(map(str, variant)) if isinstance(variant, list) else str(variant)
    text = f"{name} against {entry.get('control')}"
    if entry.get("kind") == "trend":
        text = f"{entry.get('control')} → {name} by density"
    elif entry.get("kind") == "interaction":
        text += f" on {' and '.join(map(str, reversed(entry.get('bases') or [])))}"
    settings = entry.get("settings") or {}
    where = [f"{key.removeprefix('train.')} {value}" for key, value in settings.items()]
    return text + (f" ({', '.join(where)})" if where else "")


def _row(entry: Entry) -> dict[str, Any]:
    kind = str(entry.get("kind"))
    margin = f" within {fixed(entry.get('margin'), 4)}" if entry.get("margin") is not None else ""
    return {
        "question": question(entry),
        "kind": f"{kind}{margin}",
        "metric": readable(str(entry.get("metric"))),
        "runs": [_runs(group) for group in entry.get("groups") or []],
        "claims": [_shown(label, _claim(entry, key), entry) for key, label in CLAIMS.items()],
        "notes": [str(note) for note in entry.get("notes") or []] + _survival(entry),
    }


def _claim(entry: Entry, key: str) -> Mapping[str, Any]:
    found = entry.get(key)
    return found if isinstance(found, Mapping) else {}


def _runs(group: Mapping[str, Any]) -> str:
    """How many runs count of how many planned, and the mean with the spread of runs."""
    spread = "" if group.get("sd_of_runs") is None else f" ± {fixed(group['sd_of_runs'], 4)}"
    rescued = f", {group['rescued']} rescued" if group.get("rescued") else ""
    return (
        f"{group.get('name')}: {fixed(group.get('mean'), 4)}{spread}, "
        f"{group.get('counted')} of {group.get('planned')} runs{rescued}"
    )


def _shown(label: str, claim: Mapping[str, Any], entry: Entry) -> dict[str, str]:
    if not claim.get("possible"):
        why = str(claim.get("why") or "not computed")
        return dict.fromkeys(("estimate", "p", "adjusted", "least", "other"), DASH) | {
            "label": label, "verdict": "no claim possible", "why": why, "unit": "",
        }  # fmt: skip
    return {
        "label": label,
        "unit": _unit(claim),
        "estimate": f"{fixed(claim.get('estimate'), 4, sign=True)} {_interval(claim.get('interval'))}",
        "other": _interval(claim.get("interval_other_items")),
        "p": _probability(claim.get("p")),
        "adjusted": f"{_probability(claim.get('p_adjusted'))} ({entry.get('correction')}, {claim.get('family')})",
        "verdict": str(claim.get("verdict")),
        "least": _least(claim),
        "why": _tests(claim),
    }


def _unit(claim: Mapping[str, Any]) -> str:
    noun = {"family": "families", "item": "items", "run": "runs an arm"}.get(str(claim.get("unit")), "units")
    return f"{claim.get('units')} {noun}"


def _interval(bounds: Any) -> str:
    if not isinstance(bounds, list) or len(bounds) != 2:
        return DASH
    return f"[{fixed(bounds[0], 4, sign=True)}, {fixed(bounds[1], 4, sign=True)}]"


def _probability(p: Any) -> str:
    number = as_float(p)
    return DASH if number is None else "<0.0001" if number < 1e-4 else f"{number:.4f}"


def _least(claim: Mapping[str, Any]) -> str:
    """What would have been found four times in five; where nothing could have been, that is what is said."""
    least = claim.get("minimum_detectable")
    return "none, however large" if least is None else fixed(least, 4)


def _tests(claim: Mapping[str, Any]) -> str:
    tests = claim.get("tests")
    found = tests.items() if isinstance(tests, Mapping) else ()
    return ", ".join(f"{readable(str(name))} {_probability(p)}" for name, p in found)


def _survival(entry: Entry) -> list[str]:
    found = entry.get("survival")
    if not isinstance(found, Mapping):
        return []
    return [f"Whether as many runs complete: Fisher's exact p = {_probability(found.get('p'))}."]
