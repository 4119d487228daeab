"""Adapters of any tool compared on one base without a study: suites in one pass, paired claims about checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from octavo.artifacts import json_safe
from octavo.corpus.encode import Encoder
from octavo.errors import InputError
from octavo.evaluation.answering import Asker
from octavo.evaluation.chosen import Chosen
from octavo.evaluation.comparisons.claims import checkpoint_claim, recipe_claim
from octavo.evaluation.comparisons.contrasts import Question, with_readings
from octavo.evaluation.comparisons.groups import Group, gather
from octavo.evaluation.comparisons.readings import Readings, read_metric
from octavo.evaluation.contestants import Contestants
from octavo.evaluation.lines import Kept, chances, measure
from octavo.evaluation.statistics.benjamini_hochberg import benjamini_hochberg
from octavo.evaluation.summary import rows_of
from octavo.lanes.base import BaseModel
from octavo.models.load import load_model, load_tokenizer
from octavo.models.resolve import resolve_base
from octavo.objectives.objective import make_objective
from octavo.settings import Train
from octavo.speaking.named import Named
from octavo.training.device import pick_device, pick_dtype
from octavo.training.plan import most_tokens

if TYPE_CHECKING:
    from rich.table import Table


@dataclass(frozen=True)
class Pair:
    """Two contestants on one metric.

    Attributes:
        first, second: their names; the estimate is first less second. suite, metric: what was measured.
        corrected_p: Benjamini and Hochberg over all pairs and metrics of the call: none was declared beforehand.
        checkpoints, recipe: the two claims; of single adapters none about a recipe is possible.
    """

    first: str
    second: str
    suite: str
    metric: str
    corrected_p: float | None
    checkpoints: dict[str, Any]
    recipe: dict[str, Any]


def compare_adapters(
    named: Sequence[Named], suites: Sequence[Chosen], tell: Callable[[str], None] = lambda _: None
) -> dict[str, Any]:
    """Measure adapters and their base, and set each adapter against the base and against the one before it.

    Returns, ready for JSON, {base, runs, suites, pairs, lines}: suites as `summary.summarise` has them.

    Raises:
        InputError: no adapter, not one base, an adapter that cannot be read; no suite.
    """
    if not named or any(one.adapter is None for one in named):
        raise InputError("evaluate: --adapters takes adapter folders, OUT/RUN or OUT")
    if len({(one.base.model_dump_json(), one.directory) for one in named}) > 1:
        raise InputError(
            "evaluate: these adapters stand on several bases; name one with --base, or evaluate in turn"
        )
    if not suites:
        raise InputError(
            "evaluate: say what to measure, e.g. --suite items=mine.jsonl or --suite truthfulqa=FILE.csv"
        )
    asker = _asker(named)
    found: dict[str, Any] = {"base": named[0].base.model, "runs": list(asker.contestants.lanes), "suites": {}}
    readings: dict[tuple[str, str], Readings] = {}
    lines: dict[str, list[dict[str, Any]]] = {}
    for suite in suites:
        items = suite.items()
        rows = measure(asker, suite, items, Kept(None, ""), tell)
        fact = {
            "version": suite.suite.version,
            "rule": suite.suite.rule,
            "says": suite.suite.says,
            "unit": suite.suite.unit,
            "metric": suite.suite.metric,
            "chance": {named[0].base.name: chances(asker, suite, items)},
        }
        base_of = dict.fromkeys(asker.contestants.lanes, named[0].base.name)
        found["suites"][suite.name] = fact | {"rows": rows_of(rows, fact, base_of)}
        lines[suite.name] = rows
        for metric in dict.fromkeys(row["metric"] for row in found["suites"][suite.name]["rows"]):
            key = suite.name if metric == suite.suite.metric else f"{suite.name}.{metric}"
            names = {name: name for name in asker.contestants.lanes}
            readings[suite.name, metric] = read_metric(key, rows, names, None)
    found["pairs"] = [asdict(pair) for pair in _pairs(asker.contestants, readings)]
    found["lines"] = lines
    asker.contestants.close()
    return json_safe(found)


def _asker(named: Sequence[Named]) -> Asker:
    base = named[0].base
    source = resolve_base(base, named[0].directory)
    device = pick_device()
    model = BaseModel(load_model(source, pick_dtype(base.dtype, device)).to(device))
    adapters = [(one.name, one.adapter) for one in named if one.adapter is not None]
    encoder = Encoder(load_tokenizer(source), None, base.eos, base.pad)
    contestants = Contestants(model, base.name, adapters)
    return Asker(contestants, encoder, most_tokens(device.type), None, make_objective(base, source, Train()))


def _pairs(contestants: Contestants, readings: dict[tuple[str, str], Readings]) -> list[Pair]:
    adapters = [name for name in contestants.lanes if name != contestants.base_key]
    couples = [(name, contestants.base_key) for name in adapters]
    couples += [(later, earlier) for earlier, later in pairwise(adapters)]
    found = []
    for (suite, metric), read in readings.items():
        for first, second in couples:
            question = Question(
                "difference", metric, [_group(first, read), _group(second, read)], [1.0, -1.0],
                f"{suite} {metric} {first} {second}",
            )  # fmt: skip
            if not question.fewest_runs:
                nothing = {"possible": False, "why": "a score was refused or is not there", "p": None}
                found.append(Pair(first, second, suite, metric, None, nothing, nothing))
                continue
            contrast = with_readings(question, read)
            claims = checkpoint_claim(contrast), recipe_claim(contrast)
            found.append(Pair(first, second, suite, metric, None, *claims))
    return _corrected(found)


def _group(name: str, readings: Readings) -> Group:
    row = {"id": name, "base": "", "state": "completed", "verdict": "healthy", "rescued": False}
    return gather(name, name, [row], readings, False)


def _corrected(pairs: Sequence[Pair]) -> list[Pair]:
    import numpy as np

    known = [one.checkpoints["p"] for one in pairs if one.checkpoints["p"] is not None]
    ps = iter(benjamini_hochberg(np.array(known, dtype=np.float64)).tolist() if known else [])
    return [
        Pair(**{**vars(one), "corrected_p": None if one.checkpoints["p"] is None else next(ps)})
        for one in pairs
    ]


def pair_table(found: dict[str, Any]) -> Table:
    """The pairs for a terminal."""
    from rich.table import Table

    table = Table(
        "pair", "metric", "difference", "95 % interval", "p", "corrected", title="these checkpoints"
    )
    for pair in found["pairs"]:
        claim = pair["checkpoints"]
        cells = [str(claim.get("why") or ""), "", "", ""]
        if claim["possible"]:
            low, high = claim["interval"] or (None, None)
            cells = [
                _number(claim["estimate"], "+"),
                f"{_number(low, '+')} to {_number(high, '+')}",
                _number(claim["p"]),
                _number(pair["corrected_p"]),
            ]
        table.add_row(f"{pair['first']} - {pair['second']}", f"{pair['suite']} {pair['metric']}", *cells)
    return table


def score_table(found: dict[str, Any]) -> Table:
    """Means beside chance for a terminal."""
    from rich.table import Table

    table = Table("run", "suite", "metric", "items", "mean", "best constant answer")
    for name, suite in found["suites"].items():
        for row in suite["rows"]:
            if row["group"] is None:
                mean = f"{row['refused']} refused" if row["refused"] else _number(row["mean"])
                table.add_row(row["run"], name, row["metric"], str(row["n"]), mean, _number(row["chance"]))
    return table


def _number(value: float | None, sign: str = "") -> str:
    return "-" if value is None else f"{value:{sign}.4f}"
