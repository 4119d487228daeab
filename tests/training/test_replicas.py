"""Runs on models of their own: the same numbers as in lanes, and a failure that stays with its run."""

from __future__ import annotations

import itertools
import json
import math
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch

from octavo import pipeline
from octavo.artifacts import Folder, read_jsonl
from octavo.errors import InputError
from octavo.lanes.shortage import SampleTooLarge
from octavo.study import Study
from octavo.training import replica_setup, replicas, shorter
from octavo.training.gate import Gate
from octavo.training.loop import PackTrainer
from octavo.training.replica_pool import Job, Memory, ReplicaPool
from tests.models.makers import tiny_base
from tests.training.children import Fault, run_child
from tests.training.studies import (
    Notes,
    adapter_hashes,
    largest_gap,
    ledger_rows,
    load_study,
    memory_needed,
    settings,
    train_only,
    write_corpus,
)
from tests.training.test_bases import wide_base

FAST = {"executor": "replicas", "stagger_seconds": 0}
RUNS = ["control-s0", "glyphs-s0"]


def make_study(folder: Path, **changes: Any) -> Study:
    """Two variants on a tiny base, dropout on, as replicas."""
    base = tiny_base(folder / "base")
    corpus = write_corpus(folder / "corpus.jsonl")
    return load_study(folder / "study.yaml", settings(base, corpus, **{"lanes": FAST, **changes}))


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return make_study(tmp_path_factory.mktemp("replicas"))


@pytest.fixture(scope="module")
def done(study: Study, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("done") / "out"
    pipeline.run(study, out)
    return out


@pytest.fixture(scope="module")
def fused(study: Study, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("fused")
    values = study.resolved() | {"lanes": {"executor": "fused"}, "vitals": None}
    unset = {key: value for key, value in values.items() if value is not None} | {"vitals": None}
    for base in unset["bases"]:
        base.update({"block_size": None, "mask_token": None})
    pipeline.run(load_study(out / "study.yaml", unset), out / "out")
    return out / "out"


def test_replicas_end_with_the_adapters_of_lanes(done: Path, fused: Path):
    assert list(adapter_hashes(done)) == RUNS
    assert largest_gap(done, fused) <= 1e-4
    # on equal cuts of a window every product is the same one
    assert adapter_hashes(done) == adapter_hashes(fused)


def test_records_are_those_of_lanes(done: Path, fused: Path):
    for run in RUNS:
        mine, theirs = (read_jsonl(Folder(out).metrics(run)) for out in (done, fused))
        for row in mine + theirs:
            del row["seconds"]
        assert mine == theirs
        names = {p.relative_to(Folder(done).run(run)) for p in Folder(done).run(run).rglob("*")}
        assert names == {p.relative_to(Folder(fused).run(run)) for p in Folder(fused).run(run).rglob("*")}
    assert {row["state"] for row in ledger_rows(done).values()} == {"completed"}


def test_results_tell_of_all_replicas_together(done: Path):
    results = json.loads(Folder(done).results.read_text())
    assert results["bases"][0]["parameters"] > 0
    assert results["memory"]["predicted_bytes"] > 0
    assert results["throughput"]["tokens_per_second"] > 0
    packs = json.loads(Folder(done).plan.read_text())["packs"]
    assert packs["*/replicas"]["lanes"] == 2
    assert packs["*/replicas"]["measured"]["tokens"] == sum(run["tokens"] for run in results["runs"])
    one = packs["tiny/replica-lora"]["predicted_bytes"]["training"]
    assert packs["*/replicas"]["predicted_bytes"]["training"] == 2 * one


@pytest.mark.parametrize("step", [1, 3])
def test_a_killed_study_goes_on_bit_for_bit(study: Study, done: Path, tmp_path: Path, step: int):
    file = study.directory / "study.yaml"
    code, log = run_child(file, tmp_path, Fault("step", step, "glyphs-s0"))
    assert code == -9, log
    assert "training" in {row["state"] for row in ledger_rows(tmp_path).values()}
    code, log = run_child(file, tmp_path)
    assert code == 0, log
    assert adapter_hashes(tmp_path) == adapter_hashes(done)
    assert [row["step"] for row in read_jsonl(Folder(tmp_path).metrics("glyphs-s0"))] == [1, 2, 3, 4, 5]


def test_a_failed_run_leaves_the_others_alone(study: Study, done: Path, tmp_path: Path):
    def fail(trainer: PackTrainer) -> None:
        if "control-s0" in trainer.tasks and trainer.window_number == 3:
            raise RuntimeError("a fault of its own")

    results = pipeline.run(study, tmp_path, after_window=fail)
    assert {run["id"]: run["state"] for run in results["runs"]} == {
        "control-s0": "failed",
        "glyphs-s0": "completed",
    }
    assert adapter_hashes(tmp_path) == {"glyphs-s0": adapter_hashes(done)["glyphs-s0"]}
    assert ledger_rows(tmp_path)["control-s0"]["message"] == "RuntimeError: a fault of its own"
    event = read_jsonl(Folder(tmp_path).events("control-s0"))[-1]
    assert event["kind"] == "failed"
    assert event["step"] == 2
    # the same command tries again, from its last checkpoint
    pipeline.run(study, tmp_path)
    assert adapter_hashes(tmp_path) == adapter_hashes(done)


def test_a_run_without_memory_is_tried_again_alone(
    study: Study, done: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    real, threads = replicas.load_model, []

    def load(*arguments: Any) -> Any:
        threads.append(threading.current_thread().name)
        if threads == ["control-s0"]:
            raise MemoryError
        return real(*arguments)

    monkeypatch.setattr(replicas, "load_model", load)
    notes = Notes()
    train_only(study, tmp_path, progress=notes)
    assert threads == ["control-s0", "glyphs-s0", "control-s0"]
    assert any(
        "control-s0: out of memory beside others; tried again alone" in text for text in notes.messages
    )
    assert adapter_hashes(tmp_path) == adapter_hashes(done)


def test_a_run_that_never_gets_memory_has_failed(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    real = replicas.load_model

    def load(*arguments: Any) -> Any:
        if threading.current_thread().name == "control-s0":
            raise MemoryError("no room")
        return real(*arguments)

    monkeypatch.setattr(replicas, "load_model", load)
    folder = train_only(study, tmp_path)
    assert {run: row["state"] for run, row in ledger_rows(tmp_path).items()} == {
        "control-s0": "failed",
        "glyphs-s0": "completed",
    }
    actions = [event["action"] for event in read_jsonl(folder.events("control-s0"))]
    assert actions == ["tried again alone after the others", "the others go on; the same command tries again"]


def test_an_example_too_large_beside_others_is_tried_again_alone(study: Study, done: Path, tmp_path: Path):
    tries: list[str] = []

    def refuse(trainer: PackTrainer) -> None:
        if "control-s0" in trainer.tasks and trainer.window_number == 2:
            tries.append("control-s0")
            if len(tries) == 1:
                raise SampleTooLarge("one example of 200 tokens does not fit")

    train_only(study, tmp_path, refuse)
    assert tries == ["control-s0", "control-s0"]
    assert adapter_hashes(tmp_path) == adapter_hashes(done)


def test_examples_are_cut_where_one_does_not_fit_and_the_study_allows_it(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for module in (shorter, replica_setup):
        monkeypatch.setattr(module, "SHORTEST", 96)
    monkeypatch.setattr(shorter.shortened, "__defaults__", (96,))
    lanes = {"lanes": {**FAST, "memory": "0.1MiB", "max_parallel": 1, "allow_shorter": True}}
    values = settings(Path(study.bases[0].model), study.corpus.source[0].source, **lanes)
    needed = memory_needed(load_study(tmp_path / "study.yaml", values), tmp_path / "none")
    values["lanes"] |= {"memory": needed, "allow_shorter": False}
    with pytest.raises(InputError, match="does not fit into memory"):
        train_only(load_study(tmp_path / "study.yaml", values), tmp_path / "refused")
    values["lanes"]["allow_shorter"] = True
    notes = Notes()
    folder = train_only(load_study(tmp_path / "study.yaml", values), tmp_path / "out", progress=notes)
    assert any("examples are cut at 96 tokens" in text for text in notes.messages)
    assert json.loads(folder.plan.read_text())["packs"]["tiny/replica-lora"]["shortened_to"] == 96
    assert {row["state"] for row in ledger_rows(tmp_path / "out").values()} == {"completed"}


def test_a_nan_is_quarantined_in_its_own_run(study: Study, done: Path, tmp_path: Path):
    def poison(trainer: PackTrainer) -> None:
        if "control-s0" in trainer.tasks and trainer.window_number == 3:
            trainer.bank.flat_KP[0, 5] = math.nan

    folder = train_only(study, tmp_path, poison)
    rows = ledger_rows(tmp_path)
    assert rows["control-s0"]["state"] == "quarantined"
    assert rows["control-s0"]["verdict"] == "dead"
    assert (folder.checkpoints("control-s0") / "last-good.safetensors").exists()
    assert adapter_hashes(tmp_path) == {"glyphs-s0": adapter_hashes(done)["glyphs-s0"]}
    events = read_jsonl(folder.events("control-s0"))
    assert [(event["kind"], event["step"]) for event in events] == [("nonfinite", 3)]


class OpenGate(Gate):
    """Nobody is ever alone: for windows that wait for each other, on models that compile nothing."""

    @contextmanager
    def alone(self) -> Iterator[None]:
        yield


def test_runs_of_different_bases_train_at_the_same_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(replicas, "Gate", OpenGate)
    bases = [
        {"name": "narrow", "model": str(tiny_base(tmp_path / "narrow")), "dtype": "float32"},
        {"name": "wide", "model": str(wide_base(tmp_path / "wide")), "dtype": "float32"},
    ]
    variants = [{"name": "control", "recipe": "control"}]
    study = make_study(tmp_path, bases=bases, variants=variants, sweep={"base": ["narrow", "wide"]})
    met = threading.Barrier(2)

    def meet(trainer: PackTrainer) -> None:
        if trainer.window_number == 1:
            met.wait(30)  # breaks, and fails both runs, unless both are under way

    train_only(study, tmp_path / "out", meet)
    assert {row["state"] for row in ledger_rows(tmp_path / "out").values()} == {"completed"}


def test_loading_in_another_type_leaves_those_who_train_alone(
    study: Study, done: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    real = replicas.load_model

    def load(*arguments: Any) -> Any:
        torch.set_default_dtype(torch.bfloat16)  # the whole process's, as transformers sets it while it loads
        try:
            time.sleep(0.3)
        finally:
            torch.set_default_dtype(torch.float32)
        return real(*arguments)

    monkeypatch.setattr(replicas, "load_model", load)
    train_only(study, tmp_path)
    assert adapter_hashes(tmp_path) == adapter_hashes(done)


def run_pool(pool: ReplicaPool, works: list[Any], size: int = 0) -> list[str]:
    """Work functions off; returns what failed."""
    failed: list[str] = []
    jobs = [
        Job(f"job{i}", "one", size, work, lambda text, again: failed.append(text))
        for i, work in enumerate(works)
    ]
    pool.run(jobs)
    return failed


def make_pool(
    parallel: int, stagger: float = 0.0, limit: int = 2**40, notes: list[str] | None = None
) -> ReplicaPool:
    said = [] if notes is None else notes
    return ReplicaPool(Memory(torch.device("cpu"), limit), parallel, stagger, said.append)


def test_no_more_than_max_parallel_at_once():
    now, most = [0], [0]
    changed = threading.Condition()

    def work(_stop: threading.Event) -> None:
        with changed:
            now[0] += 1
            most[0] = max(most[0], now[0])
            changed.notify_all()
            changed.wait_for(lambda: most[0] >= 2, timeout=30)
        time.sleep(0.1)  # for a third, were it started
        now[0] -= 1

    assert run_pool(make_pool(2), [work] * 5) == []
    assert most[0] == 2


def test_starts_are_staggered_by_the_clock():
    ticks = [0.0]

    def clock() -> float:
        ticks[0] += 1.0
        return ticks[0]

    started: list[float] = []
    pool = make_pool(4)
    pool.clock, pool.stagger_seconds = clock, 7.0
    assert run_pool(pool, [lambda _stop: started.append(ticks[0])] * 3) == []
    assert all(later - earlier >= 7.0 for earlier, later in itertools.pairwise(started))


def test_a_replica_waits_until_memory_is_free():
    notes: list[str] = []
    most, now = [0], [0]

    def work(_stop: threading.Event) -> None:
        now[0] += 1
        most[0] = max(most[0], now[0])
        time.sleep(0.6)
        now[0] -= 1

    gib = 2**30
    assert run_pool(make_pool(3, limit=gib + gib // 2, notes=notes), [work] * 2, size=gib) == []
    assert most[0] == 1
    assert any("waits for 1.00 GiB of memory" in note for note in notes)


def test_what_replicas_took_replaces_what_was_predicted(monkeypatch: pytest.MonkeyPatch):
    memory = Memory(torch.device("cpu"), 2**40)
    job = Job("a", "one", 5 * 2**30, lambda _stop: None, lambda _text, _again: None)
    assert memory.need(job) == 5 * 2**30
    monkeypatch.setattr(Memory, "used", property(lambda self: 2**30))
    memory.look([job, job])
    memory.ended(job)
    assert memory.need(job) == int(2**29 * 1.1)


def test_an_error_that_concerns_all_ends_all():
    ended: list[bool] = []

    def wrong(_stop: threading.Event) -> None:
        raise InputError("the study is wrong")

    def long(stop: threading.Event) -> None:
        ended.append(stop.wait(30))

    with pytest.raises(InputError, match="the study is wrong"):
        run_pool(make_pool(2), [long, wrong, long])
    assert ended == [True]


def test_an_interrupted_study_goes_on_bit_for_bit(study: Study, done: Path, tmp_path: Path):
    file = study.directory / "study.yaml"
    code, log = run_child(file, tmp_path, Fault("step", 2, "glyphs-s0", signal.SIGINT))
    assert code == 130, log
    assert {row["state"] for row in ledger_rows(tmp_path).values()} <= {"queued", "completed"}
    code, log = run_child(file, tmp_path)
    assert code == 0, log
    assert adapter_hashes(tmp_path) == adapter_hashes(done)


def test_no_thread_is_left_when_a_person_will_not_wait(monkeypatch: pytest.MonkeyPatch):
    ended: list[str] = []
    under_way = threading.Event()

    def work(_stop: threading.Event) -> None:
        under_way.set()
        try:
            while True:
                time.sleep(0.01)
        finally:
            ended.append(threading.current_thread().name)

    def second(_self: Memory, _active: Any) -> None:
        if under_way.is_set():
            raise KeyboardInterrupt

    monkeypatch.setattr(Memory, "look", second)
    with pytest.raises(KeyboardInterrupt):
        run_pool(make_pool(1), [work])
    assert ended == ["job0"]
