"""The speed bench trains the same runs whatever the way: a comparison of different work would be worth nothing."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import SimpleNamespace
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


def fake_measure(seconds: dict[str, list[float]]) -> Any:
    """Arms that take so long; lanes hold 1.5 times the memory of one run, a gap of 2e-5 in float32."""
    from speed.worker import Done

    def measure(work, arms, repeats, tokens, record, once=(), deadline=None):
        measured.append([arm.name for arm in arms])
        record.open(work, tokens)
        for arm in arms:
            record.met(work, SimpleNamespace(arm=arm, error=None, load=5.0, warm_up=30.0, labels=100))
        for number in range(2):
            turn = record.begin_turn(work)
            for arm in arms:
                peak = 1500 if arm.kind == "fused" else 1000
                record.add(work, turn, arm, Done(seconds.get(arm.name, [9.0, 9.0])[number], peak, ""))
        for arm in arms:
            record.add_gap(work, arm, 2e-5)

    measured: list[list[str]] = []
    measure.measured = measured  # type: ignore[attr-defined]
    return measure


def test_the_full_bench_records_its_best_arm_and_the_quick_one_measures_against_it(
    monkeypatch, tmp_path: Path, capsys
):
    import throughput

    measure = fake_measure(
        {"trl bfloat16": [4.0, 6.0], "fused bfloat16": [1.0, 2.0], "fused float32": [3.0, 3.0]}
    )
    monkeypatch.setattr(throughput, "measure", measure)
    monkeypatch.setattr(throughput, "fast_dtype", lambda: "bfloat16")
    monkeypatch.setattr(throughput, "RECORD", tmp_path / "records" / "throughput.json")
    monkeypatch.setattr("sys.argv", ["throughput.py", "--sources", "builtin"])
    assert throughput.main() == 0
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert figures["speedup_vs_best_sequential"] == 3.5  # of turns of 4 and 3
    assert figures["interval"] == [3.0, 4.0]
    assert figures["speedup_fp32"] == 3.0
    assert figures["peak_over_single_run"] == 1.5
    assert figures["max_relative_difference"] == 2e-05
    assert list(figures["workloads"]) == ["builtin, attention", "builtin, all-linear"]
    everything, few = measure.measured
    assert len(everything) == 12  # five ways in two dtypes, and two kinds of autocast
    assert few == ["trl bfloat16", "fused bfloat16", "peft float32", "fused float32", "peft bfloat16"]
    monkeypatch.setattr("sys.argv", ["throughput.py", "--quick", "--sources", "builtin"])
    assert throughput.main() == 0
    assert measure.measured[-1][0] == "trl bfloat16"
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["best_sequential"] == "trl bfloat16"


def test_an_arm_that_cannot_be_had_is_said_and_left_out(monkeypatch, workload, capsys):
    import throughput
    from speed import worker
    from speed.record import Record

    class Stub:
        def __init__(self, arm, work, folder, tokens):
            self.arm, self.load, self.warm_up, self.labels = arm, 0.0, 0.0, 1
            self.error = "ModuleNotFoundError: No module named 'trl'" if arm.kind == "trl" else None

        def run(self):
            return worker.Done(1.0, None, "nowhere")

        def close(self):
            pass

    monkeypatch.setattr(throughput, "Worker", Stub)
    monkeypatch.setattr(throughput, "prepare", lambda work, folder: None)
    arms = [worker.Arm("trl", "bfloat16"), worker.Arm("fused", "bfloat16")]
    record = Record(None)
    throughput.measure(workload[0], arms, 3, 100, record)
    entry = record.workloads[workload[0].name]
    assert [turn["seconds"] for turn in entry["turns"]] == [{"fused bfloat16": 1.0}] * 3
    assert list(entry["errors"]) == ["trl bfloat16"]
    assert "trl bfloat16: cannot be measured here: ModuleNotFoundError" in capsys.readouterr().out


def test_a_worker_trains_in_a_process_of_its_own(workload):
    from speed.worker import Arm, Worker, read_adapters

    worker = Worker(Arm("fused", "float32"), *workload, 10_000)
    try:
        assert worker.error is None
        first, second = worker.run(), worker.run()
    finally:
        worker.close()
    assert first.seconds > 0
    assert first.peak is None or first.peak > 0
    assert len(read_adapters(second.adapters)) == 2
