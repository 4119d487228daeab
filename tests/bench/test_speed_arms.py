"""The speed bench trains the same runs whatever the way: a comparison of different work would be worth nothing."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.conftest import ROOT
from tests.training.studies import write_corpus

pytestmark = pytest.mark.filterwarnings(
    # of the libraries that are compared against
    "ignore::DeprecationWarning",
    "ignore::FutureWarning",
    "ignore::UserWarning",
)


@pytest.fixture(autouse=True)
def _bench_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "bench"))


@pytest.fixture
def workload(tiny, tmp_path: Path) -> tuple[Any, Path]:
    from speed.workload import Workload, prepare

    corpus = write_corpus(tmp_path / "corpus.jsonl", rows=80)
    settings = (f"bases.0.model={tiny.folder}", f"corpus.source={corpus}", "train.learning_rate=1e-2")
    work = Workload("builtin", "all-linear", steps=3, accumulation=2, runs=2, settings=settings)
    prepare(work, tmp_path / "data")
    return work, tmp_path / "data"


def train(kind: str, workload: tuple[Any, Path]) -> dict:
    from speed import ours, sequential
    from speed.workload import load, starts

    model, tasks, tokenizer = load(*workload, torch.float32)
    begin = starts(model, tasks)
    if kind == "fused":
        arm: Any = ours.Fused(model, tasks, 10_000)
    elif kind == "replicas":
        arm = ours.Replicas(model, tasks, 10_000, 2)
    else:
        kinds = {"peft": "Peft", "trl": "Trl", "trl-padding-free": "TrlPaddingFree"}
        arm = getattr(sequential, kinds[kind])(model, tasks, begin, tokenizer)
    arm.run()
    seconds, ended = arm.run()  # a second pass begins anew
    assert seconds > 0
    return ended


@pytest.mark.parametrize("kind", ["fused", "replicas", "trl", "trl-padding-free"])
def test_every_way_ends_with_the_adapters_of_the_plain_one(kind: str, workload, tmp_path: Path):
    if kind.startswith("trl") and importlib.util.find_spec("trl") is None:
        pytest.skip("trl is not installed: pip install 'octavo[bench]'")
    from speed.worker import largest_gap, write_adapters

    for name in ("peft", kind):
        write_adapters(tmp_path / name, train(name, workload))
    assert largest_gap(str(tmp_path / kind), str(tmp_path / "peft")) < 1e-3


def test_a_pass_counts_each_label_of_each_step_once(workload):
    from speed.sequential import IGNORED, examples
    from speed.workload import label_tokens, load

    _, tasks, _ = load(*workload, torch.float32)
    rows = [row for task in tasks for row in examples(task)]
    assert len(rows) == 2 * 3 * 2 * 2  # runs, steps, batches, examples
    assert sum(label != IGNORED for row in rows for label in row["labels"]) == label_tokens(tasks)


def test_the_interval_holds_the_median_and_both_are_of_paired_turns():
    from throughput import ratio

    speedup, interval = ratio({"seconds": [4.0, 6.0, 9.0]}, {"seconds": [2.0, 2.0, 3.0]})
    assert speedup == 3.0
    assert interval == [2.0, 3.0]


def test_a_best_arm_that_was_never_recorded_is_the_plain_one(monkeypatch, tmp_path: Path):
    import throughput

    monkeypatch.setattr(throughput, "RECORD", tmp_path / "none.json")
    assert throughput.recorded_best("bfloat16").name == "peft bfloat16"
    (tmp_path / "none.json").write_text('{"best_sequential": {"kind": "trl", "dtype": "bfloat16"}}')
    assert throughput.recorded_best("bfloat16").name == "trl bfloat16"
    assert throughput.recorded_best("float32").name == "peft float32"
