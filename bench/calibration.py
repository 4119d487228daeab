"""Do the statistics err as often as they say? Simulated studies without an effect, planted effects, and real runs.

Simulated: answers that are right or wrong, 200 items in 40 families, runs that vary by 3 points between seeds; 10,000
studies (--studies) at 6 and at 10 seeds an arm. Every test that decides a claim or is shown beside one is called as a
study calls it, thousands of studies at once. Planted effects of 5 and 20 points are held against what `octavo power`
promises from the spreads that the studies without an effect show.
Real: 24 runs (--runs) of one recipe on the embedded model, dealt into two "recipes" of 6 at random, many times.
False positives count at 5 %. Prints a table; last line: one JSON object.
    python bench/calibration.py [--quick] [--studies N] [--runs N] [--out FOLDER]
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from octavo.evaluation.comparisons.questions import INTERACTION
from octavo.evaluation.statistics.arms import Arm, Array, cluster_parts
from octavo.evaluation.statistics.components import components
from octavo.evaluation.statistics.holm import holm
from octavo.evaluation.statistics.mcnemar import mcnemar
from octavo.evaluation.statistics.paired_bootstrap import paired_bootstrap
from octavo.evaluation.statistics.power import Design
from octavo.evaluation.statistics.run_permutation import run_permutation
from octavo.evaluation.statistics.sign_flip import sign_flip
from octavo.evaluation.statistics.tost import tost
from octavo.evaluation.statistics.trend import dose_permutation, slope_coefficients
from octavo.evaluation.statistics.two_way_bootstrap import two_way_bootstrap
from octavo.evaluation.statistics.welch import contrast

ITEMS, CLUSTERS, RUN_SD = 200, 40, 0.03
ALPHA, DRAWS, CHUNK = 0.05, 999, 250
SEEDS, POINTS = (6, 10), (0.05, 0.20)
ARMS = 4
Rates = dict[str, list[NDArray[np.bool_] | np.bool_]]


def answers(rng: np.random.Generator, studies: int, seeds: int, shifts: list[float]) -> Array:
    """(N, G, S, items) right or wrong: families differ, runs differ, an arm is `shift` better on every item."""
    family = np.repeat(rng.uniform(0.25, 0.5, (studies, CLUSTERS)), ITEMS // CLUSTERS, -1)
    item = family + rng.uniform(-0.1, 0.1, (studies, ITEMS))
    run = rng.normal(0, RUN_SD, (studies, len(shifts), seeds, 1))
    chance = item[:, None, None] + run + np.array(shifts)[:, None, None]
    return (rng.random(chance.shape) < chance).astype(np.float64)


def by_cluster(scores: Array) -> Array:
    """(..., items) as sums of families (..., C)."""
    return scores.reshape(*scores.shape[:-1], CLUSTERS, ITEMS // CLUSTERS).sum(-1)


def arms_of(scores: Array, coefficients: list[float], chosen: list[int]) -> list[Arm]:
    """The chosen arms (of axis G) with their factors in an estimate."""
    sums = by_cluster(scores)
    weights = np.full(CLUSTERS, ITEMS / CLUSTERS)
    return [Arm(sums[:, g], weights, c) for g, c in zip(chosen, coefficients, strict=True)]


def recipe_tests(scores: Array, rng: np.random.Generator, found: Rates) -> None:
    """Every recipe test on studies of four arms that are one recipe."""
    runs = scores.mean(-1)  # (N, G, S)
    first, second = runs[:, 1], runs[:, 0]
    p = run_permutation(first, second, rng)
    found["run permutation"].append(p <= ALPHA)
    found["Welch"].append(contrast([first, second], [1, -1]).p <= ALPHA)
    both = two_way_bootstrap(arms_of(scores, [1, -1], [1, 0]), rng, ALPHA, DRAWS)
    found["two-way bootstrap"].append(both.excludes_zero)
    doses = np.repeat([0.0, 0.5, 1.0], runs.shape[-1])
    three = runs[:, :3].reshape(len(runs), -1)
    found["dose permutation"].append(dose_permutation(three, doses, rng, DRAWS) <= ALPHA)
    found["trend, Welch"].append(
        contrast([runs[:, g] for g in range(3)], slope_coefficients([0.0, 0.5, 1.0])).p <= ALPHA
    )
    four = contrast([runs[:, g] for g in (1, 0, 3, 2)], INTERACTION)
    found["interaction, Welch"].append(four.p <= ALPHA)
    family = np.stack([p, *(run_permutation(runs[:, g], second, rng) for g in (2, 3))], -1)
    found["(three under Holm)"].append((holm(family) <= ALPHA).any(-1))
    found["(items for runs)"].append(
        sign_flip(cluster_parts(arms_of(scores, [1, -1], [1, 0])), rng, DRAWS) <= ALPHA
    )


def equivalence_tests(rng: np.random.Generator, studies: int, seeds: int, found: Rates) -> None:
    """Recipes that differ by exactly the margin, 10 points: to call them equivalent is the error."""
    runs = answers(rng, studies, seeds, [0.0, 0.10]).mean(-1)
    found["TOST at its margin"].append(tost(contrast([runs[:, 1], runs[:, 0]], [1, -1]), 0.10) <= ALPHA)


def checkpoint_tests(rng: np.random.Generator, studies: int, found: Rates) -> None:
    """Two fixed checkpoints that are as good as each other over all items, though not on each family of them."""
    shape = (studies, 2, CLUSTERS, ITEMS // CLUSTERS)
    chance = rng.uniform(0.3, 0.6, (studies, 1, CLUSTERS, 1)) + rng.uniform(
        -0.1, 0.1, (studies, 2, CLUSTERS, 1)
    )
    scores = (rng.random(shape) < chance).astype(np.float64).reshape(studies, 2, ITEMS)
    arms = arms_of(scores[:, :, None], [1, -1], [1, 0])
    found["sign flip"].append(sign_flip(cluster_parts(arms), rng, DRAWS) <= ALPHA)
    found["paired bootstrap"].append(paired_bootstrap(arms, rng, ALPHA, DRAWS).excludes_zero)
    single = rng.uniform(0.2, 0.7, (studies, 1, ITEMS)) + rng.uniform(-0.1, 0.1, (studies, 2, ITEMS))
    right = rng.random(single.shape) < single  # items that have nothing in common, as McNemar's test asks for
    found["McNemar"].append(mcnemar(right[:, 0], right[:, 1]) <= ALPHA)


def chunks(total: int) -> Iterator[int]:
    """Sizes of the pieces in which `total` studies are simulated, so that memory stays small."""
    yield from (min(CHUNK, total - start) for start in range(0, total, CHUNK))


def null_rates(studies: int, rng: np.random.Generator) -> dict[str, float]:
    """Rejections among studies without an effect, by test and seeds."""
    found: Rates = defaultdict(list)
    for seeds in SEEDS:
        mine: Rates = defaultdict(list)
        for size in chunks(studies):
            recipe_tests(answers(rng, size, seeds, [0.0] * ARMS), rng, mine)
            equivalence_tests(rng, size, seeds, mine)
        for name, rejected in mine.items():
            found[f"{name}, {seeds} seeds"] = rejected
    for size in chunks(studies):
        checkpoint_tests(rng, size, found)
    return {name: float(np.concatenate(rejected).mean()) for name, rejected in found.items()}


def measured_design(rng: np.random.Generator, seeds: int) -> Design:
    """What a person would give `octavo power`: spreads as the studies without an effect show them."""
    weights = np.ones(ITEMS)
    spreads = [
        components([(arm, weights) for arm in study]) for study in answers(rng, 200, seeds, [0.0] * ARMS)
    ]
    run_sd = np.sqrt(np.mean([(one.run_sd or 0) ** 2 for one in spreads]))
    item_sd = np.sqrt(np.mean([one.item_sd**2 for one in spreads]))
    return Design(float(run_sd), float(item_sd), seeds, ITEMS, ALPHA)


def planted(studies: int, rng: np.random.Generator) -> list[dict[str, float]]:
    """How often planted effects are found by runs, beside the promise."""
    rows = []
    for seeds in SEEDS:
        design = measured_design(rng, seeds)
        for effect in POINTS:
            hits = []
            for size in chunks(studies):
                runs = answers(rng, size, seeds, [0.0, effect]).mean(-1)
                hits.append(run_permutation(runs[:, 1], runs[:, 0], rng) <= ALPHA)
            found = float(np.concatenate(hits).mean())
            promised = design.recipe_power(effect)
            rows.append({"seeds": seeds, "points": 100 * effect, "found": found, "promised": promised})
    return rows


def real_runs(count: int, steps: int, items: int, out: Path) -> tuple[Array, Array]:
    """(runs, items) summed losses and (items,) label tokens of `count` trained runs of the control recipe."""
    from octavo import pipeline
    from octavo.artifacts import Folder, read_jsonl
    from octavo.progress import open_progress
    from octavo.study import Study
    from octavo.yaml_text import Document

    train = {
        "lora": {"rank": 4}, "steps": steps, "batch_size": 2, "accumulation": 1, "learning_rate": 1e-3,
        "schedule": {"kind": "constant", "warmup_steps": 0}, "max_length": 128, "eval_every": 1000,
    }  # fmt: skip
    values = {
        "name": "calibration", "seeds": count, "variants": [{"name": "control", "recipe": "control"}],
        "corpus": {"examples": 4 * steps, "heldout": items}, "train": train,
        "lanes": {"strategy": 8}, "evaluate": {"generations": 0},
    }  # fmt: skip
    pipeline.run(Study.parse(Document(values, "calibration")), out, open_progress())
    lines = read_jsonl(Folder(out).evaluation("heldout"))
    names = sorted({line["run"] for line in lines if not line["run"].startswith("base:")})
    totals = np.array([[x["detail"]["loss_sum"] for x in lines if x["run"] == name] for name in names])
    return totals, np.array([x["detail"]["targets"] for x in lines if x["run"] == names[0]], dtype=np.float64)


def real_rates(totals: Array, weights: Array, deals: int, rng: np.random.Generator) -> dict[str, float]:
    """Real runs of one recipe dealt into two "recipes" of 6, each deal a study without an effect."""
    order = np.argsort(rng.random((deals, len(totals))), -1)
    found: Rates = defaultdict(list)
    for chosen in np.array_split(order[:, :12], max(1, deals // CHUNK)):
        arms = [Arm(totals[chosen[:, :6]], weights, 1.0), Arm(totals[chosen[:, 6:]], weights, -1.0)]
        runs = [arm.run_means for arm in arms]
        found["run permutation"].append(run_permutation(runs[0], runs[1], rng) <= ALPHA)
        found["Welch"].append(contrast(runs, [1, -1]).p <= ALPHA)
        found["two-way bootstrap"].append(two_way_bootstrap(arms, rng, ALPHA, DRAWS).excludes_zero)
        found["(items for runs)"].append(sign_flip(cluster_parts(arms), rng, DRAWS) <= ALPHA)
    return {name: float(np.concatenate(rejected).mean()) for name, rejected in found.items()}


def judged(rates: dict[str, float]) -> list[float]:
    """The rates that must be near 5 %; those in parentheses show what a family is, and what a mistake costs."""
    return [rate for name, rate in rates.items() if not name.startswith("(")]


def report(studies: int, runs: int, steps: int, items: int, out: Path) -> dict[str, Any]:
    """Everything; prints as it goes and returns the last line."""
    rng = np.random.default_rng(8)
    null = null_rates(studies, rng)
    for name, rate in null.items():
        print(f"{name:36} {rate:.4f}")
    effects = planted(studies, rng)
    for row in effects:
        print(
            f"{row['points']:.0f} points, {row['seeds']} seeds: found {row['found']:.3f}, "
            f"promised {row['promised']:.3f}"
        )
    totals, weights = real_runs(runs, steps, items, out)
    real = real_rates(totals, weights, 2000, rng)
    for name, rate in real.items():
        print(f"real runs, {name:25} {rate:.4f}")
    return {
        "false_positive_rate": max(judged(null)),
        "false_positive_rate_least": min(judged(null)),
        "power_20_points": min(row["found"] for row in effects if row["points"] > 19),
        "power_error": max(abs(row["found"] - row["promised"]) for row in effects),
        "simulated": studies,
        "runs": len(totals),
        "real_false_positive_rate": max(judged(real)),
        "real_false_positive_rate_least": min(judged(real)),
        "items_for_runs": [null[f"(items for runs), {SEEDS[0]} seeds"], real["(items for runs)"]],
        "by_test": null,
    }


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="half the studies, fewer steps of the real runs")
    parser.add_argument("--studies", type=int, help="simulated studies; 10,000, or 5,000 with --quick")
    parser.add_argument("--runs", type=int, default=24)
    parser.add_argument("--out", type=Path, help="keep the real runs there; the same folder continues")
    given = parser.parse_args()
    steps, items = (4, 24) if given.quick else (16, 48)
    studies = given.studies or (5000 if given.quick else 10_000)
    with tempfile.TemporaryDirectory() as temporary:
        out = given.out or Path(temporary) / "runs"
        print(json.dumps(report(studies, given.runs, steps, items, out)))


if __name__ == "__main__":
    main()
