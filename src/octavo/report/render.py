"""results.json in, one HTML file out: it opens from disk, fetches nothing, and repeats byte for byte."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from octavo.errors import InputError
from octavo.report import cards, memory
from octavo.report.comparisons import comparison_tables
from octavo.report.curves import charts, panels
from octavo.report.headline import headline
from octavo.report.matrix import BASE_PREFIX, Losses, heat_rows
from octavo.report.numbers import DASH, count, fixed
from octavo.report.runs import Run, event_rows, run_rows, run_styles
from octavo.report.suites import suite_tables
from octavo.report.vitals import alarm_rows, threshold_rows, vitals_charts

if TYPE_CHECKING:
    from octavo.artifacts import Folder

HERE = Path(__file__).parent


def write_report(folder: Folder) -> Path:
    """Draw the report of a study folder from its results.json alone; returns the path of the HTML file.

    Raises InputError when there are no results yet or they cannot be read.
    """
    from octavo.artifacts import write_text_atomic

    path = Path(folder.results)
    try:
        results = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: no results yet; run `octavo run` or `octavo evaluate` first") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({error}); run `octavo evaluate` again") from error
    if not isinstance(results, dict):
        raise InputError(f"{path}: not a results file; run `octavo evaluate` again")
    write_text_atomic(folder.report, render(results))
    return Path(folder.report)


def render(results: Mapping[str, Any]) -> str:
    """Draw results (the keys of results.json; a missing section is left out or named as missing) as HTML."""
    environment = Environment(
        loader=FileSystemLoader(HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["readable"] = cards.readable
    # A stray surrogate in a generation must not keep the whole page from being written.
    text = environment.get_template("page.html").render(**_view(results))
    return text.encode("utf-8", "replace").decode("utf-8")


def _view(results: Mapping[str, Any]) -> dict[str, Any]:
    runs: list[Run] = list(results.get("runs") or [])
    losses = Losses(results)
    styles, legend = run_styles(runs)
    lead, sentences = headline(results, losses)
    common, differing = cards.split_common(
        cards.side_by_side(
            {str(run.get("id")): run.get("hyperparameters") or {} for run in runs}, null="none"
        )
    )
    data = [line for line in cards.side_by_side(results.get("data") or {}) if line[0] not in cards.REMARKS]
    evaluation = results.get("evaluation") or {}
    return {
        "css": Markup((HERE / "style.css").read_text(encoding="utf-8")),
        "title": _title(results),
        "subtitle": _subtitle(results),
        "lead": lead,
        "sentences": sentences,
        "criteria": [_criterion(entry) for entry in results.get("criteria") or []],
        "comparisons": comparison_tables(results.get("comparisons")),
        "runs": run_rows(runs, losses, styles),
        "control": losses.control,
        "legend": legend,
        "charts": charts(runs, losses, styles),
        "panels": panels(runs, styles),
        "suites": suite_tables(evaluation.get("suites")),
        "alarms": alarm_rows(runs),
        "vitals": vitals_charts(results, styles),
        "thresholds": threshold_rows(results),
        "columns": losses.columns,
        "heat": heat_rows(losses, runs),
        "generations": [_generation(entry, runs) for entry in evaluation.get("generations") or []],
        "data_names": list(results.get("data") or {}),
        "data_first": cards.first_lines(data),
        "data": data,
        "data_remarks": cards.remarks(results.get("data") or {}),
        "memory": memory.memory_bars(results.get("memory") or {}),
        "memory_parts": memory.memory_parts(results.get("memory") or {}),
        "memory_words": memory.memory_words(results.get("memory") or {}),
        "throughput": _throughput(results.get("throughput") or {}),
        "events": event_rows(runs),
        "bases": [_base(base) for base in results.get("bases") or []],
        "device": cards.pairs(results.get("device")),
        "versions": cards.pairs(results.get("versions")),
        "common": common,
        "differing": differing,
        "run_ids": [str(run.get("id")) for run in runs],
        "study": _study_text(results.get("study")),
        "dash": DASH,
    }


def _title(results: Mapping[str, Any]) -> str:
    study = results.get("study")
    if not isinstance(study, Mapping):
        return str(study or "Study")
    return str((study.get("report") or {}).get("title") or study.get("name") or "Study")


def _subtitle(results: Mapping[str, Any]) -> str:
    runs = results.get("runs") or []
    variants = len({run.get("variant") for run in runs})
    seeds = len({run.get("seed") for run in runs})
    parts = [f"{number} {name}{'' if number == 1 else 's'}" for number, name in
             ((variants, "variant"), (seeds, "seed"), (len(runs), "run"))]  # fmt: skip
    bases = ", ".join(str(base.get("name")) for base in results.get("bases") or [])
    return " · ".join([*parts, *([f"over {bases}"] if bases else [])])


def _criterion(entry: Mapping[str, Any]) -> dict[str, str]:
    met = {True: "met", False: "not met"}.get(entry.get("met"), "not measured")  # type: ignore[arg-type]
    evidence = entry.get("evidence")
    if isinstance(evidence, Mapping):
        evidence = ", ".join(f"{cards.readable(key)} {text}" for key, text in cards.pairs(evidence))
    elif isinstance(evidence, list):
        evidence = ", ".join(map(str, evidence))
    return {
        "name": cards.readable(str(entry.get("name"))),
        "met": met,
        "evidence": DASH if evidence is None else str(evidence),
    }


def _generation(entry: Mapping[str, Any], runs: list[Run]) -> tuple[str, list[tuple[str, str | None, str]]]:
    """(prompt, [(run or base, text or None, why there is none)]), base first; a run without an answer has None."""
    answers, reasons = entry.get("answers") or {}, entry.get("reasons") or {}
    bases = [name for name in answers if name.startswith(BASE_PREFIX)]
    names = dict.fromkeys([*bases, *(str(run.get("id")) for run in runs), *answers])
    prompt = entry.get("prompt")
    if isinstance(prompt, list):
        prompt = "\n".join(str(turn.get("content") if isinstance(turn, Mapping) else turn) for turn in prompt)
    return str(prompt), [
        (
            name,
            None if answers.get(name) is None else str(answers[name]),
            str(reasons.get(name, "not generated")),
        )
        for name in names
    ]


def _throughput(throughput: Mapping[str, Any]) -> list[tuple[str, str]]:
    names = {"tokens_per_second": "tokens a second", "label_tokens_per_second": "label tokens a second"}
    return [(label, fixed(throughput.get(key), 0)) for key, label in names.items()]


def _base(base: Mapping[str, Any]) -> tuple[str, str, str, str]:
    return (
        str(base.get("name")),
        count(base.get("parameters")),
        *(str(base.get(key) or DASH) for key in ("objective", "dtype")),
    )  # type: ignore[return-value]


def _study_text(study: Any) -> str:
    return yaml.safe_dump(study, allow_unicode=True, sort_keys=False) if isinstance(study, Mapping) else ""
