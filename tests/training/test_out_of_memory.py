"""Memory runs out: the window is repeated in halves, and the study ends as one that was planned so."""

from __future__ import annotations

import ctypes
import json
import multiprocessing
import re
from pathlib import Path
from typing import Any

import pytest
import torch

from octavo import pipeline
from octavo.artifacts import Folder, read_jsonl
from octavo.errors import InputError, MachineError
from octavo.lanes.base import BaseModel
from octavo.lanes.shortage import is_out_of_memory
from octavo.lanes.window import LaneEngine
from octavo.study import Study
from tests.training.studies import (
    Notes,
    adapter_hashes,
    largest_gap,
    load_study,
    memory_needed,
    settings,
    steps_of,
    train_only,
    write_corpus,
)

CPU_IS_FULL = (
    "[enforce fail at alloc_cpu.cpp:121] err == 0. DefaultCPUAllocator: can't allocate memory: you tried"
)
ERRORS = {
    "device": torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
    "cpu": RuntimeError(CPU_IS_FULL),
    "python": MemoryError(),
    "C++": RuntimeError("std::bad_alloc"),
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("corpus") / "corpus.jsonl")


def study_of(tiny, corpus: Path, folder: Path, **changes: Any) -> Study:
    return load_study(folder / "study.yaml", settings(tiny.folder, corpus, **changes))


def plan_of(out: Path) -> dict:
    return json.loads(Folder(out).plan.read_text(encoding="utf-8"))["packs"]["tiny"]


class SmallDevice:
    """A device that computes a micro-step of at most `tokens`, and raises `error` for a larger one."""

    def __init__(self, patch: pytest.MonkeyPatch, tokens: int, error: Exception = ERRORS["device"]) -> None:
        self.tokens, self.refused = tokens, 0
        compute = LaneEngine.accumulate

        def accumulate(engine: LaneEngine, samples: Any) -> torch.Tensor:
            found = compute(engine, samples)
            if sum(len(s.ids) for s in samples) > self.tokens:
                # the gradients have been added to by now: a repeated window must begin from none
                self.refused += 1
                raise error
            return found

        patch.setattr(LaneEngine, "accumulate", accumulate)


@pytest.fixture(scope="module")
def usual(tiny, corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("usual")
    return train_only(study_of(tiny, corpus, folder), folder / "out").out


@pytest.mark.parametrize("kind", ERRORS)
def test_a_window_that_runs_out_is_that_of_a_smaller_plan(
    tiny, corpus: Path, usual: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
):
    largest = plan_of(usual)["largest_micro_step"]
    notes = Notes()
    with monkeypatch.context() as patch:
        device = SmallDevice(patch, largest * 3 // 4, ERRORS[kind])
        train_only(study_of(tiny, corpus, tmp_path), tmp_path / "out", progress=notes)
    assert device.refused
    plan = plan_of(tmp_path / "out")
    halved = plan["micro_step_tokens"]
    assert halved < largest
    assert [(one["from"], one["to"]) for one in plan["halvings"]] == [(2560, halved)]
    # the same study, planned with the halved budget from the start
    study = study_of(tiny, corpus, tmp_path / "planned")
    pipeline.stage_data(study, tmp_path / "planned" / "out")
    Folder(tmp_path / "planned" / "out").plan.write_text(json.dumps({"packs": {"tiny": plan}}))
    train_only(study, tmp_path / "planned" / "out")
    assert adapter_hashes(tmp_path / "out") == adapter_hashes(tmp_path / "planned" / "out")
    assert largest_gap(tmp_path / "out", usual) <= 1e-3


def test_running_out_is_said_once_and_written_for_every_run(
    tiny, corpus: Path, usual: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    notes = Notes()
    SmallDevice(monkeypatch, plan_of(usual)["largest_micro_step"] * 3 // 4)
    out = train_only(study_of(tiny, corpus, tmp_path), tmp_path / "out", progress=notes).out
    window = plan_of(out)["halvings"][0]["window"]
    assert len([text for text in notes.messages if "memory ran out in window" in text]) == 1
    for run in adapter_hashes(out):
        rows = [row for row in read_jsonl(Folder(out).events(run)) if row["kind"] == "out_of_memory"]
        assert [row["step"] for row in rows] == [window]
        assert f"{plan_of(out)['micro_step_tokens']:,} tokens a micro-step" in rows[0]["action"]
        assert steps_of(out, run) == [1, 2, 3, 4, 5]


def test_an_example_that_does_not_fit_ends_the_study_with_nothing_lost(
    tiny, corpus: Path, usual: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    study = study_of(tiny, corpus, tmp_path)
    with monkeypatch.context() as patch:
        device = SmallDevice(patch, 10_000)

        def shrink(trainer) -> None:
            device.tokens = 40 if trainer.window_number == 3 else 10_000

        with pytest.raises(
            MachineError, match=r"one example of \d+ tokens does not fit.*same command continues"
        ):
            train_only(study, tmp_path / "out", shrink)
    assert not adapter_hashes(tmp_path / "out")
    out = train_only(study, tmp_path / "out").out
    assert adapter_hashes(out) == adapter_hashes(usual)


def test_an_example_may_fail_once_and_fit_when_memory_has_been_freed(
    tiny, corpus: Path, usual: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    train = {"batch_size": 1, "accumulation": 1, "steps": 3, "epochs": None}
    study = study_of(tiny, corpus, tmp_path, train=train, variants=[{"name": "control", "recipe": "control"}])
    wanted = train_only(study, tmp_path / "wanted").out
    compute = LaneEngine.accumulate
    armed: list[int] = []

    def once(engine: LaneEngine, samples: Any) -> torch.Tensor:
        if armed and armed.pop():
            raise ERRORS["cpu"]
        return compute(engine, samples)

    def arm(trainer) -> None:
        if trainer.window_number == 1:
            armed.append(1)

    monkeypatch.setattr(LaneEngine, "accumulate", once)
    out = train_only(study, tmp_path / "out", arm).out
    assert not armed
    assert adapter_hashes(out) == adapter_hashes(wanted)


def test_the_probe_goes_on_with_half_when_it_runs_out(
    tiny, corpus: Path, usual: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    notes = Notes()
    SmallDevice(monkeypatch, plan_of(usual)["largest_micro_step"] // 3)
    out = train_only(study_of(tiny, corpus, tmp_path), tmp_path / "out", progress=notes).out
    assert any(text.startswith("probe: out of memory; going on with") for text in notes.messages)
    assert largest_gap(out, usual) <= 1e-3


def test_held_out_scoring_and_answers_are_repeated_in_halves(
    tiny, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    study = study_of(tiny, corpus, tmp_path)
    wanted = Folder(tmp_path / "wanted")
    pipeline.run(study, wanted.out)
    read = BaseModel.hidden
    refused: list[int] = []

    def hidden(base: BaseModel, pack: Any) -> torch.Tensor:
        if not torch.is_grad_enabled() and pack.tokens > 250:
            refused.append(pack.tokens)
            raise MemoryError
        return read(base, pack)

    monkeypatch.setattr(BaseModel, "hidden", hidden)
    found = Folder(tmp_path / "found")
    pipeline.run(study, found.out)
    assert refused
    assert adapter_hashes(found.out) == adapter_hashes(wanted.out)
    for suite in ("heldout", "generations"):
        pairs = zip(read_jsonl(found.evaluation(suite)), read_jsonl(wanted.evaluation(suite)), strict=True)
        for one, other in pairs:
            assert one["detail"].get("answer") == other["detail"].get("answer")
            assert one["score"] == (other["score"] and pytest.approx(other["score"], rel=1e-4))
    kinds = [row["kind"] for row in read_jsonl(found.events("control-s0"))]
    assert "out_of_memory" in kinds


def test_other_errors_are_not_taken_for_it():
    assert all(is_out_of_memory(error) for error in ERRORS.values())
    for error in (
        RuntimeError("mat1 and mat2 shapes cannot be multiplied"),
        ValueError("out of memory"),
        OSError(),
    ):
        assert not is_out_of_memory(error)


def test_examples_are_cut_only_where_that_is_allowed_and_it_is_said(tiny, tmp_path: Path):
    """The prediction of a long example does not fit under the limit; that of 256 tokens does."""
    corpus = write_corpus(tmp_path / "corpus.jsonl")
    rows = [json.loads(line) for line in corpus.read_text(encoding="utf-8").splitlines()]
    for row in rows[::3]:
        row["messages"][1]["content"] += " So it is, and so it was." * 12
    corpus.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    changes: dict[str, Any] = {"train": {"max_length": 1000}}
    changes["lanes"] = {"memory": "0.1MiB", "allow_shorter": True}
    needed = memory_needed(study_of(tiny, corpus, tmp_path / "none", **changes), tmp_path / "none" / "out")
    changes["lanes"] = {"memory": needed}
    with pytest.raises(InputError, match="does not fit into memory"):
        train_only(study_of(tiny, corpus, tmp_path / "no", **changes), tmp_path / "no" / "out")
    changes["lanes"]["allow_shorter"] = True
    notes = Notes()
    study = study_of(tiny, corpus, tmp_path / "yes", **changes)
    out = train_only(study, tmp_path / "yes" / "out", progress=notes).out
    plan = plan_of(out)
    assert (plan["shortened_to"], plan["longest_example"]) == (256, 256)
    assert [
        text for text in notes.messages if re.search("examples are cut at 256 tokens.*changes the runs", text)
    ]
    assert adapter_hashes(out).keys() == {"control-s0", "glyphs-s0"}


# -- a real limit ------------------------------------------------------------------------------------------------


def limited(study: str, out: str, share: float | None, log: str) -> None:
    """Train; after the first window the process may map `share` of what that took again, no more.

    A share of None is no limit: the reference comes out of the same kind of process.
    """
    import resource

    torch.set_num_threads(1)
    # glibc's M_MMAP_THRESHOLD: tensors are mapped one by one, so that what is free counts as free under the limit
    ctypes.CDLL(None).mallopt(-3, 1 << 17)
    Path(log).write_text("started\n", encoding="utf-8")

    def limit(trainer) -> None:
        if trainer.window_number != 1 or share is None:
            return
        sizes = dict(
            re.findall(r"(Vm\w+):\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii"))
        )
        step = int(sizes["VmHWM"]) - int(sizes["VmRSS"])  # what the window took and has freed
        most = (int(sizes["VmSize"]) + int(step * share)) * 1024
        resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))

    notes = Notes()
    try:
        train_only(Study.load(study), Path(out), limit, notes)
    finally:
        Path(log).write_text("\n".join(notes.messages), encoding="utf-8")


def run_limited(study: Path, out: Path, share: float | None, timeout: float = 250) -> str:
    log = out.parent / "log"
    child = multiprocessing.get_context("spawn").Process(
        target=limited, args=(str(study), str(out), share, str(log))
    )
    child.start()
    child.join(timeout)
    if child.is_alive():
        child.kill()
        child.join()
    assert child.exitcode == 0, log.read_text(encoding="utf-8")
    return log.read_text(encoding="utf-8")


def wide_base(tiny, folder: Path) -> Path:
    """The tiny base made wide, so that what a micro-step keeps (a hundred MB) is far above what libraries hold."""
    from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

    config = LlamaConfig.from_pretrained(tiny.folder)
    config.update({"hidden_size": 256, "intermediate_size": 2048, "num_hidden_layers": 3})
    config.head_dim = 64
    torch.manual_seed(0)
    LlamaForCausalLM(config).save_pretrained(folder)
    AutoTokenizer.from_pretrained(tiny.folder).save_pretrained(folder)
    return folder


def test_a_process_that_may_map_no_more_ends_with_the_same_adapters(tiny, tmp_path: Path):
    corpus = write_corpus(tmp_path / "corpus.jsonl")
    base = wide_base(tiny, tmp_path / "base")
    train = {"batch_size": 4, "accumulation": 4, "steps": 3, "epochs": None, "eval_every": 100}
    values = settings(base, corpus, train=train)
    load_study(tmp_path / "study.yaml", values)
    reference = tmp_path / "reference"
    run_limited(tmp_path / "study.yaml", reference, share=None)
    said = run_limited(tmp_path / "study.yaml", tmp_path / "out", share=0.7)
    halving = plan_of(tmp_path / "out")["halvings"][0]
    assert halving["window"] > 1
    assert f"memory ran out in window {halving['window']}" in said
    assert largest_gap(tmp_path / "out", reference) <= 1e-3


@pytest.mark.real
@pytest.mark.slow
def test_the_embedded_model_runs_out_and_ends_with_the_same_adapters(tmp_path: Path):
    train = {
        "batch_size": 4,
        "accumulation": 4,
        "steps": 3,
        "epochs": None,
        "max_length": 200,
        "eval_every": 100,
    }
    values = settings(tmp_path, "builtin", train=train)
    values["corpus"] = {"source": "builtin", "examples": 48, "heldout": 4}
    values["bases"] = [{"name": "tiny", "model": "smollm2-135m-instruct"}]
    load_study(tmp_path / "study.yaml", values)
    run_limited(tmp_path / "study.yaml", tmp_path / "reference", share=None)
    run_limited(tmp_path / "study.yaml", tmp_path / "out", share=0.7)
    assert plan_of(tmp_path / "out")["halvings"]
    # bfloat16 rounds by the cut: two cuts differ by more than in float32
    assert largest_gap(tmp_path / "out", tmp_path / "reference") <= 0.1
