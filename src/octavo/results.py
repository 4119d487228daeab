"""results.json: everything the report is drawn from, gathered from the files of a study folder."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from octavo.artifacts import Folder, json_safe, read_jsonl
from octavo.criteria import judge
from octavo.declared import control_variant
from octavo.evaluation.summary import summarise
from octavo.expand import Run
from octavo.ledger import Ledger
from octavo.settings import Comparison
from octavo.study import Study
from octavo.study_folder import read_exploratory
from octavo.training.device import library_versions
from octavo.training.plan_file import plans_of
from octavo.vitals.figures import curves_of, figures_of

SCHEMA = 1

# a number, the name of one that is not finite, or None for what was not measured
Figure = float | str | None


def collect(study: Study, folder: Folder, device: dict[str, Any]) -> dict[str, Any]:
    """The content of results.json.

    Arguments:
        device: of this process, from `training.device.describe`; taken where nothing has been trained yet.

    Missing is None, never 0.
    """
    runs = study.expand()
    with Ledger(folder.ledger) as ledger:
        ledger.ensure(runs)
        rows = {row["run"]: row for row in ledger.rows()}
    plans = json.loads(folder.plan.read_text(encoding="utf-8"))["packs"] if folder.plan.exists() else {}
    lines = _lines(folder, "heldout")
    began: dict[str, Any] = next(iter(plans.values()), {})
    matrix = heldout_matrix(study, runs, lines)
    found: dict[str, Any] = {
        "schema": SCHEMA,
        "study": study.resolved(),
        "device": began.get("device") or device,
        "versions": began.get("versions") or library_versions(),
        "bases": [_base(base, plans) for base in study.bases],
        "runs": [_run(run, rows[run.id], folder, lines, matrix) for run in runs],
        "memory": _memory(plans),
        "throughput": _throughput(plans),
        "matrix": matrix,
        "vitals": {base.name: _vitals(folder, base.name) for base in study.bases},
        "evaluation": {
            "heldout": _families(lines),
            "generations": _generations(_lines(folder, "generations")),
            "suites": summarise(folder, {run.id: run.base for run in runs}),
        },
        "data": _cards(study, folder),
        "comparisons": None,
        "basins": None,
    }
    found["comparisons"] = _comparisons(study, folder, found["runs"])
    found["criteria"] = judge(study.criteria, found["runs"], found["memory"])
    return found


def _comparisons(study: Study, folder: Folder, rows: list[dict[str, Any]]) -> list[dict[str, Any]] | None:
    """What the comparisons found; None before anything was evaluated."""
    from octavo.evaluation.comparisons import compare

    files = sorted(folder.evaluation("heldout").parent.glob("*.jsonl"))
    if not files:
        return None
    declared = (Study.load(folder.study) if folder.study.exists() else study).evaluate.comparisons or []
    later = [Comparison.model_validate(one) for one in read_exploratory(folder)]
    return compare(study, declared, later, rows, {file.stem: read_jsonl(file) for file in files})


def _lines(folder: Folder, suite: str) -> list[dict[str, Any]]:
    path = folder.evaluation(suite)
    return read_jsonl(path) if path.exists() else []


def _base(base: Any, plans: dict[str, Any]) -> dict[str, Any]:
    plan = next(iter(plans_of(plans, base.name)), None)
    return {
        "name": base.name,
        "model": base.model,
        "parameters": plan["base_parameters"] if plan else None,
        "objective": base.objective,
        "dtype": plan["dtype"] if plan else None,
    }


def _vitals(folder: Folder, base: str) -> dict[str, Any] | None:
    """Thresholds in force, how often was read, and the base model's own figures; None where nothing was watched."""
    path = folder.out / "vitals" / f"{base}.json"
    if not path.exists():
        return None
    there = json.loads(path.read_text(encoding="utf-8"))
    return {
        "thresholds": there["thresholds"],
        "every": there["every"],
        "base": json_safe(figures_of(there["base"] or {})),
    }


def _run(
    run: Run, row: dict[str, Any], folder: Folder, lines: Sequence[dict[str, Any]], matrix: dict[str, Any]
) -> dict[str, Any]:
    metrics = read_jsonl(folder.metrics(run.id)) if folder.metrics(run.id).exists() else []
    events = read_jsonl(folder.events(run.id)) if folder.events(run.id).exists() else []
    last = metrics[-1] if metrics else {}
    own = [line for line in lines if line["run"] == run.id and line["detail"]["set"] == run.variant]
    weights = _weight_facts(folder, run)
    return {
        "id": run.id,
        "variant": run.variant,
        "base": run.base,
        "seed": run.seed,
        "hyperparameters": run.train.model_dump(mode="json"),
        "state": row["state"],
        "verdict": row["verdict"],
        "rescued": bool(row["rescued"]),
        "message": row["message"],
        "steps": last.get("step"),
        "tokens": last.get("tokens"),
        "label_tokens": last.get("label_tokens"),
        "trainable_parameters": _trainable(folder, run),
        "nonfinite_parameters": weights["nonfinite"],
        "unmoved_layers": weights["unmoved"],
        "train_loss": _ends([m["loss"] for m in metrics]),
        "heldout_loss": _mean_loss(own),
        "heldout_loss_control": _cell(matrix, run.id, matrix["control"]),
        "heldout_bits_per_character": _bits_per_character(own),
        "seconds": last.get("seconds"),
        "events": events,
        "curves": _curves(metrics),
        "vitals": json_safe(curves_of(metrics)),
    }


def _weight_facts(folder: Folder, run: Run) -> dict[str, Any]:
    """What the scan of a run's adapter or model found; None of what was not exported."""
    from octavo.vitals.check import check_adapter

    full = run.train.method == "full"
    place = folder.model(run.id) if full else folder.adapter(run.id)
    if not (place / ("config.json" if full else "adapter_config.json")).exists():
        return {"nonfinite": None, "unmoved": None}
    report = check_adapter(place)
    return {"nonfinite": report["nonfinite"], "unmoved": None if full else report["unmoved"]}


def _trainable(folder: Folder, run: Run) -> int | None:
    from octavo.yaml_text import read_yaml

    path = folder.run_settings(run.id)
    if not path.exists():
        return None
    return int(read_yaml(path.read_text(encoding="utf-8"), str(path)).value["trainable_parameters"])


def _ends(losses: Sequence[Any]) -> dict[str, Figure]:
    """Means of the first and last tenth of the steps; not finite where one of them is not, None without steps."""
    tenth = max(1, len(losses) // 10)
    return {"first": _mean(losses[:tenth]), "last": _mean(losses[-tenth:])}


def _mean(values: Sequence[Any]) -> Figure:
    return _quotient(values, len(values))


def _mean_loss(lines: Sequence[dict[str, Any]]) -> Figure:
    """Mean loss a target: sums over sums, as in training."""
    return _quotient(_loss_sums(lines), sum(line["detail"]["targets"] for line in lines))


def _bits_per_character(lines: Sequence[dict[str, Any]]) -> Figure:
    characters = sum(line["detail"]["characters"] for line in lines)
    return _quotient(_loss_sums(lines), characters * math.log(2))


def _loss_sums(lines: Sequence[dict[str, Any]]) -> list[Any]:
    return [line["detail"]["loss_sum"] for line in lines]


def _quotient(values: Sequence[Any], divisor: float) -> Figure:
    """The sum of numbers as files spell them over `divisor`: "nan" or "inf" where that is it, None without any."""
    return json_safe(sum(map(float, values)) / divisor) if values and divisor else None


def _curves(metrics: Sequence[dict[str, Any]]) -> dict[str, Any]:
    keys = ("step", "tokens", "loss", "lr", "grad_norm")
    heldout = [m for m in metrics if m["heldout_loss"] is not None]
    found: dict[str, Any] = {key: [m[key] for m in metrics] for key in keys}
    found["heldout"] = {"step": [m["step"] for m in heldout], "loss": [m["heldout_loss"] for m in heldout]}
    return found


def heldout_matrix(study: Study, runs: Sequence[Run], lines: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Mean held-out loss of runs and bases (rows) on the variants' sets (columns); None where not measured."""
    rows = [run.id for run in runs] + [f"base:{base.name}" for base in study.bases]
    columns = [variant.name for variant in study.variants]
    cells: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for line in lines:
        cells.setdefault((line["run"], line["detail"]["set"]), []).append(line)
    values = [[_mean_loss(cells.get((row, column), [])) for column in columns] for row in rows]
    return {"rows": rows, "columns": columns, "control": control_variant(study), "heldout_loss": values}


def _cell(matrix: dict[str, Any], row: str, column: str | None) -> Figure:
    if column is None or row not in matrix["rows"]:
        return None
    return matrix["heldout_loss"][matrix["rows"].index(row)][matrix["columns"].index(column)]


def _families(lines: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """Held-out loss by family of tasks, for each run on each set: rows of {run, set, family, seen, items, loss}."""
    if not lines:
        return None
    groups: dict[tuple[str, str, str, bool], list[dict[str, Any]]] = {}
    for line in lines:
        detail = line["detail"]
        groups.setdefault((line["run"], detail["set"], detail["family"], detail["seen"]), []).append(line)
    rows = [
        {"run": r, "set": s, "family": f, "seen": seen, "items": len(group), "loss": _mean_loss(group)}
        for (r, s, f, seen), group in groups.items()
    ]
    return {"version": lines[0]["version"], "rows": rows}


def _generations(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for line in lines:
        detail = line["detail"]
        entry = found.setdefault(line["item"], {"prompt": detail["prompt"], "answers": {}})
        entry["answers"][line["run"]] = detail["answer"]
        if "reason" in detail:
            entry.setdefault("reasons", {})[line["run"]] = detail["reason"]
    return list(found.values())


def _cards(study: Study, folder: Folder) -> dict[str, Any]:
    found = {}
    for variant in study.variants:
        path = folder.data(variant.name) / "quality.json"
        found[variant.name] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
    return found


def _memory(plans: dict[str, Any]) -> dict[str, Any]:
    """The pack with the largest share of its limit speaks for the study."""
    parts: dict[str, Any] = {
        "predicted_bytes": None,
        "peak_bytes": None,
        "limit_bytes": None,
        "by_part": None,
    }
    largest = -1.0
    for plan in plans.values():
        peak = plan["measured"]["peak_bytes"]
        share = (peak or 0) / plan["limit_bytes"]
        if share > largest:
            largest = share
            parts = {
                # what was measured is training; older plans know no evaluation
                "predicted_bytes": plan["predicted_bytes"].get("training", plan["predicted_bytes"]["peak"]),
                "peak_bytes": peak,
                "limit_bytes": plan["limit_bytes"],
                "by_part": plan["predicted_bytes"],
            }
    shortened = [plan["shortened_to"] for plan in plans.values() if plan.get("shortened_to") is not None]
    halvings = sum(len(plan.get("halvings") or ()) for plan in plans.values())
    return parts | {"shortened_to": min(shortened, default=None), "halvings": halvings or None}


def _throughput(plans: dict[str, Any]) -> dict[str, Any]:
    measured = [p["measured"] for p in plans.values() if p["measured"]["seconds"]]
    seconds = sum(m["seconds"] for m in measured)
    if not seconds:
        return {"tokens_per_second": None, "label_tokens_per_second": None}
    return {
        "tokens_per_second": sum(m["tokens"] for m in measured) / seconds,
        "label_tokens_per_second": sum(m["label_tokens"] for m in measured) / seconds,
    }
