"""Vitals while a pack trains: what is read, verdicts, and what becomes of a run that trips."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from octavo.artifacts import Folder, read_jsonl
from octavo.study import Study
from octavo.training.loop import PackTrainer
from octavo.training.recorder import LAST_GOOD
from octavo.vitals.signal import Cadence
from tests.models.makers import tiny_base
from tests.training.studies import (
    adapter_hashes,
    ledger_rows,
    load_study,
    settings,
    steps_of,
    train_only,
    write_corpus,
)

STEPS = 24
RUNS = ["calm-s0", "wild-s0", "late-s0"]
WILD = "wild-s0"


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_base(tmp_path_factory.mktemp("base"), tied=False)


def study_of(folder: Path, base: Path, wild: float = 2e-5, **vitals: Any) -> Study:
    """Two runs side by side and one that waits for a lane; `wild` is the learning rate of the second."""
    steady = {"kind": "constant", "warmup_steps": 0}
    variants = [
        {"name": "calm", "recipe": "control"},
        {"name": "wild", "recipe": "control", "train": {"learning_rate": wild}},
        {"name": "late", "recipe": "control", "train": {"steps": 6, "epochs": None}},
    ]
    train = {"epochs": None, "steps": STEPS, "learning_rate": 2e-5, "schedule": steady, "save_every": 7}
    # gradients of a random model grow from next to nothing, batches of its few examples differ in size
    limits = {"grad_z": 50.0, **vitals.pop("thresholds", {})}
    values = settings(
        base,
        write_corpus(folder / "corpus.jsonl"),
        variants=variants,
        train=train,
        lanes={"strategy": 2},
        vitals={"every": 5, "spectrum_every": 10, "thresholds": limits, **vitals},
    )
    values["train"]["eval_every"] = 100
    return load_study(folder / "study.yaml", values)


@pytest.fixture(scope="module")
def calm(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All three trained with no fault."""
    folder = tmp_path_factory.mktemp("calm")
    train_only(study_of(folder, base), folder / "out")
    return folder / "out"


def rows_of(out: Path, run: str) -> list[dict[str, Any]]:
    return [row | {"seconds": 0} for row in read_jsonl(Folder(out).metrics(run))]


def events_of(out: Path, run: str) -> list[dict[str, Any]]:
    return [event for event in read_jsonl(Folder(out).events(run)) if event["kind"] != "resumed"]


def assert_neighbours_untouched(out: Path, calm: Path) -> None:
    wanted, found = adapter_hashes(calm), adapter_hashes(out)
    for run in RUNS:
        if run != WILD:
            assert found[run] == wanted[run]
            assert rows_of(out, run) == rows_of(calm, run)
            assert events_of(out, run) == []


def test_readings_of_a_healthy_study(calm: Path):
    for run in RUNS:
        rows = rows_of(calm, run)
        row = ledger_rows(calm)[run]
        assert (row["state"], row["verdict"], row["rescued"]) == ("completed", "healthy", False)
        assert all(row["vitals"]["finite"] is True for row in rows)
        rho = {row["step"]: row["vitals"].get("rho") for row in rows}
        assert all((rho[step] is not None) == (step <= 20 or step % 5 == 0) for step in rho)
        assert all(0 < value < 0.1 for value in rho.values() if value is not None)
        assert [s for s in rho if "probe_nll" in rows[s - 1]["vitals"]] == [s for s in rho if s % 10 == 0]
        assert [s for s in rho if "update_ranks" in rows[s - 1]["vitals"]] == [s for s in rho if s % 10 == 0]


def test_the_study_keeps_prompts_thresholds_and_the_base_models_readings(calm: Path):
    found = json.loads((calm / "vitals" / "tiny.json").read_text(encoding="utf-8"))
    assert len(found["ids"]) == len(found["prompts"]) == 8
    assert found["thresholds"]["rho"] == 0.1
    assert found["thresholds"]["origin"]["rho"] == "default of this version"
    assert found["base"]["update_ranks"] is None
    # a random model of V words knows next to nothing
    assert abs(found["base"]["probe_nll"] - math.log(tiny_vocabulary(calm))) < 1
    first = rows_of(calm, RUNS[0])[9]["vitals"]
    assert abs(first["probe_nll"] - found["base"]["probe_nll"]) < 0.1


def tiny_vocabulary(out: Path) -> int:
    import yaml

    study = yaml.safe_load(Folder(out).study.read_text(encoding="utf-8"))
    return int(json.loads((Path(study["bases"][0]["model"]) / "config.json").read_text())["vocab_size"])


def test_a_learning_rate_too_high_is_stopped_and_its_good_adapter_kept(
    base: Path, calm: Path, tmp_path: Path
):
    train_only(study_of(tmp_path, base, wild=3e-2), tmp_path / "out")
    out = tmp_path / "out"
    assert_neighbours_untouched(out, calm)
    event = events_of(out, WILD)[-1]
    row = ledger_rows(out)[WILD]
    assert (row["state"], row["verdict"], row["message"]) == ("quarantined", "diverging", event["evidence"])
    assert (event["kind"], event["cause"], event["signals"][0]) == ("diverging", "learning rate", "rho")
    assert event["module"] in event["evidence"]
    assert event["step"] <= 20
    assert steps_of(out, WILD) == list(range(1, event["step"] + 1))
    rho = [row["vitals"]["rho"] for row in rows_of(out, WILD)]
    assert rho[-1] > 0.1 >= max(rho[:-1], default=0.0)
    assert not Folder(out).adapter(WILD).exists()
    kept = load_file(Folder(out).checkpoints(WILD) / LAST_GOOD)
    # no probe was read before step 10: what was good is the beginning, where B is zero
    assert all(not bool(tensor.any()) for name, tensor in kept.items() if name.endswith(".B"))


def test_thresholds_of_the_study_are_in_force(base: Path, calm: Path, tmp_path: Path):
    train_only(
        study_of(tmp_path, base, wild=3e-2, thresholds={"rho": 1e9, "rho_step": 1e9}), tmp_path / "out"
    )
    assert ledger_rows(tmp_path / "out")[WILD]["state"] == "completed"
    found = json.loads((tmp_path / "out" / "vitals" / "tiny.json").read_text(encoding="utf-8"))
    assert found["thresholds"]["origin"]["rho"] == "the study"


def test_continue_says_the_verdict_and_goes_on(base: Path, calm: Path, tmp_path: Path):
    train_only(study_of(tmp_path, base, wild=3e-2, on_trip="continue"), tmp_path / "out")
    out = tmp_path / "out"
    assert_neighbours_untouched(out, calm)
    row = ledger_rows(out)[WILD]
    assert row["state"] == "completed"
    assert row["verdict"] in ("diverging", "collapsed")
    assert len(steps_of(out, WILD)) == STEPS
    assert events_of(out, WILD)[0]["action"] == "none: vitals.on_trip is continue"


def poison(step: int, times: int = 1):
    """A NaN in the wild run's parameters after the windows of these steps."""

    def after_window(trainer: PackTrainer) -> None:
        for lane, state in enumerate(trainer.states):
            if state is not None and state.run == WILD and step <= state.step + 1 < step + times:
                trainer.bank.flat_KP[lane, 5] = math.nan

    return after_window


def test_one_bad_step_is_passed_over(base: Path, calm: Path, tmp_path: Path):
    train_only(study_of(tmp_path, base, on_trip="rescue"), tmp_path / "out", poison(8))
    out = tmp_path / "out"
    assert_neighbours_untouched(out, calm)
    row = ledger_rows(out)[WILD]
    assert (row["state"], row["verdict"], row["rescued"]) == ("completed", "healthy", True)
    (event,) = events_of(out, WILD)
    assert (event["step"], event["kind"], event["cause"]) == (8, "nonfinite", "parameters")
    assert event["action"] == "rescued: window passed over, its step undone"
    assert event["first_bad"].startswith("adapter matrix A of ")
    # the rate of a run whose window was passed over is the schedule's
    assert {row["lr"] for row in rows_of(out, WILD)} == {2e-5}


def test_two_bad_steps_send_it_back_to_the_good_snapshot(base: Path, calm: Path, tmp_path: Path):
    seen: dict[int, torch.Tensor] = {}
    fault = poison(13, times=2)

    def after_window(trainer: PackTrainer) -> None:
        lane = trainer.states.index(next(s for s in trainer.states if s is not None))
        for lane, state in enumerate(trainer.states):
            if state is not None and state.run == WILD:
                seen[state.step] = trainer.good_KP[lane].clone()
                if state.step == 14:
                    assert trainer.optimizer.clock[lane] == 11
                    assert trainer.optimizer.specs[lane].max_grad_norm == 0.5
        fault(trainer)

    train_only(study_of(tmp_path, base, on_trip="rescue"), tmp_path / "out", after_window)
    out = tmp_path / "out"
    assert_neighbours_untouched(out, calm)
    row = ledger_rows(out)[WILD]
    assert (row["state"], row["verdict"], row["rescued"]) == ("completed", "healthy", True)
    skipped, back = events_of(out, WILD)
    assert (skipped["step"], back["step"]) == (13, 14)
    assert back["action"].startswith("rescued: back to the adapter of step 10, retry 1 of 2")
    # seen at the window of step s + 1, before it is looked at: the good numbers after step s
    assert torch.equal(seen[14], seen[10])
    rates = [row["lr"] for row in rows_of(out, WILD)]
    assert rates[:14] == [2e-5] * 14
    # no warm-up in the schedule: ten steps to half the rate
    assert rates[14:] == pytest.approx([2e-5 * 0.5 * min(1, n / 10) for n in range(1, 11)])


def test_after_two_retries_it_is_given_up(base: Path, calm: Path, tmp_path: Path):
    train_only(study_of(tmp_path, base, on_trip="rescue"), tmp_path / "out", poison(12, times=20))
    out = tmp_path / "out"
    assert_neighbours_untouched(out, calm)
    row = ledger_rows(out)[WILD]
    assert (row["state"], row["verdict"], row["rescued"]) == ("quarantined", "dead", True)
    actions = [event["action"].split(",")[0] for event in events_of(out, WILD)]
    assert actions[0] == "rescued: window passed over"
    assert actions[1] == "rescued: back to the adapter of step 10"
    assert actions[-1].startswith("quarantined")
    assert sum("back to" in action for action in actions) == 2
    kept = load_file(Folder(out).checkpoints(WILD) / LAST_GOOD)
    assert all(bool(torch.isfinite(tensor).all()) for tensor in kept.values())


@pytest.mark.parametrize("window", [5, 16, 20])
def test_a_killed_rescue_resumes_to_the_same_bits(base: Path, tmp_path: Path, window: int):
    """Checkpoints are of steps 7, 14, 21; the rescue is of steps 13 and 14."""

    class Stop(Exception):
        pass

    def stop(trainer: PackTrainer) -> None:
        poison(13, times=2)(trainer)
        if trainer.window_number == window:
            raise Stop

    study = study_of(tmp_path, base, on_trip="rescue")
    train_only(study, tmp_path / "whole", poison(13, times=2))
    with pytest.raises(Stop):
        train_only(study, tmp_path / "cut", stop)
    goods = {file.name for file in Folder(tmp_path / "cut").checkpoints(WILD).glob("good-*")}
    # with the steps of the last two checkpoints that the kill has left: none, 7 and 14
    assert goods == {5: set(), 16: {"good-00000000.safetensors", "good-00000010.safetensors"}}.get(
        window, goods
    )
    train_only(study, tmp_path / "cut", poison(13, times=2))
    assert adapter_hashes(tmp_path / "cut") == adapter_hashes(tmp_path / "whole")
    for run in RUNS:
        assert rows_of(tmp_path / "cut", run) == rows_of(tmp_path / "whole", run)
        assert events_of(tmp_path / "cut", run) == events_of(tmp_path / "whole", run)
    assert ledger_rows(tmp_path / "cut")[WILD]["rescued"] is True


def test_hooks_and_cadence_come_in_by_the_public_seam(base: Path, tmp_path: Path):
    def opened(trainer: PackTrainer) -> None:
        assert trainer.watch is not None
        trainer.watch.use(Cadence(every=1, probe_every=1))

    from octavo import pipeline

    results = pipeline.run(study_of(tmp_path, base), tmp_path / "out", opened=opened)
    assert {run["verdict"] for run in results["runs"]} == {"healthy"}
    assert all("probe_nll" in row["vitals"] for row in rows_of(tmp_path / "out", RUNS[0]))


def test_what_a_run_reads_over_and_over_is_read(calm: Path):
    shares = [row["vitals"].get("repeat_share") for row in rows_of(calm, RUNS[0])]
    # four examples a step of some eighteen: none of the first twenty is in more than a few
    assert shares[4] is not None
    assert 0.05 <= shares[4] <= 0.3
